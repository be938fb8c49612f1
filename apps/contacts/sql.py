"""The contacts' explicit statements: locks, and what asking needs, the same on both databases.

Locks are taken in this order: identities (only to make a chat, to come into a room, or to block), chats ascending by
id, contacts, inbox heads. A chat's row locks all that its pair has with each other, and who is in a room; who makes a
chat first shares both identities' rows, who blocks or unblocks holds its own alone. So no chat of the blocker's
appears unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from apps.core import db, ids, times
from apps.core.actor import Actor
from apps.identities.sql import LIVE


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A direct chat, locked until commit, and its newest entry's cursor."""

    id: UUID
    head: int


def lock_pair(a: int, b: int) -> ChatRow | None:
    """Lock the direct chat of two identities (or of one with itself); None when they have none."""
    found = db.row(
        f"SELECT id, head FROM contacts_chat WHERE pair_low = %s AND pair_high = %s{db.lock()}",
        [min(a, b), max(a, b)],
    )
    return None if found is None else ChatRow(db.uuid(found[0]), found[1])


def lock_chat(id: UUID) -> ChatRow | None:
    """Lock a chat by its id until commit; None when there is none."""
    found = db.row(f"SELECT id, head FROM contacts_chat WHERE id = %s{db.lock()}", [id])
    return None if found is None else ChatRow(db.uuid(found[0]), found[1])


def make_pair(a: int, b: int) -> tuple[ChatRow, bool]:
    """The direct chat of two identities, locked, and whether this call made it (without members yet).

    Whoever makes the same chat meanwhile is waited for. Call it before any other lock is taken.
    """
    _lock_identities([a, b], " FOR SHARE")
    chat = ids.new()
    now = times.now()
    db.rows(
        "INSERT INTO contacts_chat (id, kind, pair_low, pair_high, topic, visibility, search_text, head, created_at,"
        " activity_at) VALUES (%s, 'direct', %s, %s, '', 'private', '', 0, %s, %s)"
        " ON CONFLICT (pair_low, pair_high) DO NOTHING",
        [chat, min(a, b), max(a, b), now, now],
    )
    row = lock_pair(a, b)
    if row is None:
        # A chat that another transaction made is committed or gone by now; committed ones stay.
        raise RuntimeError("a direct chat vanished while it was made")
    return row, row.id == chat


def add_members(chat: UUID, numbers: Sequence[int]) -> None:
    """Make identities members of a chat that was just made."""
    db.many(
        "INSERT INTO contacts_member (chat_id, identity_id, state, role, joined_cursor, read_cursor, joined_at) VALUES",
        "(%s, %s, 'member', 'member', 0, 0, %s)",
        [(chat, number, times.now()) for number in sorted(set(numbers))],
    )


def drop_pair(chat: UUID) -> None:
    """Take back a chat that this transaction made and found no use for."""
    db.rows("DELETE FROM contacts_chat WHERE id = %s", [chat])


def lock_account_pairs(me: int, other: int) -> list[int]:
    """Lock my own row and my direct chats with every identity of `other`'s account; returns their numbers.

    Nobody makes another such chat until commit. I myself am not among them.
    """
    _lock_identities([me], db.lock())
    found = db.rows(
        "SELECT i.number FROM identities_identity i JOIN contacts_chat c"
        " ON (c.pair_low = %s AND c.pair_high = i.number) OR (c.pair_high = %s AND c.pair_low = i.number)"
        " WHERE i.account_id = (SELECT account_id FROM identities_identity WHERE number = %s) AND i.number <> %s"
        f" ORDER BY c.id{db.lock()}{' OF c' if connection.vendor == 'postgresql' else ''}",
        [me, me, other, me],
    )
    return [number for (number,) in found]


def lock_identities(numbers: Sequence[int]) -> None:
    """Lock identities' own rows until commit, before any chat: what is counted of them holds."""
    _lock_identities(numbers, db.lock())


def _lock_identities(numbers: Sequence[int], clause: str) -> None:
    if connection.vendor == "postgresql":
        db.rows(
            "SELECT number FROM identities_identity"
            f" WHERE number IN ({db.places(numbers)}) ORDER BY number{clause}",
            numbers,
        )


def state_of(owner: int, other: int) -> str | None:
    """How `owner` sees `other`: a Contact.State, or None without a row."""
    found = db.row("SELECT state FROM contacts_contact WHERE owner_id = %s AND other_id = %s", [owner, other])
    return None if found is None else str(found[0])


def blocks(me: int, other: int) -> tuple[bool, bool]:
    """Whether I block `other`'s account, and whether `other` blocks mine."""
    found = db.row(f"SELECT EXISTS ({_BLOCKS}), EXISTS ({_BLOCKS})", [me, other, other, me])
    return (bool(found[0]), bool(found[1])) if found else (False, False)


_BLOCKS = (
    "SELECT 1 FROM contacts_block b JOIN identities_identity blocked ON blocked.number = b.other_id"
    " WHERE b.owner_id = %s"
    " AND blocked.account_id = (SELECT account_id FROM identities_identity WHERE number = %s)"
)


def share_room(a: int, b: int) -> bool:
    """Whether both are members of one room."""
    found = db.row(
        "SELECT 1 FROM contacts_member mine JOIN contacts_member theirs ON theirs.chat_id = mine.chat_id"
        " JOIN contacts_chat c ON c.id = mine.chat_id"
        " WHERE mine.identity_id = %s AND theirs.identity_id = %s AND mine.state = 'member'"
        " AND theirs.state = 'member' AND c.kind = 'room' LIMIT 1",
        [a, b],
    )
    return found is not None


@dataclass(frozen=True, slots=True)
class Audience:
    """A chat's members; `pair` are both numbers of a direct chat, the lower first, None in a room."""

    pair: tuple[int, int] | None
    members: list[int]


def audience(chat: UUID) -> Audience:
    """Who is a member of a chat that is there (one statement)."""
    found = db.rows(
        "SELECT c.pair_low, c.pair_high, m.identity_id FROM contacts_chat c"
        " LEFT JOIN contacts_member m ON m.chat_id = c.id AND m.state = 'member' WHERE c.id = %s",
        [chat],
    )
    pair = (found[0][0], found[0][1]) if found and found[0][0] is not None else None
    return Audience(pair, [number for _, _, number in found if number is not None])


def together(actor: Actor, chats: Sequence[UUID]) -> dict[UUID, list[int]]:
    """The members of those chats that an actor may see now: rooms it is in, direct ones with a friend or itself.

    Nothing when the actor's credential no longer lives.
    """
    found = db.rows(
        "SELECT theirs.chat_id, theirs.identity_id FROM contacts_member mine"
        " JOIN contacts_chat ch ON ch.id = mine.chat_id"
        " JOIN contacts_member theirs ON theirs.chat_id = mine.chat_id AND theirs.state = 'member'"
        " JOIN identities_credential c ON c.identity_id = mine.identity_id AND c.id = %s"
        " JOIN identities_identity i ON i.number = c.identity_id"
        " WHERE mine.identity_id = %s AND mine.state = 'member'"
        f" AND mine.chat_id IN ({db.places(chats)}) AND {LIVE}"
        " AND (ch.kind <> 'direct' OR ch.pair_low = ch.pair_high OR EXISTS (SELECT 1 FROM contacts_contact f"
        "  WHERE f.owner_id = mine.identity_id AND f.state = 'friend'"
        "  AND f.other_id IN (ch.pair_low, ch.pair_high)))",
        [actor.credential, actor.identity, *chats, times.now()],
    )
    members: dict[UUID, list[int]] = {}
    for chat, number in found:
        members.setdefault(db.uuid(chat), []).append(number)
    return members
