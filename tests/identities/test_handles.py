"""Handles: their form, what folds into one, what nobody may choose, what is proposed instead."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import Code, DomainError
from apps.identities import handles, numbers
from apps.identities.queries import read_who

GOOD = st.from_regex(r"[a-z0-9]{1,10}(-[a-z0-9]{1,6}){0,3}", fullmatch=True).filter(
    lambda text: 3 <= len(text) <= 32 and re.search("[a-z]", text) is not None
)


@given(GOOD)
def test_a_good_handle_is_itself_in_every_spelling(text: str) -> None:
    for spelling in (text, text.upper(), text.title(), f"@{text}", f"@{text.upper()}"):
        assert handles.read(spelling) == handles.check(spelling) == text


@given(st.text(max_size=40) | st.text("abz019-@_. ", max_size=40))
def test_any_text_is_a_handle_of_the_form_or_none(text: str) -> None:
    read = handles.read(text)
    if read is None:
        with pytest.raises(DomainError) as caught:
            handles.check(text)
        assert (caught.value.code, caught.value.field) == (Code.INVALID, "handle")
    else:
        assert re.fullmatch("[a-z0-9-]{3,32}", read)
        assert re.search("[a-z]", read)
        assert not read.startswith("-")
        assert not read.endswith("-")
        assert "--" not in read
        assert text.removeprefix("@").lower() == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "ab",
        "a" * 33,
        "123",
        "1-2",
        "1234567890",
        "-ab",
        "ab-",
        "a--b",
        "a_b",
        "a.b",
        "admin.",
        "a b",
        " abc",
        "abc ",
        "abc\n",
        "abc\x00",
        "@@abc",
        "a@bc",
        "аdmin",  # its first letter is Cyrillic
        "ａdmin",  # full-width
        "ad\u200emin",
        "ad\u200bmin",
        "\u212aate",  # the Kelvin sign, whose small letter is k
        "ﬁre",  # a ligature
        "adm\u0131n",  # dotless i
        "ADM\u0130N",
        "straße",
        "１２３４５６７８９０",
        "../me",
        "a/b",
        "<b>",
    ],
    ids=ascii,
)
def test_what_is_no_handle(text: str) -> None:
    assert handles.read(text) is None


def test_the_edges_of_the_form() -> None:
    for text in ("abc", "a12", "0x0", "a-b", "a" * 32, "1234567890a", "a-1-b-2"):
        assert handles.read(text) == text


def test_ten_digits_are_always_a_number() -> None:
    assert read_who("1234567897") == numbers.RELAYGER
    assert read_who("1234567890") is None  # a wrong check digit is not a handle instead
    assert read_who("0123456789") is None
    assert read_who("@1234567897") is None
    assert read_who("@Ada") == "ada"
    assert read_who("１２３４５６７８９７") is None


def test_reserved_words_and_default_handles_are_for_nobody() -> None:
    for text in (
        "admin",
        "relayger",
        "support",
        "a2a",
        "api",
        "everyone",
        "agent-1234567897",
        "agent-0000000000",
    ):
        assert handles.reserved(text)
    for text in ("ada", "agent-7", "agent-12345678901", "admin-of-things"):
        assert not handles.reserved(text)
    assert all(handles.read(text) == text or len(text) < 3 for text in handles.RESERVED)


@given(GOOD)
def test_proposals_are_good_handles_that_look_like_it(text: str) -> None:
    proposed = handles.candidates(text)
    assert proposed
    assert len(set(proposed)) >= 3
    for one in proposed:
        assert handles.check(one) == one != text
        assert not handles.reserved(one)
        assert one[:10].startswith(text[:10].rstrip("-"))
