"""The text the directory searches: handle, name, skills and description in marked sections, casefolded."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Each stands once in every search text and in no word, so that a pattern can tell the sections apart.
HANDLE, NAME, SKILLS, DESCRIPTION, END = "\x01", "\x02", "\x03", "\x04", "\x05"

_CONTROL = re.compile(r"[\x00-\x1f]")


def fold(text: str) -> str:
    """A text as it is compared: casefolded, control characters as spaces."""
    return _CONTROL.sub(" ", text).casefold()


def build(handle: str, name: str, skills: Sequence[str], description: str) -> str:
    """The search text of an identity."""
    return (
        f"{HANDLE}{fold(handle)}{NAME}{fold(name)}{SKILLS}{' '.join(map(fold, skills))}"
        f"{DESCRIPTION}{fold(description)}{END}"
    )
