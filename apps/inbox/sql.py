"""The inbox's hot statements, the same on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from apps.core import db, times
from apps.core.actor import Actor
from apps.identities.sql import LIVE


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event as stored."""

    seq: int
    type: str
    subject: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Head:
    """Where an inbox stands: its newest seq and the newest that retention dropped."""

    seq: int
    floor: int


class Raised(NamedTuple):
    """A head after its rise, and how many webhooks want to know."""

    seq: int
    hooks: int


def raise_heads(counts: dict[int, int]) -> dict[int, Raised]:
    """Raise heads by a count each, in one statement and ascending order; identity to its new head.

    The rows stay locked until commit, so that order of seq is order of commit.
    """
    found = db.many(
        "INSERT INTO inbox_inboxhead AS head (identity_id, seq, floor, hooks) VALUES",
        "(%s, %s, 0, 0)",
        sorted(counts.items()),
        "ON CONFLICT (identity_id) DO UPDATE SET seq = head.seq + excluded.seq RETURNING identity_id, seq, hooks",
    )
    return {number: Raised(seq, hooks) for number, seq, hooks in found}


def insert_events(events: Sequence[tuple[int, int, str, str, datetime]]) -> None:
    """Store events as (identity, seq, type, subject, time)."""
    db.many(
        "INSERT INTO inbox_inboxevent (identity_id, seq, type, subject, created_at) VALUES",
        "(%s, %s, %s, %s, %s)",
        events,
    )


def read(actor: Actor, after: int | None, limit: int) -> tuple[Head, list[EventRow]] | None:
    """The head and up to `limit` events newer than `after` (the floor when None), oldest first.

    None when the actor's credential no longer lives: what is delivered is checked where it is loaded.
    """
    found = db.rows(
        "SELECT COALESCE(h.seq, 0), COALESCE(h.floor, 0), e.seq, e.type, e.subject, e.created_at"
        " FROM identities_credential c JOIN identities_identity i ON i.number = c.identity_id"
        " LEFT JOIN inbox_inboxhead h ON h.identity_id = c.identity_id"
        " LEFT JOIN inbox_inboxevent e ON e.identity_id = c.identity_id"
        "  AND e.seq > CASE WHEN %s THEN %s ELSE COALESCE(h.floor, 0) END"
        f" WHERE c.id = %s AND {LIVE} ORDER BY e.seq LIMIT %s",
        [after is not None, after or 0, actor.credential, times.now(), limit],
    )
    if not found:
        return None
    events = [
        EventRow(seq, kind, subject, db.time(at)) for _, _, seq, kind, subject, at in found if seq is not None
    ]
    return Head(found[0][0], found[0][1]), events


def heads(numbers: Sequence[int]) -> dict[int, int]:
    """The newest seq of each inbox that has one."""
    found = db.rows(
        f"SELECT identity_id, seq FROM inbox_inboxhead WHERE identity_id IN ({db.places(numbers)})",
        numbers,
    )
    return dict(found)


# -- webhooks: heads are locked before webhooks, and these before their pings ---------------------------------------


def lock_head(identity: int) -> int:
    """Lock an identity's head until commit, made if there is none, and with it its webhooks; its seq."""
    found = db.row(
        "INSERT INTO inbox_inboxhead AS head (identity_id, seq, floor, hooks) VALUES (%s, 0, 0, 0)"
        " ON CONFLICT (identity_id) DO UPDATE SET seq = head.seq RETURNING seq",
        [identity],
    )
    return int(found[0]) if found else 0


def count_hooks(identity: int) -> None:
    """Write down how many active webhooks an identity has; its head is locked."""
    db.rows(
        "UPDATE inbox_inboxhead SET hooks = (SELECT COUNT(*) FROM inbox_webhook w"
        " WHERE w.identity_id = %s AND w.state = 'active') WHERE identity_id = %s",
        [identity, identity],
    )


def make_due(identities: Sequence[int], now: datetime) -> list[tuple[UUID, int]]:
    """Say of the active webhooks of some identities that a ping waits; (webhook, identity) of each.

    Their rows stay locked until commit: who has just sent the last ping looks again after it.
    """
    found = db.rows(
        "UPDATE inbox_webhook SET due_at = COALESCE(due_at, %s)"
        f" WHERE state = 'active' AND identity_id IN ({db.places(identities)}) RETURNING id, identity_id",
        [now, *identities],
    )
    return [(db.uuid(id), number) for id, number in found]


def insert_pings(pings: Sequence[tuple[UUID, UUID, int, datetime]]) -> None:
    """Store pings of news as (id, webhook, seq, time)."""
    db.many(
        "INSERT INTO inbox_outbox (id, webhook_id, type, seq, state, attempts, error, created_at) VALUES",
        "(%s, %s, 'inbox', %s, 'pending', 0, '', %s)",
        pings,
    )


_DUE = (
    "inbox_webhook w JOIN identities_identity i ON i.number = w.identity_id WHERE w.due_at <= %s"
    " AND (w.claimed_until IS NULL OR w.claimed_until <= %s) AND i.deleted_at IS NULL AND i.suspended_at IS NULL"
)


def any_due(now: datetime) -> bool:
    """Whether a webhook is due that nobody sends to, and whose identity is there."""
    return db.row(f"SELECT 1 FROM {_DUE} LIMIT 1", [now, now]) is not None


def claim_due(now: datetime, until: datetime, most: int) -> list[UUID]:
    """Claim up to `most` webhooks that are due, those that wait longest first, passing over what others take."""
    found = db.rows(
        f"WITH due AS (SELECT w.id FROM {_DUE} ORDER BY w.due_at LIMIT %s{_claim('w')})"
        " UPDATE inbox_webhook SET claimed_until = %s WHERE id IN (SELECT id FROM due) RETURNING id",
        [now, now, most, until],
    )
    return [db.uuid(id) for (id,) in found]


class Hook(NamedTuple):
    """A webhook that is sent to."""

    identity: int
    url: str
    secret: bytes
    old_secret: bytes | None
    old_until: datetime | None
    failing_since: datetime | None


def lock_claimed(webhook: UUID, claim: datetime) -> Hook | None:
    """Lock a webhook that is claimed until `claim` still; None when it, its claim or its identity is gone."""
    lock = " FOR NO KEY UPDATE OF w" if connection.vendor == "postgresql" else ""
    found = db.row(
        "SELECT w.identity_id, w.url, w.secret, w.old_secret, w.old_until, w.failing_since"
        " FROM inbox_webhook w JOIN identities_identity i ON i.number = w.identity_id"
        " WHERE w.id = %s AND w.claimed_until = %s AND w.state = 'active'"
        f" AND i.deleted_at IS NULL AND i.suspended_at IS NULL{lock}",
        [webhook, claim],
    )
    if found is None:
        return None
    identity, url, secret, old, until, since = found
    return Hook(
        identity,
        url,
        bytes(secret),
        None if old is None else bytes(old),
        db.maybe_time(until),
        db.maybe_time(since),
    )


class Ping(NamedTuple):
    """A ping that waits."""

    id: UUID
    type: str
    seq: int
    attempts: int


def waiting(webhook: UUID, most: int) -> list[Ping]:
    """The first `most` pings that wait for a webhook, in the order in which they are sent."""
    found = db.rows(
        "SELECT id, type, seq, attempts FROM inbox_outbox WHERE webhook_id = %s AND state = 'pending'"
        " ORDER BY seq, id LIMIT %s",
        [webhook, most],
    )
    return [Ping(db.uuid(id), kind, seq, attempts) for id, kind, seq, attempts in found]


def drop_outdated(webhook: UUID, error: str) -> None:
    """Drop the pings of news that wait for a webhook untried, all but the newest, which says what they say."""
    db.rows(
        "UPDATE inbox_outbox SET state = 'dropped', error = %s WHERE webhook_id = %s AND state = 'pending'"
        " AND type = 'inbox' AND attempts = 0 AND seq < (SELECT MAX(o.seq) FROM inbox_outbox o"
        " WHERE o.webhook_id = %s AND o.state = 'pending' AND o.type = 'inbox' AND o.attempts = 0)",
        [error, webhook, webhook],
    )


def drop_waiting(webhook: UUID) -> None:
    """Drop all pings that wait for a webhook."""
    db.rows(
        "UPDATE inbox_outbox SET state = 'dropped' WHERE webhook_id = %s AND state = 'pending'", [webhook]
    )


def begin_try(webhook: UUID, ping: UUID, now: datetime, claim: datetime) -> None:
    """Count a try before it is made, and claim the webhook for as long as it may take."""
    db.rows("UPDATE inbox_outbox SET attempts = attempts + 1, tried_at = %s WHERE id = %s", [now, ping])
    db.rows("UPDATE inbox_webhook SET claimed_until = %s WHERE id = %s", [claim, webhook])


def end_try(ping: UUID, state: str, status: int | None, error: str) -> None:
    """Write down what came of a try."""
    db.rows(
        "UPDATE inbox_outbox SET state = %s, status = %s, error = %s WHERE id = %s",
        [state, status, error, ping],
    )


def free_claim(webhook: UUID, due_at: datetime | None, failing_since: datetime | None) -> None:
    """Let go of a webhook, and say when its next ping is due, if one waits."""
    db.rows(
        "UPDATE inbox_webhook SET claimed_until = NULL, due_at = %s, failing_since = %s WHERE id = %s",
        [due_at, failing_since, webhook],
    )


def forget_pings(before: datetime, batch: int) -> int:
    """Delete up to `batch` pings made before that do not wait; returns how many."""
    with db.write():
        return len(
            db.rows(
                "DELETE FROM inbox_outbox WHERE id IN (SELECT o.id FROM inbox_outbox o WHERE o.created_at < %s"
                f" AND o.state <> 'pending' ORDER BY o.created_at LIMIT %s{_claim('o')}) RETURNING 1",
                [before, batch],
            )
        )


def _claim(table: str) -> str:
    """Lock what is taken and pass over what another process has taken; SQLite's one writer needs neither."""
    return f" FOR NO KEY UPDATE OF {table} SKIP LOCKED" if connection.vendor == "postgresql" else ""
