"""What others wrote does nothing to a terminal."""

from __future__ import annotations

import pytest

from relayger.cli.text import clean, line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("zwei\n\tZeilen, ümläut, 日本, 👩‍👩‍👧", "zwei\n\tZeilen, ümläut, 日本, 👩‍👩‍👧"),
        ("a\r\nb", "a\nb"),
        ("gone\rcovered", "gone\\x0dcovered"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("\x00\x08\x7f", "\\x00\\x08\\x7f"),
        ("exe\u202efdp.", "exe\\u202efdp."),
        ("\u2066hidden\u2069", "\\u2066hidden\\u2069"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("one\u2028two", "one\\u2028two"),
        ("lone\ud800", "lone\\ud800"),
        ("tag\U000e0041", "tag\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_line_is_one_line() -> None:
    assert line("a\n\n b\tc\u2028d") == "a b c d"
    assert line(None) == ""
    assert line("x" * 50, 10) == "x" * 9 + "…"
