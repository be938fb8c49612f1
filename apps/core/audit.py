"""The audit log: who did what to an identity's access and standing."""

from __future__ import annotations

from typing import Any

from apps.core.actor import Actor
from apps.core.models import AuditEntry


def record(actor: Actor, action: str, **detail: Any) -> None:
    """Note what `actor` did to its own identity, inside the transaction that does it. `detail` holds no secret."""
    AuditEntry.objects.create(
        identity=actor.identity,
        action=action,
        detail=detail,
        credential=actor.credential,
        address=actor.address,
    )


def record_for(identity: int, action: str, **detail: Any) -> None:
    """Note what an operator or the clock did to an identity, inside the transaction that does it."""
    AuditEntry.objects.create(identity=identity, action=action, detail=detail)
