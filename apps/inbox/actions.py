"""Telling identities that something is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from apps.core import times, wake
from apps.inbox import outbox, sql


@dataclass(frozen=True, slots=True)
class Event:
    """News for one identity: a type and the id of what it is about, never its content."""

    identity: int
    type: str
    subject: str


def publish(events: Iterable[Event]) -> None:
    """Put events into their inboxes, in the given order, and wake who waits once they are committed.

    Call it once, last in the transaction: the heads it raises, and the webhooks that want to know, are the last
    locks taken (two statements, and two more when there are such webhooks).
    """
    events = list(events)
    if not events:
        return
    counts = Counter(event.identity for event in events)
    heads = sql.raise_heads(counts)
    following = {number: heads[number].seq - counts[number] for number in counts}
    now = times.now()
    rows = []
    for event in events:
        following[event.identity] += 1
        rows.append((event.identity, following[event.identity], event.type, event.subject, now))
    sql.insert_events(rows)
    outbox.queue(heads, now)
    wake.wake(f"inbox:{number}" for number in counts)
