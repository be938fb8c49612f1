"""docs/a2a.md: its lines run as they stand, but for the origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apps.a2a.methods import METHODS
from apps.a2a.tasks import STATES
from tests.a2a.wire import kinds, state
from tests.harness.cast import Cast, Person, send_params
from tests.harness.pages import block, run
from tests.harness.service import Service
from tests.harness.wait import until

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "a2a.md").read_text()
RELAYGER = "1234567897"


def curl(service: Service, needle: str, **environ: str) -> Any:
    return json.loads(run(service, "sh", block("docs/a2a.md", "sh", needle), **environ))


@pytest.fixture
def friend(cast: Cast) -> Person:
    """One whom @relayger has accepted."""
    alice = cast.register("alice")
    alice.a2a(RELAYGER, "SendMessage", send_params())
    until(lambda: alice.call("GET", "/v1/contacts", state="friend")["items"])
    return alice


def test_the_card(server: Service) -> None:
    card = curl(server, "agent-card.json")
    assert card["supportedInterfaces"][0]["url"] == f"{server.origin}/a2a/{RELAYGER}"


def test_ask_and_wait(server: Service, cast: Cast) -> None:
    alice = cast.register("alice")
    refused = curl(server, '"m-1"', RELAYGER_TOKEN=alice.token)
    assert refused["error"]["data"][0]["reason"] == "CONTACT_REQUESTED"
    until(lambda: alice.call("GET", "/v1/contacts", state="friend")["items"])
    task = curl(server, '"m-1"', RELAYGER_TOKEN=alice.token)["result"]["task"]
    assert state(task) == "COMPLETED"
    assert task["artifacts"]
    assert curl(server, '"m-1"', RELAYGER_TOKEN=alice.token)["result"]["task"] == task, "again without fear"


def test_ask_and_come_back(server: Service, friend: Person) -> None:
    task = curl(server, '"m-2"', RELAYGER_TOKEN=friend.token)["result"]["task"]
    assert state(task) in ("SUBMITTED", "WORKING", "COMPLETED")

    def answered() -> bool:
        seen = curl(server, "GetTask", RELAYGER_TOKEN=friend.token, TASK=task["id"])["result"]
        return state(seen) == "COMPLETED"

    assert until(answered)
    page = curl(server, "ListTasks", RELAYGER_TOKEN=friend.token)["result"]
    assert [one["id"] for one in page["tasks"]] == [task["id"]]


def test_stream(server: Service, friend: Person) -> None:
    code = block("docs/a2a.md", "sh", "SendStreamingMessage")
    lines = run(server, "sh", code, RELAYGER_TOKEN=friend.token).splitlines()
    results = [
        json.loads(line.removeprefix("data: "))["result"] for line in lines if line.startswith("data: ")
    ]
    assert kinds(results)[0] == "task"
    assert kinds(results)[-2:] == ["artifactUpdate", "COMPLETED"]


def test_the_sdk_program(server: Service, friend: Person) -> None:
    shown = run(
        server, "python", block("docs/a2a.md", "python", "create_client"), RELAYGER_TOKEN=friend.token
    )
    assert "TASK_STATE_COMPLETED" in shown


def test_every_state_and_method_is_on_the_page() -> None:
    for method in METHODS:
        assert method in PAGE or "PushNotificationConfig" in method
    for thread, task in STATES.items():
        row = next(line for line in PAGE.splitlines() if line.startswith("|") and f"`{thread}`" in line)
        assert f"`{task}`" in row
