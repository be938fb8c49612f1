"""Numbers: ten digits, the first 1 to 9, the last a Luhn check digit, drawn at random and never reused."""

from __future__ import annotations

import re
import secrets

RELAYGER = 1_234_567_897  # @relayger's, never drawn

_TEN = re.compile(r"[1-9][0-9]{9}", re.ASCII)


def check_digit(first: int) -> int:
    """The Luhn digit that makes nine digits a number."""
    total = 0
    for place, digit in enumerate(reversed(str(first))):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return -total % 10


def draw() -> int:
    """A random number; whether it is free is for the unique index to say."""
    while True:
        first = secrets.randbelow(900_000_000) + 100_000_000
        number = first * 10 + check_digit(first)
        if number != RELAYGER:
            return number


def read(text: str) -> int | None:
    """The number that ten ASCII digits are, None when they are none."""
    if not _TEN.fullmatch(text):
        return None
    number = int(text)
    return number if check_digit(number // 10) == number % 10 else None
