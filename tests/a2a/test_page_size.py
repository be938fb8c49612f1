"""How much one page of tasks shows."""

from __future__ import annotations

from typing import Any

import pytest

from apps.a2a import methods
from tests.harness.cast import Cast


def listed(cast: Cast, **params: Any) -> list[dict[str, Any]]:
    alice, bob = cast.friends
    pages = []
    token = ""
    while True:
        page = alice.rpc(bob, "ListTasks", {**params, "pageToken": token})
        pages.append(page)
        if not (token := page["nextPageToken"]):
            return pages


def test_a_page_of_large_tasks_ends_early_and_loses_none(cast: Cast) -> None:
    alice, bob = cast.friends
    large = [{"data": "x" * 120_000}]
    made = []
    for _ in range(6):
        thread = alice.ask(bob)["id"]
        for _ in range(24):
            bob.call("POST", f"/v1/threads/{thread}/messages", {"parts": large, "state": "working"})
        made.append(thread)
    pages = listed(cast)
    assert [len(page["tasks"]) for page in pages] == [5, 1]
    assert [task["id"] for page in pages for task in page["tasks"]] == made[::-1]
    assert [len(page["tasks"]) for page in listed(cast, historyLength=0)] == [6]


@pytest.mark.parametrize("sizes", [[methods.PAGE_BYTES * 2], [1, methods.PAGE_BYTES * 2]])
def test_one_task_is_always_shown(sizes: list[int]) -> None:
    asked = methods.params.listing({})
    rows: Any = [type("Row", (), {"size": size}) for size in sizes]
    assert methods._page_size(rows, asked) >= 1
