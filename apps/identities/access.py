"""The door of every surface: who calls, counted."""

from __future__ import annotations

from typing import Literal

from apps.core import limits
from apps.core.actor import Actor
from apps.identities.queries import authenticate, touched

Kind = Literal["read", "write", "reply"]


def admit(header: str | None, address: str, kind: Kind) -> Actor:
    """The actor behind an Authorization header, with this call counted against its rate (one statement).

    Raises unauthenticated, or rate_limited when the identity makes too many calls of this kind.
    """
    actor = authenticate(header, address)
    limits.hit(kind, actor.identity)
    touched(actor)
    return actor
