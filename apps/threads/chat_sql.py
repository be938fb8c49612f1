"""The statements of chats: mine, one of mine, its history and what is found in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.core import db
from apps.core.actor import Ref
from apps.identities.search_text import containing
from apps.threads.entries import BLOCKED, COLUMNS, SEEN, SOURCE, ChatEntry, read

UNREAD = 100  # how far unread messages are counted


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat as one of its members sees it; `other` is the other side of a direct one."""

    id: UUID
    kind: str
    topic: str
    visibility: str
    head: int
    created_at: datetime
    activity_at: datetime
    role: str
    joined: int
    read: int
    other: Ref | None
    members: int
    unread: int


_UNREAD = (
    "SELECT COUNT(*) FROM (SELECT 1 FROM threads_entry e WHERE e.chat_id = c.id AND e.cursor > m.read_cursor"
    " AND e.cursor > m.joined_cursor AND e.kind = 'message' AND e.deleted_at IS NULL AND e.hidden_at IS NULL"
    f" AND e.actor_id <> m.identity_id AND NOT EXISTS ({BLOCKED.format(owner='m.identity_id', other='e.actor_id')})"
    f" LIMIT {UNREAD}) unread"
)
_CHAT = (
    "SELECT c.id, c.kind, c.topic, c.visibility, c.head, c.created_at, c.activity_at, m.role, m.joined_cursor,"
    " m.read_cursor, o.number, o.handle, o.kind, o.display_name,"
    " (SELECT COUNT(*) FROM contacts_member n WHERE n.chat_id = c.id AND n.state = 'member'),"
    f" ({_UNREAD}) FROM contacts_member m JOIN contacts_chat c ON c.id = m.chat_id"
    " LEFT JOIN identities_identity o"
    " ON o.number = CASE WHEN c.pair_low = m.identity_id THEN c.pair_high ELSE c.pair_low END"
    " WHERE m.identity_id = %s AND m.state = 'member'"
)


def _chat(row: tuple[Any, ...]) -> ChatRow:
    return ChatRow(
        id=db.uuid(row[0]),
        kind=row[1],
        topic=row[2],
        visibility=row[3],
        head=row[4],
        created_at=db.time(row[5]),
        activity_at=db.time(row[6]),
        role=row[7],
        joined=row[8],
        read=row[9],
        other=None if row[10] is None else Ref(*row[10:14]),
        members=row[14],
        unread=row[15],
    )


def mine(me: int, id: UUID) -> ChatRow | None:
    """A chat that `me` is a member of."""
    found = db.row(f"{_CHAT} AND c.id = %s", [me, id])
    return None if found is None else _chat(found)


def mine_with(me: int, other: int) -> ChatRow | None:
    """The direct chat of `me` with another."""
    found = db.row(f"{_CHAT} AND c.pair_low = %s AND c.pair_high = %s", [me, min(me, other), max(me, other)])
    return None if found is None else _chat(found)


def all_mine(me: int, kind: str | None, before: tuple[datetime, UUID] | None, limit: int) -> list[ChatRow]:
    """The chats of `me` that show something, newest activity first.

    A direct one shows once somebody wrote in it or both are friends: a mere request is in the list of contacts.
    """
    sql = (
        f"{_CHAT} AND (c.kind <> 'direct' OR c.head > 0 OR EXISTS (SELECT 1 FROM contacts_contact f"
        " WHERE f.owner_id = m.identity_id AND f.other_id = o.number AND f.state = 'friend'))"
    )
    params: list[Any] = [me]
    if kind is not None:
        sql, params = f"{sql} AND c.kind = %s", [*params, kind]
    if before is not None:
        at, id = before
        sql = f"{sql} AND (c.activity_at < %s OR (c.activity_at = %s AND c.id < %s))"
        params = [*params, at, at, id]
    found = db.rows(f"{sql} ORDER BY c.activity_at DESC, c.id DESC LIMIT %s", [*params, limit])
    return [_chat(row) for row in found]


def walk(me: int, after: UUID | None, limit: int) -> list[ChatRow]:
    """All chats of `me` past one by its id: an order that no activity disturbs."""
    where, params = ("", []) if after is None else (" AND c.id > %s", [after])
    return [_chat(row) for row in db.rows(f"{_CHAT}{where} ORDER BY c.id LIMIT %s", [me, *params, limit])]


def written(me: int, chat: UUID, after: int, limit: int) -> list[ChatEntry]:
    """What `me` wrote in a chat past a cursor, also in one that it has left; ascending."""
    found = db.rows(
        f"SELECT {COLUMNS}{SOURCE} WHERE e.chat_id = %s AND m.identity_id = %s AND e.actor_id = m.identity_id"
        " AND e.cursor > %s ORDER BY e.cursor LIMIT %s",
        [chat, me, after, limit],
    )
    return [read(row) for row in found]


def history(me: int, chat: UUID, *, after: int | None, before: int | None, limit: int) -> list[ChatEntry]:
    """What `me` may see of a chat: the entries next after a cursor, or those nearest before one; ascending."""
    back = after is None
    where, params = ("", []) if back and before is None else (" AND e.cursor < %s", [before])
    if not back:
        where, params = " AND e.cursor > %s", [after]
    found = db.rows(
        f"SELECT {COLUMNS}{SOURCE} WHERE e.chat_id = %s AND m.identity_id = %s AND {SEEN}{where}"
        f" ORDER BY e.cursor {'DESC' if back else 'ASC'} LIMIT %s",
        [chat, me, *params, limit],
    )
    entries = [read(row) for row in found]
    return entries[::-1] if back else entries


def one(me: int, id: UUID) -> ChatEntry | None:
    """An entry that `me` may see."""
    found = db.row(f"SELECT {COLUMNS}{SOURCE} WHERE e.id = %s AND m.identity_id = %s AND {SEEN}", [id, me])
    return None if found is None else read(found)


def any_one(id: UUID) -> ChatEntry | None:
    """An entry whoever may see it; for operators, who act for nobody."""
    found = db.row(
        f"SELECT {COLUMNS} FROM threads_entry e LEFT JOIN identities_identity a ON a.number = e.actor_id"
        " WHERE e.id = %s",
        [id],
    )
    return None if found is None else read(found)


def hide(id: UUID, at: datetime | None) -> bool:
    """Note since when an entry is hidden (None: no more); False when that is so already."""
    found = db.row(
        "UPDATE threads_entry SET hidden_at = %s WHERE id = %s AND (hidden_at IS NULL) = %s RETURNING 1",
        [at, id, at is not None],
    )
    return found is not None


def search(
    me: int, words: Sequence[str], chat: UUID | None, before: tuple[datetime, UUID] | None, limit: int
) -> list[ChatEntry]:
    """Messages that `me` may see whose text has every one of some folded words, newest first."""
    where, patterns = containing("e.search_text", words)
    params: list[Any] = [me, *patterns]
    if chat is not None:
        where, params = f"{where} AND e.chat_id = %s", [*params, chat]
    if before is not None:
        at, id = before
        where = f"{where} AND (e.created_at < %s OR (e.created_at = %s AND e.id < %s))"
        params = [*params, at, at, id]
    found = db.rows(
        f"SELECT {COLUMNS}{SOURCE} WHERE m.identity_id = %s AND e.search_text IS NOT NULL AND {where}"
        f" AND e.deleted_at IS NULL AND e.hidden_at IS NULL AND {SEEN}"
        " ORDER BY e.created_at DESC, e.id DESC LIMIT %s",
        [*params, limit],
    )
    return [read(row) for row in found]


def lock_message(me: int, id: UUID) -> bool:
    """Lock the chat of an entry that `me` may see until commit; False when there is none."""
    found = db.row(
        f"SELECT c.id FROM contacts_chat c JOIN threads_entry e ON e.chat_id = c.id"
        f" JOIN contacts_member m ON m.chat_id = c.id WHERE e.id = %s AND m.identity_id = %s AND {SEEN}"
        + (f"{db.lock()} OF c" if db.lock() else ""),
        [id, me],
    )
    return found is not None


def change(
    id: UUID,
    data: str,
    metadata: str | None,
    search_text: str | None,
    *,
    edited_at: datetime | None,
    deleted_at: datetime | None,
) -> None:
    """Store what an entry says now."""
    db.rows(
        "UPDATE threads_entry SET data = %s, metadata = %s, search_text = %s, edited_at = %s, deleted_at = %s"
        " WHERE id = %s",
        [data, metadata, search_text, edited_at, deleted_at, id],
    )


def advance(me: int, chat: UUID, cursor: int) -> None:
    """Move how far `me` has read a chat, only forwards."""
    db.rows(
        "UPDATE contacts_member SET read_cursor = %s WHERE chat_id = %s AND identity_id = %s AND read_cursor < %s",
        [cursor, chat, me, cursor],
    )
