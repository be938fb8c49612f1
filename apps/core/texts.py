"""What texts that others see may hold: nothing that hides, or disturbs what stands beside it."""

from __future__ import annotations

import re

# Shown as nothing: soft hyphen, fillers, zero-width signs, variation selectors past those of emoji, tags.
_UNSEEN = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# They turn the reading direction, also of what follows the text.
_TURNING = "\u202a-\u202e\u2066-\u2069"

NAME = rf"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029{_TURNING}{_UNSEEN}]*\Z"
PROSE = rf"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_TURNING}\U000e0000-\U000e0fff]*\Z"

# Joiners make emoji and some scripts; beside ASCII or nothing they only make two names look alike.
_LOOSE_JOINER = re.compile(r"(?:\A|[\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?:\Z|[\x00-\x7f])")


def loosely_joined(name: str) -> bool:
    """Whether a name has a zero-width joiner that joins nothing."""
    return _LOOSE_JOINER.search(name) is not None
