"""Cursors: what was given out comes back, for the list that gave it out alone."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.core import signing
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core import paging
from apps.core.errors import Code, DomainError

KEYS = st.lists(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text(st.characters(exclude_categories=["Cs"])),
    max_size=4,
)
SCOPES = st.text(max_size=20)


def refused(scope: str, cursor: str) -> None:
    with pytest.raises(DomainError) as caught:
        paging.unseal(scope, cursor)
    assert (caught.value.code, caught.value.field) == (Code.INVALID, "cursor")


@given(SCOPES, KEYS)
def test_a_cursor_comes_back(scope: str, key: list[Any]) -> None:
    cursor = paging.seal(scope, key)
    assert paging.unseal(scope, cursor) == key
    assert cursor.isascii()
    refused(f"{scope} ", cursor)


@given(st.text(max_size=200))
@settings(max_examples=200)
def test_any_text_is_refused(text: str) -> None:
    refused("list", text)


@given(KEYS, st.data())
def test_a_changed_cursor_is_refused(key: list[Any], data: st.DataObject) -> None:
    cursor = paging.seal("list", key)
    place = data.draw(st.integers(0, len(cursor) - 1))
    sign = data.draw(st.sampled_from("aZ0_-:.é\x00"))
    changed = cursor[:place] + sign + cursor[place + 1 :]
    if changed != cursor:
        refused("list", changed)


def test_an_unsigned_or_other_signed_cursor_is_refused() -> None:
    for cursor in (
        "",
        ":",
        "::",
        base64.b64encode(b"p=\x00").decode(),
        base64.b64encode(b"[1]").decode(),
        signing.dumps([1]),
        signing.dumps({"a": 1}, salt="cursor:list"),  # ours, but no key
        signing.dumps("text", salt="cursor:list"),
    ):
        refused("list", cursor)


def test_another_field_is_named() -> None:
    with pytest.raises(DomainError) as caught:
        paging.unseal("list", "x", field="pageToken")
    assert caught.value.field == "pageToken"


@given(st.integers(0, 12), st.integers(1, 5))
def test_pages_show_everything_once(count: int, limit: int) -> None:
    rows = list(range(count))
    seen: list[int] = []
    start = 0
    while True:
        page = paging.cut(rows[start : start + limit + 1], limit, "list", lambda row: [row])
        assert len(page.items) <= limit
        seen += page.items
        if page.next_cursor is None:
            break
        assert len(page.items) == limit
        (last,) = paging.unseal("list", page.next_cursor)
        start = last + 1
    assert seen == rows


def test_a_page_as_json() -> None:
    assert paging.Page([1, 2], None).show(str) == {"items": ["1", "2"], "next_cursor": None}
