"""Texts that are searched: folded where they are stored, and the LIKE patterns that look for words in them.

The directory's text of an identity holds handle, name, skills and description in marked sections.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Each stands once in every search text and in no word, so that a pattern can tell the sections apart.
HANDLE, NAME, SKILLS, DESCRIPTION, END = "\x01", "\x02", "\x03", "\x04", "\x05"

_CONTROL = re.compile(r"[\x00-\x1f]")
_CHUNK = 100  # SQLite bounds how deep a chain of ANDs may nest


def fold(text: str) -> str:
    """A text as it is compared: casefolded, control characters as spaces."""
    return _CONTROL.sub(" ", text).casefold()


def build(handle: str, name: str, skills: Sequence[str], description: str) -> str:
    """The search text of an identity."""
    return (
        f"{HANDLE}{fold(handle)}{NAME}{fold(name)}{SKILLS}{' '.join(map(fold, skills))}"
        f"{DESCRIPTION}{fold(description)}{END}"
    )


def words(q: str) -> list[str]:
    """The different words of a query, folded, in their order."""
    return list(dict.fromkeys(fold(q).split()))


def like(text: str) -> str:
    """`text` for a LIKE pattern that escapes with `!`."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def every(conditions: Sequence[str]) -> str:
    """All of at least one condition, however many there are."""
    chunks = [conditions[at : at + _CHUNK] for at in range(0, len(conditions), _CHUNK)]
    return " AND ".join(f"({' AND '.join(chunk)})" for chunk in chunks)


def containing(column: str, wanted: Sequence[str]) -> tuple[str, list[str]]:
    """The condition that each of some folded words stands somewhere in a column, and its parameters."""
    return (
        every([f"{column} LIKE %s ESCAPE '!'"] * len(wanted)),
        [f"%{like(word)}%" for word in wanted],
    )
