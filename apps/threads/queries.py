"""Reading threads: every look-up starts from what the actor is part of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.core import db, ids, paging, times
from apps.core.actor import Actor
from apps.core.errors import DomainError, not_found
from apps.core.paging import Page
from apps.identities.queries import shut_out
from apps.threads import sql
from apps.threads.show import message_json, thread_json
from apps.threads.sql import EntryRow, ThreadRow

MESSAGES = 100  # most entries shown with one thread


def absent() -> DomainError:
    """The error for a thread that is absent or not the actor's."""
    return not_found("thread")


def get(actor: Actor, thread: UUID, *, assignee: int | None = None) -> ThreadRow:
    """A thread the actor is part of (and `assignee` answers, when given). Raises not_found. One statement."""
    actor.need("messages:read")
    found = sql.thread(actor.identity, thread, assignee)
    if found is None:
        raise absent()
    return found


def history(
    thread: UUID, *, after: int = 0, newest: int | None = None, oldest: int | None = None
) -> list[EntryRow]:
    """The entries of a thread that was got, past a cursor and ascending. One statement."""
    return sql.history(thread, after, newest, oldest)


def histories(threads: list[UUID], newest: int | None) -> dict[UUID, list[EntryRow]]:
    """The (`newest`) entries of each of some threads that were got. One statement."""
    found: dict[UUID, list[EntryRow]] = defaultdict(list)
    for entry in sql.histories(threads, newest):
        found[entry.thread].append(entry)
    return found


def watch(
    actor: Actor, thread: UUID, after: int, oldest: int = 2 * MESSAGES
) -> tuple[ThreadRow, list[EntryRow]]:
    """A thread and its `oldest` entries past a cursor, the actor's right to them checked in the same statement.

    Raises unauthenticated or suspended when the access was taken away meanwhile, not_found when it is not the
    actor's.
    """
    actor.need("messages:read")
    found = sql.watch(actor, thread, after, oldest)
    if found is None:
        raise shut_out(actor)
    row, entries = found
    if row is None:
        raise absent()
    return row, entries


def asked(actor: Actor, assignee: int, most: int = 200) -> list[ThreadRow]:
    """The actor's questions to one assignee, newest activity first. One statement."""
    actor.need("messages:read")
    return sql.threads("t.asker_id = %s AND t.assignee_id = %s", [actor.identity, assignee], most)


def assigned(actor: Actor, threads: list[UUID]) -> UUID | None:
    """The first of some threads that is assigned to the actor, None when none is. At most one statement."""
    if not threads:
        return None
    where = f"t.assignee_id = %s AND t.id IN ({db.places(threads)})"
    found = {row.id for row in sql.threads(where, [actor.identity, *threads], len(threads))}
    return next((id for id in threads if id in found), None)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which threads of the actor's to list; None leaves a filter out."""

    role: str | None = None
    state: str | None = None
    context: str | None = None
    claimable: bool = False


def threads(actor: Actor, filters: Filters, limit: int, cursor: str | None) -> Page[ThreadRow]:
    """A page of the actor's threads, newest activity first. One statement.

    Claimable are threads assigned to the actor, open or working, that no lease holds.
    """
    actor.need("messages:read")
    scope = f"threads:{actor.identity}:{filters}"
    where, params = _where(actor, filters)
    if cursor is not None:
        at, id = paging.position(scope, cursor, "thr")
        where = f"{where} AND (t.activity_at < %s OR (t.activity_at = %s AND t.id < %s))"
        params = [*params, at, at, id]
    rows = sql.threads(where, params, limit + 1)
    return paging.cut(rows, limit, scope, lambda row: (times.show(row.activity_at), ids.show("thr", row.id)))


def _where(actor: Actor, filters: Filters) -> tuple[str, list[Any]]:
    role = "assignee" if filters.claimable else filters.role
    if role is None:
        where, params = "%s IN (t.asker_id, t.assignee_id)", [actor.identity]
    else:
        where, params = f"t.{'asker' if role == 'asker' else 'assignee'}_id = %s", [actor.identity]
    clauses: list[str] = [where]
    values: list[Any] = list(params)
    if filters.state is not None:
        clauses.append("t.state = %s")
        values.append(filters.state)
    if filters.context is not None:
        clauses.append("t.context = %s")
        values.append(filters.context)
    if filters.claimable:
        clauses.append("t.state IN ('open', 'working') AND (t.lease_until IS NULL OR t.lease_until <= %s)")
        values.append(times.now())
    return " AND ".join(clauses), values


def generations(hexes: list[str]) -> dict[str, int | str | None]:
    """The generation of each thread, for the sweep: one statement."""
    found = sql.generations([UUID(id) for id in hexes])
    return {id.hex: generation for id, generation in found.items()}


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """Thread and message of each entry id, for the inbox: one statement."""
    found = sql.entries(actor.identity, [UUID(subject) for subject in subjects])
    return {
        entry.id.hex: {"thread": thread_json(thread, actor.identity), "message": message_json(entry, thread)}
        for thread, entry in found
    }
