"""Ids: UUIDv7 inside, a prefix and 32 hex digits outside."""

from __future__ import annotations

import re
from typing import Literal
from uuid import UUID

from uuid_utils.compat import uuid7

Prefix = Literal["acc", "thr", "con", "msg", "inv", "tok", "key", "rep", "fil", "whk", "dlv", "aud"]
_HEX = re.compile(r"[0-9a-f]{32}", re.ASCII)


def new() -> UUID:
    """A fresh UUIDv7. Its order is the order of making, roughly: never an order of messages."""
    return uuid7()


def show(prefix: Prefix, value: UUID) -> str:
    """The id as callers see it, `thr_0190…`."""
    return f"{prefix}_{value.hex}"


def read(prefix: Prefix, text: str) -> UUID | None:
    """The UUID behind a shown id, or None when `text` is not one of that kind."""
    head, _, digits = text.partition("_")
    if head != prefix or not _HEX.fullmatch(digits):
        return None
    return UUID(digits)
