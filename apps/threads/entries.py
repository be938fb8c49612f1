"""The entries of a chat that belong to no thread: plain messages, and what happened to a room or a file.

Whoever adds one holds the chat's lock (`contacts.sql.lock_chat`), calls `append`, and publishes `news` last in the
transaction. Reading starts from what the viewer is a member of, since it joined, without those it blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from apps.core import db, ids, times
from apps.core.actor import Actor, Ref
from apps.core.strict_json import dumps
from apps.inbox.actions import Event
from apps.threads import sql
from apps.threads.parts import Part, text_of

EVENTS = (
    "message.created",
    "message.edited",
    "message.deleted",
    "room.joined",
    "room.left",
    "room.topic",
)


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """An entry as its chat's members see it. `said` is what it stores: `parts`, or what an event is about."""

    id: UUID
    chat: UUID
    cursor: int
    kind: str
    type: str
    actor: Ref | None
    thread: UUID | None
    of: UUID | None
    last: bool | None
    said: dict[str, Any]
    metadata: dict[str, Any] | None
    client_id: str | None
    created_at: datetime
    edited_at: datetime | None = None
    deleted_at: datetime | None = None

    def show(self, viewer: int) -> dict[str, Any]:
        """The JSON of it; only its author sees the `client_id`."""
        parts = self.said.get("parts", [])
        own = self.actor is not None and self.actor.number == viewer
        return {
            "id": ids.show("msg", self.id),
            "chat": ids.show("con", self.chat),
            "cursor": self.cursor,
            "kind": self.kind,
            "type": self.type,
            "from": None if self.actor is None else self.actor.show(),
            "thread": None if self.thread is None else ids.show("thr", self.thread),
            "text": text_of(parts),
            "parts": parts,
            "state": self.said.get("state"),
            "about": self.said.get("about"),
            "of": None if self.of is None else ids.show("msg", self.of),
            "last": self.last,
            "metadata": self.metadata,
            "client_id": self.client_id if own else None,
            "created_at": times.show(self.created_at),
            "edited_at": times.show_maybe(self.edited_at),
            "deleted_at": times.show_maybe(self.deleted_at),
        }


def append(
    chat: UUID,
    actor: Actor | None,
    type: str,
    *,
    parts: list[Part] | None = None,
    about: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    client_id: str | None = None,
) -> ChatEntry:
    """Add a message (`parts`) or an event (`about`, plain JSON that names what it is about) to a locked chat."""
    said: dict[str, Any] = {"parts": parts} if parts is not None else {"parts": [], "about": about or {}}
    entry = ChatEntry(
        id=ids.new(),
        chat=chat,
        cursor=sql.next_cursor(chat),
        kind="event" if parts is None else "message",
        type=type,
        actor=None if actor is None else actor.ref,
        thread=None,
        of=None,
        last=None,
        said=said,
        metadata=metadata,
        client_id=client_id,
        created_at=times.now(),
    )
    db.rows(
        "INSERT INTO threads_entry (id, chat_id, cursor, kind, type, actor_id, data, metadata, client_id,"
        " search_text, created_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            entry.id,
            chat,
            entry.cursor,
            entry.kind,
            type,
            None if actor is None else actor.identity,
            dumps(said).decode(),
            None if metadata is None else dumps(metadata).decode(),
            client_id,
            sql.search_text(said["parts"]),
            entry.created_at,
        ],
    )
    return entry


def news(entry: ChatEntry, type: str | None = None, also: Sequence[int] = ()) -> list[Event]:
    """News of an entry for every member but who made it and those who block its maker (one statement).

    `also` names more who are told (somebody just removed). Publish it last in the transaction.
    """
    actor = 0 if entry.actor is None else entry.actor.number
    found = db.rows(
        "SELECT m.identity_id FROM contacts_member m WHERE m.chat_id = %s AND m.state = 'member'"
        f" AND m.identity_id <> %s AND NOT EXISTS ({BLOCKED.format(owner='m.identity_id', other='%s')})",
        [entry.chat, actor, actor],
    )
    numbers = {number for (number,) in found} | set(also)
    return [Event(number, type or entry.type, entry.id.hex) for number in sorted(numbers - {actor})]


# Whether `owner` blocks the account of `other`: SQL for both, to be formatted in.
BLOCKED = (
    "SELECT 1 FROM contacts_block b JOIN identities_identity blocked ON blocked.number = b.other_id"
    " WHERE b.owner_id = {owner}"
    " AND blocked.account_id = (SELECT account_id FROM identities_identity WHERE number = {other})"
)

COLUMNS = (
    "e.id, e.chat_id, e.cursor, e.kind, e.type, a.number, a.handle, a.kind, a.display_name, e.thread_id, e.of_id,"
    " e.last, e.data, e.metadata, e.client_id, e.created_at, e.edited_at, e.deleted_at, e.hidden_at"
)
# What `m`, a membership of the viewer's, lets it see of `e`: takes no parameter.
SEEN = (
    "m.state = 'member' AND e.cursor > m.joined_cursor AND (e.actor_id IS NULL OR e.actor_id = m.identity_id"
    f" OR NOT EXISTS ({BLOCKED.format(owner='m.identity_id', other='e.actor_id')}))"
)
SOURCE = (
    " FROM threads_entry e JOIN contacts_member m ON m.chat_id = e.chat_id"
    " LEFT JOIN identities_identity a ON a.number = e.actor_id"
)


def read(row: tuple[Any, ...]) -> ChatEntry:
    """An entry from a row of COLUMNS; one that is deleted or hidden says nothing any more."""
    said = orjson.loads(row[12])
    gone = row[17] is not None or row[18] is not None
    return ChatEntry(
        id=db.uuid(row[0]),
        chat=db.uuid(row[1]),
        cursor=row[2],
        kind=row[3],
        type=row[4],
        actor=None if row[5] is None else Ref(*row[5:9]),
        thread=db.maybe_uuid(row[9]),
        of=db.maybe_uuid(row[10]),
        last=None if row[11] is None else bool(row[11]),
        said={**said, "parts": []} if gone else said,
        metadata=None if row[13] is None or gone else orjson.loads(row[13]),
        client_id=row[14],
        created_at=db.time(row[15]),
        edited_at=db.maybe_time(row[16]),
        deleted_at=db.maybe_time(row[17] or row[18]),
    )


def about(number: int, ids: Sequence[UUID]) -> list[tuple[UUID, UUID]]:
    """Of some entries that tell of a removal, those that tell it of `number`: the entry and its chat."""
    if not ids:
        return []
    found = db.rows(
        f"SELECT e.id, e.chat_id, e.data FROM threads_entry e WHERE e.id IN ({db.places(ids)})"
        " AND e.type = 'room.removed'",
        ids,
    )
    return [
        (db.uuid(id), db.uuid(chat))
        for id, chat, data in found
        if orjson.loads(data)["about"]["identity"]["number"] == str(number)
    ]


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The inbox's loader: entries by id, of chats the actor may read now (one statement)."""
    return {entry.id.hex: {"message": entry.show(actor.identity)} for entry in found(actor, subjects)}


def found(actor: Actor, subjects: Sequence[str]) -> list[ChatEntry]:
    """Entries of chats the actor may read now, by their ids (one statement)."""
    wanted = [UUID(subject) for subject in subjects]
    rows = db.rows(
        f"SELECT {COLUMNS}{SOURCE} WHERE e.id IN ({db.places(wanted)}) AND m.identity_id = %s AND {SEEN}",
        [*wanted, actor.identity],
    )
    return [read(row) for row in rows]
