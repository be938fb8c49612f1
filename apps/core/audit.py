"""The audit log: who did what to an identity's access and standing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.core import ids, paging, times
from apps.core.actor import Actor
from apps.core.models import AuditEntry
from apps.core.paging import Page


def record(actor: Actor, action: str, **detail: Any) -> None:
    """Note what `actor` did to its own identity, inside the transaction that does it. `detail` holds no secret."""
    AuditEntry.objects.create(
        identity=actor.identity,
        action=action,
        detail=detail,
        credential=actor.credential,
        address=actor.address,
    )


def record_for(identity: int, action: str, *, address: str = "", **detail: Any) -> None:
    """Note what an operator, the clock or another identity did to one, inside the transaction that does it."""
    AuditEntry.objects.create(identity=identity, action=action, detail=detail, address=address)


@dataclass(frozen=True, slots=True)
class Note:
    """An entry of the log as its owner reads it."""

    id: UUID
    action: str
    at: datetime
    detail: dict[str, Any]
    credential: UUID | None
    address: str

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "id": ids.show("aud", self.id),
            "action": self.action,
            "at": times.show(self.at),
            "detail": self.detail,
            "credential": None if self.credential is None else ids.show("tok", self.credential),
            "address": self.address,
        }


def log(actor: Actor, limit: int, cursor: str | None) -> Page[Note]:
    """A page of the actor's own log, newest first (one statement). Raises insufficient_scope, invalid."""
    actor.need("profile")
    rows = AuditEntry.objects.filter(identity=actor.identity)
    page = paging.newest(rows, "at", f"audit:{actor.identity}", limit, cursor)
    notes = [Note(row.id, row.action, row.at, row.detail, row.credential, row.address) for row in page.items]
    return Page(notes, page.next_cursor)
