"""The note of a contact request: one short line that cannot disturb what shows it."""

from __future__ import annotations

import unicodedata

from apps.core.errors import invalid

MAX_NOTE = 500
# They turn the reading direction of what follows, outside the note too.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """`text` on one line: breaks and tabs become spaces, other control characters go."""
    kept = (
        " " if char.isspace() else char
        for char in text
        if char.isspace() or (unicodedata.category(char) not in ("Cc", "Cs") and char not in _BIDI)
    )
    return "".join(kept).strip()


def check(text: str) -> str:
    """A note as it is kept. Raises invalid for more than 500 characters."""
    note = clean(text)
    if len(note) > MAX_NOTE:
        raise invalid("note", f"A note has at most {MAX_NOTE} characters.")
    return note


def first_line(text: str) -> str:
    """The first line of a message that says something, cut to a note's length."""
    return next((line for line in map(clean, text.splitlines()) if line), "")[:MAX_NOTE].rstrip()
