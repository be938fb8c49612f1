"""Reports of abuse: an operator's queue, filled by who sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.core import db, idempotency, ids, limits, times
from apps.core.actor import Actor
from apps.core.errors import invalid, not_found
from apps.identities.models import Identity
from apps.identities.queries import read_who
from apps.lifecycle import sql
from apps.lifecycle.models import Report
from apps.threads import chat_sql, messages

_NONE = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Reported:
    """A report as its maker sees it, and whether an earlier call made it."""

    row: Report
    duplicate: bool

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {**show(self.row), "duplicate": self.duplicate}


def show(row: Report) -> dict[str, Any]:
    """A report as its maker sees it, as JSON."""
    return {
        "id": ids.show("rep", row.pk),
        "about": row.about.ref.show(),
        "message": None if row.message_id is None else ids.show("msg", row.message_id),
        "reason": row.reason,
        "text": row.text,
        "created_at": times.show(row.created_at),
    }


def report(
    actor: Actor,
    *,
    about: str | None,
    message: str | None,
    reason: str,
    text: str = "",
    client_id: str | None = None,
) -> Reported:
    """Report an identity (`about`, a `{who}`) or the author of a message (`msg_…`) that the actor may see.

    Raises insufficient_scope, not_found for hidden and absent alike, invalid for oneself, idempotency_conflict,
    rate_limited.
    """
    actor.need("messages:read" if about is None else "contacts")
    content = idempotency.content_hash(about, message, reason, text)
    with db.write():
        Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
        earlier = _earlier(actor, client_id, content)
        if earlier is not None:
            return Reported(earlier, duplicate=True)
        limits.hit("report", actor.identity)
        number, entry = _author(actor, message) if about is None else (_seen(actor, about), None)
        if number == actor.identity:
            raise invalid("message" if about is None else "about", "You cannot report yourself.")
        made = Report.objects.create(
            reporter_id=actor.identity, about_id=number, message_id=entry, reason=reason, text=text
        )
        if client_id is not None:
            idempotency.keep(actor.identity, "report", client_id, content, made.pk.hex)
    return Reported(made, duplicate=False)


def _earlier(actor: Actor, client_id: str | None, content: bytes) -> Report | None:
    if client_id is None:
        return None
    subject = idempotency.find(actor.identity, "report", client_id, content)
    if subject is None:
        return None
    return Report.objects.select_related("about").filter(pk=UUID(subject)).first()


def _seen(actor: Actor, who: str) -> int:
    """An identity that the actor may see (one statement). Raises not_found."""
    number = sql.seen(actor.identity, read_who(who) or 0)
    if number is None:
        raise not_found("identity")
    return number


def _author(actor: Actor, message: str | None) -> tuple[int, UUID]:
    """Who wrote a message that the actor may see, and its entry (one statement). Raises not_found."""
    entry = chat_sql.one(actor.identity, ids.read("msg", message or "") or _NONE)
    if entry is None or entry.kind != "message" or entry.deleted_at is not None or entry.actor is None:
        raise messages.absent()
    return entry.actor.number, entry.id


# -- what operators do ------------------------------------------------------------------------------------------


def note(id: UUID, text: str) -> None:
    """Add a line to what operators know of a report. Raises not_found, invalid."""
    text = text.strip()
    if not text:
        raise invalid("note", "A note says something.")
    with db.write():
        row = _locked(id)
        _add(row, text)
        row.save(update_fields=["note"])


def close(id: UUID, text: str = "") -> None:
    """Take a report out of the queue; a closed one stays as it is. Raises not_found."""
    with db.write():
        row = _locked(id)
        if row.state == Report.State.OPEN:
            if text.strip():
                _add(row, text.strip())
            row.state, row.closed_at = Report.State.CLOSED, times.now()
            row.save(update_fields=["note", "state", "closed_at"])


def _add(row: Report, text: str) -> None:
    line = f"{times.show(times.now())} {text}"
    row.note = f"{row.note}\n{line}" if row.note else line


def _locked(id: UUID) -> Report:
    found = Report.objects.select_for_update(no_key=True).filter(pk=id).first()
    if found is None:
        raise not_found("report")
    return found
