"""The hot statements of asking, replying and reading, the same on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import orjson

from apps.core import db, times
from apps.core.actor import Actor, Ref
from apps.core.strict_json import dumps
from apps.identities.search_text import fold
from apps.identities.sql import LIVE
from apps.threads.parts import Part, text_of

Row = tuple[Any, ...]
Side = Literal["asker", "assignee"]

_LIVE = "('open', 'working', 'input_required', 'auth_required')"


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread as it stands."""

    id: UUID
    chat: UUID
    asker: Ref
    assignee: Ref
    state: str
    context: str
    generation: int
    messages: int
    size: int
    parent: UUID | None
    hops: int
    lease_owner: str
    lease_until: datetime | None
    attempt: int
    created_at: datetime
    state_at: datetime
    activity_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry of a thread: a message, a chunk, or a change of state (`state` is what it set, if anything)."""

    id: UUID
    thread: UUID
    cursor: int
    actor: int | None
    kind: str
    of: UUID | None
    last: bool | None
    parts: list[dict[str, Any]]
    state: str | None
    metadata: dict[str, Any] | None
    message_id: str | None
    created_at: datetime


_THREAD = (
    "t.id, t.chat_id, a.number, a.handle, a.kind, a.display_name, b.number, b.handle, b.kind, b.display_name,"
    " t.state, t.context, t.generation, t.messages, t.size, t.parent_id, t.hops, t.lease_owner,"
    " t.lease_until, t.attempt,"
    " t.created_at, t.state_at, t.activity_at, t.expires_at"
)
_THREAD_WIDTH = _THREAD.count(",") + 1
_PEOPLE = " JOIN identities_identity a ON a.number = t.asker_id JOIN identities_identity b ON b.number = t.assignee_id"
_ENTRY = (
    "e.id, e.thread_id, e.cursor, e.actor_id, e.kind, e.of_id, e.last, e.data, e.metadata, e.message_id,"
    " e.created_at, e.hidden_at"
)


def search_text(parts: Sequence[Part]) -> str | None:
    """What a search finds of a message: its texts, casefolded; None without any."""
    text = text_of(list(parts))
    return None if not text else fold(text)


def _thread(row: Row) -> ThreadRow:
    return ThreadRow(
        id=db.uuid(row[0]),
        chat=db.uuid(row[1]),
        asker=Ref(*row[2:6]),
        assignee=Ref(*row[6:10]),
        state=row[10],
        context=row[11],
        generation=row[12],
        messages=row[13],
        size=row[14],
        parent=db.maybe_uuid(row[15]),
        hops=row[16],
        lease_owner=row[17],
        lease_until=db.maybe_time(row[18]),
        attempt=row[19],
        created_at=db.time(row[20]),
        state_at=db.time(row[21]),
        activity_at=db.time(row[22]),
        expires_at=db.time(row[23]),
    )


def _entry(row: Row) -> EntryRow:
    data = orjson.loads(row[7])
    return EntryRow(
        id=db.uuid(row[0]),
        thread=db.uuid(row[1]),
        cursor=row[2],
        actor=row[3],
        kind=row[4],
        of=db.maybe_uuid(row[5]),
        last=None if row[6] is None else bool(row[6]),
        parts=data["parts"] if row[11] is None else [],
        state=data.get("state"),
        metadata=None if row[8] is None or row[11] is not None else orjson.loads(row[8]),
        message_id=row[9],
        created_at=db.time(row[10]),
    )


# -- reading ------------------------------------------------------------------------------------------------


def thread(viewer: int, id: UUID, assignee: int | None = None) -> ThreadRow | None:
    """A thread that `viewer` is part of (and `assignee` answers, when given)."""
    sql = f"SELECT {_THREAD} FROM threads_thread t{_PEOPLE} WHERE t.id = %s AND %s IN (t.asker_id, t.assignee_id)"
    params: list[Any] = [id, viewer]
    if assignee is not None:
        sql, params = f"{sql} AND t.assignee_id = %s", [*params, assignee]
    found = db.row(sql, params)
    return _thread(found) if found else None


def any_thread(id: UUID) -> ThreadRow | None:
    """A thread whoever is part of it; for jobs, which act for nobody."""
    found = db.row(f"SELECT {_THREAD} FROM threads_thread t{_PEOPLE} WHERE t.id = %s", [id])
    return _thread(found) if found else None


def threads(where: str, params: Sequence[Any], limit: int) -> list[ThreadRow]:
    """Threads by a condition on `t`, newest activity first."""
    found = db.rows(
        f"SELECT {_THREAD} FROM threads_thread t{_PEOPLE} WHERE {where}"
        " ORDER BY t.activity_at DESC, t.id DESC LIMIT %s",
        [*params, limit],
    )
    return [_thread(row) for row in found]


def walk(me: int, side: Side, after: tuple[datetime, UUID] | None, limit: int) -> list[ThreadRow]:
    """Threads that `me` asked, or was asked by another, oldest activity first: what changes is met once more."""
    where = "t.asker_id = %s" if side == "asker" else "t.assignee_id = %s AND t.asker_id <> t.assignee_id"
    params: list[Any] = [me]
    if after is not None:
        at, id = after
        where, params = f"{where} AND (t.activity_at, t.id) > (%s, %s)", [me, at, id]
    found = db.rows(
        f"SELECT {_THREAD} FROM threads_thread t{_PEOPLE} WHERE {where} ORDER BY t.activity_at, t.id LIMIT %s",
        [*params, limit],
    )
    return [_thread(row) for row in found]


def history(id: UUID, after: int, newest: int | None, oldest: int | None) -> list[EntryRow]:
    """The entries of a thread past a cursor, ascending: all, the `newest` ones or the `oldest` ones."""
    limit = newest if newest is not None else oldest
    found = db.rows(
        f"SELECT {_ENTRY} FROM threads_entry e WHERE e.thread_id = %s AND e.cursor > %s"
        f" ORDER BY e.cursor {'DESC' if newest is not None else 'ASC'}"
        + (" LIMIT %s" if limit is not None else ""),
        [id, after] if limit is None else [id, after, limit],
    )
    entries = [_entry(row) for row in found]
    return entries[::-1] if newest is not None else entries


def histories(ids: Sequence[UUID], newest: int | None) -> list[EntryRow]:
    """The entries (the `newest` of each) of several threads, ascending, in one statement."""
    if newest is None:
        sql = (
            f"SELECT {_ENTRY} FROM threads_entry e WHERE e.thread_id IN ({db.places(ids)}) ORDER BY e.cursor"
        )
        return [_entry(row) for row in db.rows(sql, ids)]
    found = db.rows(
        f"SELECT {_ENTRY.replace('e.', 'n.')} FROM (SELECT e.*, ROW_NUMBER() OVER"
        f" (PARTITION BY e.thread_id ORDER BY e.cursor DESC) AS place FROM threads_entry e"
        f" WHERE e.thread_id IN ({db.places(ids)})) n WHERE n.place <= %s ORDER BY n.cursor",
        [*ids, newest],
    )
    return [_entry(row) for row in found]


def watch(actor: Actor, id: UUID, after: int, oldest: int) -> tuple[ThreadRow | None, list[EntryRow]] | None:
    """A thread and its `oldest` entries past a cursor, in the statement that also checks the credential.

    None when the credential no longer lives; no thread when the actor is not part of it.
    """
    found = db.rows(
        f"SELECT {_THREAD}, {_ENTRY} FROM identities_credential c"
        " JOIN identities_identity i ON i.number = c.identity_id"
        " LEFT JOIN threads_thread t ON t.id = %s AND c.identity_id IN (t.asker_id, t.assignee_id)"
        " LEFT JOIN identities_identity a ON a.number = t.asker_id"
        " LEFT JOIN identities_identity b ON b.number = t.assignee_id"
        " LEFT JOIN threads_entry e ON e.thread_id = t.id AND e.cursor > %s"
        f" WHERE c.id = %s AND {LIVE} ORDER BY e.cursor LIMIT %s",
        [id, after, actor.credential, times.now(), oldest],
    )
    if not found:
        return None
    if found[0][0] is None:
        return None, []
    entries = [_entry(row[_THREAD_WIDTH:]) for row in found if row[_THREAD_WIDTH] is not None]
    return _thread(found[0][:_THREAD_WIDTH]), entries


def entries(viewer: int, ids: Sequence[UUID]) -> list[tuple[ThreadRow, EntryRow]]:
    """Entries by id, each with its thread, of threads that `viewer` is part of."""
    found = db.rows(
        f"SELECT {_THREAD}, {_ENTRY} FROM threads_entry e JOIN threads_thread t ON t.id = e.thread_id{_PEOPLE}"
        f" WHERE e.id IN ({db.places(ids)}) AND %s IN (t.asker_id, t.assignee_id)",
        [*ids, viewer],
    )
    return [(_thread(row[:_THREAD_WIDTH]), _entry(row[_THREAD_WIDTH:])) for row in found]


def generations(ids: Sequence[UUID]) -> dict[UUID, int]:
    """The generation of each thread that there is."""
    found = db.rows(f"SELECT id, generation FROM threads_thread WHERE id IN ({db.places(ids)})", ids)
    return {db.uuid(id): generation for id, generation in found}


def due(now: datetime, most: int) -> list[UUID]:
    """Live threads whose time has passed, oldest first."""
    found = db.rows(
        f"SELECT id FROM threads_thread WHERE state IN {_LIVE} AND expires_at <= %s ORDER BY expires_at LIMIT %s",
        [now, most],
    )
    return [db.uuid(id) for (id,) in found]


def live_between(me: int, others: Sequence[int]) -> list[ThreadRow]:
    """Threads between `me` and `others` that are not final."""
    places = db.places(others)
    found = db.rows(
        f"SELECT {_THREAD} FROM threads_thread t{_PEOPLE} WHERE t.state IN {_LIVE}"
        f" AND ((t.asker_id = %s AND t.assignee_id IN ({places}))"
        f" OR (t.assignee_id = %s AND t.asker_id IN ({places}))) ORDER BY t.id",
        [me, *others, me, *others],
    )
    return [_thread(row) for row in found]


# -- writing, inside a transaction ----------------------------------------------------------------------------


def lock_chat_of(viewer: int | None, id: UUID) -> bool:
    """Lock the chat of a thread until commit; False when `viewer` is not part of it (None: anybody)."""
    who = "" if viewer is None else " AND %s IN (t.asker_id, t.assignee_id)"
    return (
        db.row(
            "SELECT c.id FROM threads_thread t JOIN contacts_chat c ON c.id = t.chat_id"
            f" WHERE t.id = %s{who}" + (f"{db.lock()} OF c" if db.lock() else ""),
            [id] if viewer is None else [id, viewer],
        )
        is not None
    )


def retried(chat: UUID, actor: int, content: bytes, since: datetime) -> UUID | None:
    """The entry that `actor` stored in this chat with this content since a time, if any."""
    found = db.row(
        "SELECT id FROM threads_entry WHERE chat_id = %s AND content_hash = %s AND actor_id = %s"
        " AND created_at > %s ORDER BY cursor LIMIT 1",
        [chat, content, actor, since],
    )
    return db.uuid(found[0]) if found else None


def next_cursor(chat: UUID) -> int:
    """Raise the chat's head by one; the new cursor."""
    found = db.row(
        "UPDATE contacts_chat SET head = head + 1, activity_at = %s WHERE id = %s RETURNING head",
        [times.now(), chat],
    )
    assert found is not None  # noqa: S101  the chat is locked, so it is there
    return int(found[0])


def insert_thread(row: ThreadRow) -> None:
    """Store a new thread."""
    db.rows(
        "INSERT INTO threads_thread (id, chat_id, asker_id, assignee_id, state, context, generation, messages,"
        " size, parent_id, hops, lease_owner, lease_until, attempt, created_at, state_at, activity_at, expires_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            row.id,
            row.chat,
            row.asker.number,
            row.assignee.number,
            row.state,
            row.context,
            row.generation,
            row.messages,
            row.size,
            row.parent,
            row.hops,
            row.lease_owner,
            row.lease_until,
            row.attempt,
            row.created_at,
            row.state_at,
            row.activity_at,
            row.expires_at,
        ],
    )


def update_thread(row: ThreadRow) -> None:
    """Store what may change of a thread."""
    db.rows(
        "UPDATE threads_thread SET state = %s, generation = %s, messages = %s, size = %s, lease_owner = %s,"
        " lease_until = %s, attempt = %s, state_at = %s, activity_at = %s, expires_at = %s WHERE id = %s",
        [
            row.state,
            row.generation,
            row.messages,
            row.size,
            row.lease_owner,
            row.lease_until,
            row.attempt,
            row.state_at,
            row.activity_at,
            row.expires_at,
            row.id,
        ],
    )


def insert_entry(chat: UUID, row: EntryRow, type: str, client_id: str | None, content: bytes | None) -> None:
    """Store a new entry. What it says and the state it sets are one JSON text."""
    said: dict[str, Any] = {"parts": row.parts}
    if row.state is not None:
        said["state"] = row.state
    db.rows(
        "INSERT INTO threads_entry (id, chat_id, cursor, kind, type, actor_id, thread_id, of_id, last, data,"
        " metadata, message_id, client_id, content_hash, search_text, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            row.id,
            chat,
            row.cursor,
            row.kind,
            type,
            row.actor,
            row.thread,
            row.of,
            row.last,
            dumps(said).decode(),
            None if row.metadata is None else dumps(row.metadata).decode(),
            row.message_id,
            client_id,
            content,
            search_text(row.parts),
            row.created_at,
        ],
    )
