"""Reading an inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from apps.core import times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid
from apps.identities.queries import shut_out
from apps.inbox import sql

Loader = Callable[[Actor, list[str]], dict[str, dict[str, Any]]]

_loaders: dict[str, Loader] = {}

MAX_EVENTS = 100
_NO_SEQ = 2**63 - 1  # no event is newer


def register_loader(types: Iterable[str], loader: Loader) -> None:
    """Say how the subjects of these event types become objects: a page of ids, one query, what may be seen.

    An id that `loader` leaves out is shown as null. Types that share a loader are loaded together.
    """
    for kind in types:
        _loaders[kind] = loader


def types() -> frozenset[str]:
    """Every event type there is."""
    return frozenset(_loaders)


@dataclass(frozen=True, slots=True)
class News:
    """What an inbox has after a seq: events to show, and the seq to read on from."""

    events: list[dict[str, Any]]
    next: int
    head: int

    def show(self) -> dict[str, Any]:
        return {"events": self.events, "next": self.next}


def news(actor: Actor, after: int | None, wanted: frozenset[str] | None, limit: int) -> News:
    """Up to `limit` events after `after` (None: from the oldest kept), of the wanted types (None: all).

    Two statements, and one more per kind of object shown. Raises insufficient_scope, unauthenticated when the
    credential was taken away meanwhile, cursor_expired below the floor, invalid above the head.
    """
    actor.need("messages:read")
    found = sql.read(actor, after, limit)
    if found is None:
        raise shut_out(actor)
    head, rows = found
    if after is not None:
        _check(after, head)
    # A page that is not full ends at the head, which was read in the same statement.
    last = rows[-1].seq if len(rows) == limit else head.seq
    shown = [row for row in rows if wanted is None or row.type in wanted]
    objects = _objects(actor, shown)
    events = [
        {
            "seq": row.seq,
            "type": row.type,
            "at": times.show(row.created_at),
            "object": objects.get((row.type, row.subject)),
        }
        for row in shown
    ]
    return News(events, last, head.seq)


def bounds(actor: Actor) -> sql.Head:
    """From where to where the actor's inbox is kept (one statement). Raises insufficient_scope, unauthenticated."""
    actor.need("messages:read")
    found = sql.read(actor, _NO_SEQ, 1)
    if found is None:
        raise shut_out(actor)
    return found[0]


def _check(after: int, head: sql.Head) -> None:
    if after > head.seq:
        raise invalid("after", f"The newest event is {head.seq}.", next="Read from an earlier one.")
    if after < head.floor:
        raise DomainError(
            Code.CURSOR_EXPIRED,
            "Events after this one are no longer kept.",
            field="after",
            next="Read on from `oldest`, and look at your contacts and threads for what was missed.",
            extra={"oldest": head.floor},
        )


def _objects(actor: Actor, rows: list[sql.EventRow]) -> dict[tuple[str, str], dict[str, Any]]:
    by_loader: dict[Loader, dict[str, None]] = {}
    for row in rows:
        if row.type in _loaders:
            by_loader.setdefault(_loaders[row.type], {})[row.subject] = None
    loaded = {loader: loader(actor, list(subjects)) for loader, subjects in by_loader.items()}
    objects = {}
    for row in rows:
        if row.type in _loaders and row.subject in (page := loaded[_loaders[row.type]]):
            objects[row.type, row.subject] = page[row.subject]
    return objects


def heads(numbers: list[str]) -> dict[str, int | str | None]:
    """The newest seq of each inbox, for the sweep: one statement."""
    found = sql.heads([int(number) for number in numbers])
    return {number: found.get(int(number), 0) for number in numbers}
