"""Webhooks: made, changed, rotated, tested, replayed, disabled. They tell that there is news, never which."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.core import audit, db, idempotency, ids, outgoing, paging, times, vault
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid, not_found
from apps.core.limits import hit
from apps.core.paging import Page
from apps.identities.tokens import lock
from apps.inbox import outbox, sql
from apps.inbox.actions import Event, publish
from apps.inbox.models import InboxEvent, Outbox, Webhook

DISABLED = "webhook.disabled"
MAX_REPLAY = 100
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class WebhookView:
    """A webhook without its secret."""

    id: UUID
    url: str
    name: str
    state: str
    reason: str
    created_at: datetime
    failing_since: datetime | None
    old_secret_until: datetime | None

    def brief(self) -> dict[str, Any]:
        """What an event shows of it: not the URL, which may hold a secret of its own."""
        return {
            "id": ids.show("whk", self.id),
            "name": self.name,
            "state": self.state,
            "reason": self.reason or None,
        }

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            **self.brief(),
            "url": self.url,
            "created_at": times.show(self.created_at),
            "failing_since": times.show_maybe(self.failing_since),
            "old_secret_until": times.show_maybe(self.old_secret_until),
        }


@dataclass(frozen=True, slots=True)
class Made:
    """A webhook with a new secret, which is shown this once; no secret when an earlier call made it."""

    view: WebhookView
    secret: str | None

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        duplicate = self.secret is None
        return {
            **self.view.show(),
            "secret": self.secret,
            "duplicate": duplicate,
            "next": "rotate" if duplicate else None,
        }


@dataclass(frozen=True, slots=True)
class Delivery:
    """A ping and what came of it; its id is the `webhook-id` of every try."""

    id: UUID
    type: str
    seq: int
    state: str
    attempts: int
    status: int | None
    error: str
    created_at: datetime
    tried_at: datetime | None

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "id": ids.show("dlv", self.id),
            "type": self.type,
            "seq": self.seq,
            "state": self.state,
            "attempts": self.attempts,
            "status": self.status,
            "error": self.error or None,
            "created_at": times.show(self.created_at),
            "tried_at": times.show_maybe(self.tried_at),
        }


# -- reading ----------------------------------------------------------------------------------------------------


def listed(actor: Actor, limit: int, cursor: str | None) -> Page[WebhookView]:
    """A page of the actor's webhooks, newest first (one statement). Raises insufficient_scope, invalid."""
    actor.need("webhooks")
    rows = Webhook.objects.filter(identity=actor.identity)
    page = paging.newest(rows, "created_at", f"webhooks:{actor.identity}", limit, cursor)
    return Page([_view(row) for row in page.items], page.next_cursor)


def get(actor: Actor, id: UUID) -> WebhookView:
    """One of the actor's webhooks (one statement). Raises insufficient_scope, not_found."""
    actor.need("webhooks")
    return _view(_mine(actor, id))


def deliveries(actor: Actor, id: UUID, limit: int, cursor: str | None) -> Page[Delivery]:
    """A page of a webhook's pings, newest first (two statements). Raises insufficient_scope, not_found, invalid."""
    actor.need("webhooks")
    hook = _mine(actor, id)
    rows = Outbox.objects.filter(webhook=hook)
    page = paging.newest(rows, "created_at", f"deliveries:{hook.id.hex}", limit, cursor)
    return Page([_delivery(row) for row in page.items], page.next_cursor)


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The webhooks that events of this inbox are about (one statement)."""
    rows = Webhook.objects.filter(identity=actor.identity, pk__in=[UUID(subject) for subject in subjects])
    return {row.id.hex: _view(row).brief() for row in rows}


# -- writing ----------------------------------------------------------------------------------------------------


def make(actor: Actor, url: str, name: str = "", *, client_id: str | None = None) -> Made:
    """Make a webhook: `url` gets a ping for what is new from now on.

    Raises insufficient_scope, invalid for an address that is not called, quota_exceeded, idempotency_conflict,
    unauthenticated.
    """
    actor.need("webhooks")
    content = idempotency.content_hash(url, name)
    # Looked for before the address is: what was taken once is a duplicate, wherever its name leads now.
    earlier = _earlier(actor, "webhook", client_id, content)
    if earlier is not None:
        return earlier
    target = outgoing.check(url)
    with _changing(actor):
        earlier = _earlier(actor, "webhook", client_id, content)
        if earlier is not None:
            return earlier
        most: int = settings.RELAYGER.max_webhooks
        if Webhook.objects.filter(identity=actor.identity).count() >= most:
            raise DomainError(
                Code.QUOTA_EXCEEDED,
                f"An identity has at most {most} webhooks.",
                next="Delete one with DELETE /v1/webhooks/{id}.",
            )
        secret = secrets.token_bytes(_SECRET_BYTES)
        row = Webhook.objects.create(
            identity_id=actor.identity, url=target, name=name, secret=vault.close(secret)
        )
        _keep(actor, "webhook", client_id, content, row)
        sql.count_hooks(actor.identity)
        audit.record(actor, "webhook.created", **_detail(row))
    return Made(_view(row), _spelled(secret))


def change(
    actor: Actor, id: UUID, *, url: str | None = None, name: str | None = None, enable: bool = False
) -> WebhookView:
    """Change a webhook's address or name, or enable a disabled one again: pings waiting go to the new address.

    What was new while it was disabled is not told; see `replay`. Raises insufficient_scope, not_found, invalid,
    unauthenticated.
    """
    actor.need("webhooks")
    _mine(actor, id)
    target = None if url is None else outgoing.check(url)
    with _changing(actor):
        row = _locked(actor, id)
        if target is not None and target != row.url:
            row.url, row.failing_since = target, None
            row.due_at = row.due_at and times.now()
        if name is not None:
            row.name = name
        if enable and row.state != Webhook.State.ACTIVE:
            row.state, row.reason, row.failing_since = Webhook.State.ACTIVE, "", None
        row.save(update_fields=["url", "name", "state", "reason", "failing_since", "due_at"])
        sql.count_hooks(actor.identity)
        audit.record(actor, "webhook.changed", **_detail(row))
        outbox.nudge()
    return _view(row)


def delete(actor: Actor, id: UUID) -> None:
    """Delete a webhook, its pings and its list of deliveries. Raises insufficient_scope, not_found."""
    actor.need("webhooks")
    with _changing(actor):
        row = _locked(actor, id)
        detail = _detail(row)
        row.delete()
        sql.count_hooks(actor.identity)
        audit.record(actor, "webhook.deleted", **detail)


def rotate(
    actor: Actor, id: UUID, *, overlap_hours: float | None = None, client_id: str | None = None
) -> Made:
    """Give a webhook a new secret; the old one signs too for `overlap_hours` (RELAYGER_OVERLAP_HOURS unless told).

    Raises insufficient_scope, not_found, idempotency_conflict, unauthenticated.
    """
    actor.need("webhooks")
    content = idempotency.content_hash(id.hex, overlap_hours)
    hours: float = settings.RELAYGER.overlap_hours if overlap_hours is None else overlap_hours
    with db.write():
        lock(actor)
        earlier = _earlier(actor, "webhook.rotate", client_id, content)
        if earlier is not None:
            return earlier
        row = _locked(actor, id)
        secret = secrets.token_bytes(_SECRET_BYTES)
        row.old_secret, row.old_until = (
            (row.secret, times.now() + timedelta(hours=hours)) if hours else (None, None)
        )
        row.secret = vault.close(secret)
        row.save(update_fields=["secret", "old_secret", "old_until"])
        _keep(actor, "webhook.rotate", client_id, content, row)
        audit.record(actor, "webhook.rotated", **_detail(row))
    return Made(_view(row), _spelled(secret))


def test(actor: Actor, id: UUID) -> Delivery:
    """Queue a ping of the type `test`.

    Raises insufficient_scope, not_found, webhook_disabled, rate_limited, unauthenticated.
    """
    return _queue(actor, id, lambda row, head: [Outbox(webhook=row, type="test", seq=head)])[0]


def replay(
    actor: Actor, id: UUID, *, after: int | None = None, since: datetime | None = None
) -> list[Delivery]:
    """Queue a ping for each event after a seq or since a time, those first that come first: at most 100.

    Raises insufficient_scope, not_found, invalid above the head, webhook_disabled, rate_limited, unauthenticated.
    """

    def pings(row: Webhook, head: int) -> list[Outbox]:
        if after is not None and after > head:
            raise invalid("after", f"The newest event is {head}.", next="Replay from an earlier one.")
        events = InboxEvent.objects.filter(identity=actor.identity, seq__gt=after or 0)
        if since is not None:
            events = events.filter(created_at__gte=since)
        seqs = events.order_by("seq").values_list("seq", flat=True)[:MAX_REPLAY]
        return [Outbox(webhook=row, seq=seq) for seq in seqs]

    return _queue(actor, id, pings)


def disable(identity: int, id: UUID, reason: str) -> None:
    """Disable a webhook inside a transaction, drop what waits for it, and tell its owner.

    The head of `identity` is locked before the webhook is. What was disabled or deleted meanwhile stays so.
    """
    row = Webhook.objects.select_for_update(no_key=True).filter(pk=id, state=Webhook.State.ACTIVE).first()
    if row is None:
        return
    row.state, row.reason = Webhook.State.DISABLED, reason
    row.due_at = row.claimed_until = None
    row.save(update_fields=["state", "reason", "due_at", "claimed_until"])
    sql.drop_waiting(id)
    sql.count_hooks(identity)
    audit.record_for(identity, DISABLED, **_detail(row), reason=reason)
    publish([Event(identity, DISABLED, id.hex)])


def absent() -> DomainError:
    """The refusal of a webhook that is not there, or another's."""
    return not_found("webhook")


# -- what they share --------------------------------------------------------------------------------------------


@contextmanager
def _changing(actor: Actor) -> Iterator[None]:
    """One transaction in which nobody else changes, or is about to ping, the actor's webhooks."""
    with db.write():
        lock(actor)
        sql.lock_head(actor.identity)
        yield


def _mine(actor: Actor, id: UUID) -> Webhook:
    row = Webhook.objects.filter(identity=actor.identity, pk=id).first()
    if row is None:
        raise absent()
    return row


def _locked(actor: Actor, id: UUID) -> Webhook:
    """The same, locked: the sender waits with what it writes down."""
    row = Webhook.objects.select_for_update(no_key=True).filter(identity=actor.identity, pk=id).first()
    if row is None:
        raise absent()
    return row


def _queue(actor: Actor, id: UUID, pings: Callable[[Webhook, int], list[Outbox]]) -> list[Delivery]:
    """Queue what `pings` makes of a webhook and the head of its inbox, due at once whatever failed before."""
    actor.need("webhooks")
    _mine(actor, id)
    hit("ping", actor.identity)
    with db.write():
        lock(actor)
        head = sql.lock_head(actor.identity)
        row = _locked(actor, id)
        if row.state != Webhook.State.ACTIVE:
            raise DomainError(
                Code.WEBHOOK_DISABLED,
                "This webhook is disabled.",
                next='Send PATCH /v1/webhooks/{id} with {"state": "active"} first.',
            )
        made = Outbox.objects.bulk_create(pings(row, head))
        if made:
            row.due_at = times.now()
            row.save(update_fields=["due_at"])
            outbox.nudge()
    return [_delivery(one) for one in made]


def _earlier(actor: Actor, action: str, client_id: str | None, content: bytes) -> Made | None:
    """What an earlier, equal call made, without its secret."""
    if client_id is None:
        return None
    subject = idempotency.find(actor.identity, action, client_id, content)
    return None if subject is None else Made(_view(_mine(actor, UUID(subject))), None)


def _keep(actor: Actor, action: str, client_id: str | None, content: bytes, row: Webhook) -> None:
    if client_id is not None:
        idempotency.keep(actor.identity, action, client_id, content, row.id.hex)


def _spelled(secret: bytes) -> str:
    """A secret as Standard Webhooks spells it."""
    return f"whsec_{base64.b64encode(secret).decode()}"


def _detail(row: Webhook) -> dict[str, Any]:
    return {"webhook": ids.show("whk", row.id), "name": row.name}


def _view(row: Webhook) -> WebhookView:
    signs = row.old_until is not None and row.old_until > times.now()
    return WebhookView(
        row.id,
        row.url,
        row.name,
        row.state,
        row.reason,
        row.created_at,
        row.failing_since,
        row.old_until if signs else None,
    )


def _delivery(row: Outbox) -> Delivery:
    return Delivery(
        row.id,
        row.type,
        row.seq,
        row.state,
        row.attempts,
        row.status,
        row.error,
        row.created_at,
        row.tried_at,
    )
