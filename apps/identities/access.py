"""The door of every surface: who calls, counted."""

from __future__ import annotations

from typing import Literal

from apps.core import limits, wake
from apps.core.actor import Actor
from apps.identities.models import Credential
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


def wake_all(number: int) -> None:
    """Let every wait of an identity's credentials look again whether it still may; inside a transaction."""
    live = Credential.objects.filter(identity=number, revoked_at=None).values_list("pk", flat=True)
    wake.wake([f"cred:{id.hex}" for id in live])
