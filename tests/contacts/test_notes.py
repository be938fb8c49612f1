from __future__ import annotations

import pytest

from apps.contacts import notes
from apps.core.errors import Code
from tests.contacts.world import refusal


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("  plain  ", "plain"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("a\x07b\x1b[31mc\x7f\x85d", "ab[31mc d"),
        ("turned \u202eround\u2066", "turned round"),
        ("family \U0001f468\u200d\U0001f469", "family \U0001f468\u200d\U0001f469"),
        ("non\u00a0breaking\u2028line", "non breaking line"),
        ("<b>not ours to judge</b>", "<b>not ours to judge</b>"),
    ],
)
def test_a_note_is_one_harmless_line(text: str, kept: str) -> None:
    assert notes.check(text) == kept


def test_a_note_has_at_most_500_characters() -> None:
    assert notes.check("é" * 500) == "é" * 500
    error = refusal(lambda: notes.check("é" * 501))
    assert (error.code, error.field) == (Code.INVALID, "note")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("\n\n  \nfirst\nsecond", "first"),
        ("x" * 600, "x" * 500),
        ("\x00\x01\nafter", "after"),
        ("a\u2028b", "a"),
    ],
)
def test_a_messages_first_line_that_says_something(text: str, line: str) -> None:
    assert notes.first_line(text) == line
