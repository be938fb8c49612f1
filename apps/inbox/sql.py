"""The inbox's hot statements, the same on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

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


def raise_heads(counts: dict[int, int]) -> dict[int, int]:
    """Raise heads by a count each, in one statement and ascending order; identity to its new head.

    The rows stay locked until commit, so that order of seq is order of commit.
    """
    found = db.many(
        "INSERT INTO inbox_inboxhead AS head (identity_id, seq, floor, hooks) VALUES",
        "(%s, %s, 0, 0)",
        sorted(counts.items()),
        "ON CONFLICT (identity_id) DO UPDATE SET seq = head.seq + excluded.seq RETURNING identity_id, seq",
    )
    return dict(found)


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
