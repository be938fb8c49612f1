"""Keys of creating calls: kept per identity and action, for the same content only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core import db, idempotency
from apps.core.errors import Code, DomainError


@pytest.mark.parametrize("key", ["", "x" * 129, "a\x00", "\ud800", 1, 1.5, True, [], {}])
def test_keys_that_are_refused(key: object) -> None:
    with pytest.raises(DomainError) as caught:
        idempotency.check_key(key, "Idempotency-Key")
    assert (caught.value.code, caught.value.field) == (Code.INVALID, "Idempotency-Key")


@pytest.mark.parametrize("key", ["a", "x" * 128, " ", "é" * 128, "\U0001f600"])
def test_keys_as_given(key: str) -> None:
    assert idempotency.check_key(key) == key
    assert idempotency.check_key(None) is None


VALUES = st.lists(st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2), max_size=3)


@given(VALUES, VALUES)
def test_equal_content_alone_has_equal_hashes(one: list[object], other: list[object]) -> None:
    same = [(type(item), item) for item in one] == [(type(item), item) for item in other]
    assert (idempotency.content_hash(*one) == idempotency.content_hash(*other)) is same


def test_numbers_are_told_apart() -> None:
    assert len({idempotency.content_hash(value) for value in (1, 1.0, True, "1", [1], None)}) == 6


@pytest.mark.django_db
def test_a_key_is_found_for_its_identity_action_and_content() -> None:
    content = idempotency.content_hash("a")
    with db.write():
        idempotency.keep(1, "ask", "k", content, "thr_1")
        idempotency.keep(2, "ask", "k", content, "thr_2")
        idempotency.keep(1, "say", "k", content, "msg_1")
    assert idempotency.find(1, "ask", "k", content) == "thr_1"
    assert idempotency.find(2, "ask", "k", content) == "thr_2"
    assert idempotency.find(1, "say", "k", content) == "msg_1"
    assert idempotency.find(1, "ask", "K", content) is None
    assert idempotency.find(3, "ask", "k", content) is None
    with pytest.raises(DomainError) as caught:
        idempotency.find(1, "ask", "k", idempotency.content_hash("b"))
    assert (caught.value.code, caught.value.status) == (Code.IDEMPOTENCY_CONFLICT, 409)
