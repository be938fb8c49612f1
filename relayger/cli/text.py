"""Text that others wrote, made safe to look at.

A name or an answer may hold escape sequences that rewrite the screen, or characters that turn the direction of
what follows. Each is shown as its escape instead of being obeyed.
"""

from __future__ import annotations

import unicodedata

# Format characters that no script needs in order to be read, and that change how others look or hide.
_HIDDEN = frozenset(
    [
        "\u061c",
        "\u180e",
        "\u200b",
        "\u200e",
        "\u200f",
        "\ufeff",
        *map(chr, range(0x202A, 0x202F)),
        *map(chr, range(0x2060, 0x2070)),
        *map(chr, range(0xFFF9, 0xFFFC)),
        *map(chr, range(0xE0000, 0xE0080)),
    ]
)
_SEPARATORS = frozenset("\u2028\u2029")
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Cn", "Co"})


def clean(text: str) -> str:
    """The text with line breaks and tabs kept and everything else that a terminal could obey escaped."""
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _harmless(char) else _escape(char) for char in text)


def line(text: str | None, width: int = 0) -> str:
    """The text as one line, for names, notes and lists; cut to `width` characters when that is given."""
    short = clean(" ".join((text or "").split()))
    return short[: width - 1] + "…" if width and len(short) > width else short


def _harmless(char: str) -> bool:
    if char in "\n\t":
        return True
    return char not in _HIDDEN | _SEPARATORS and unicodedata.category(char) not in _UNSAFE_CATEGORIES


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
