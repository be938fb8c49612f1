"""A member's own view of chats: which one a call means, and whether its member may write in it.

A chat is named by its id, or a direct one by who is in it. Every look-up starts from the memberships of the actor, so
that a chat it may not see and one that is not there are the same rows of the same statement: none. A direct chat
shows once something was said in it, or among friends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.contacts import actions as contacts
from apps.contacts.sql import ChatRow
from apps.core import db, ids
from apps.core.actor import Actor, Ref
from apps.core.errors import Code, DomainError, not_found
from apps.identities.queries import Person, find, read_who
from apps.inbox.actions import Event


@dataclass(frozen=True, slots=True)
class MyChat:
    """A chat that an actor is a member of, and its membership. `other` is who else is in a direct one (maybe I)."""

    id: UUID
    kind: str
    topic: str
    visibility: str
    head: int
    created_at: datetime
    activity_at: datetime
    other: Ref | None
    role: str
    joined_cursor: int
    read_cursor: int


COLUMNS = (
    "c.id, c.kind, c.topic, c.visibility, c.head, c.created_at, c.activity_at,"
    " o.number, o.handle, o.kind, o.display_name, m.role, m.joined_cursor, m.read_cursor"
)
WIDTH = COLUMNS.count(",") + 1
# The actor's contact `k` with the other one `o` of a direct chat.
_CONTACT = " LEFT JOIN contacts_contact k ON k.owner_id = m.identity_id AND k.other_id = o.number"
# From the memberships `m` of an actor to their chats `c`.
SOURCE = (
    " FROM contacts_member m JOIN contacts_chat c ON c.id = m.chat_id"
    " LEFT JOIN identities_identity o"
    f" ON o.number = CASE WHEN c.pair_low = m.identity_id THEN c.pair_high ELSE c.pair_low END{_CONTACT}"
)
# From an identity `o` to the direct chat with it; takes the actor's number five times.
_DIRECT = (
    " FROM identities_identity o JOIN contacts_chat c"
    " ON c.pair_low = CASE WHEN o.number < %s THEN o.number ELSE %s END"
    " AND c.pair_high = CASE WHEN o.number < %s THEN %s ELSE o.number END"
    f" JOIN contacts_member m ON m.chat_id = c.id AND m.identity_id = %s{_CONTACT}"
)
SHOWN = "m.state = 'member' AND (c.kind <> 'direct' OR c.head > 0 OR k.state = 'friend')"


def read(row: Sequence[Any]) -> MyChat:
    """A chat from a row of COLUMNS."""
    return MyChat(
        id=db.uuid(row[0]),
        kind=row[1],
        topic=row[2],
        visibility=row[3],
        head=row[4],
        created_at=db.time(row[5]),
        activity_at=db.time(row[6]),
        other=None if row[7] is None else Ref(*row[7:11]),
        role=row[11],
        joined_cursor=row[12],
        read_cursor=row[13],
    )


def chat_of(actor: Actor, text: str) -> MyChat:
    """The chat that a `con_…`, or a `{who}` for the direct one, means (one statement).

    Raises not_found for a chat that is absent and for one that the actor is no member of.
    """
    source, where, params = _meant(actor, text)
    found = db.row(f"SELECT {COLUMNS}{source} WHERE {where} AND {SHOWN}", params)
    if found is None:
        raise absent()
    return read(found)


def _meant(actor: Actor, text: str) -> tuple[str, str, list[Any]]:
    """Where to look for a chat: the source, the condition, and what both take."""
    me = actor.identity
    id = ids.read("con", text)
    if id is not None:
        return SOURCE, "m.identity_id = %s AND m.chat_id = %s", [me, id]
    who = read_who(text) or 0
    column = "number" if isinstance(who, int) else "handle"
    return _DIRECT, f"o.{column} = %s", [me, me, me, me, me, who]


def absent() -> DomainError:
    """The error for a chat that is absent or not the actor's."""
    return not_found("chat")


def not_a_room() -> DomainError:
    """The error for what a direct chat does not have."""
    return DomainError(Code.NOT_A_ROOM, "This is a direct chat: it has two members and no topic.")


# -- writing ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody wants to write, locked until commit.

    `row` is None while there is no direct chat with `other` yet; `other` is None in a room.
    """

    row: ChatRow | None
    other: Person | None


@dataclass(frozen=True, slots=True)
class Entered:
    """The chat to write in, or the `refusal`, with which `chat` is None.

    What a refusal stored (a contact request) is to be committed all the same: publish `events`, last in the
    transaction, and raise the refusal after it. Without one, `events` go into the caller's one `publish`.
    """

    chat: MyChat | None
    refusal: DomainError | None
    events: list[Event]


def lock_place(actor: Actor, text: str) -> Place:
    """Lock the chat that `text` means until commit, first in `db.write()`; a repeat is looked up after it.

    Raises not_found: of a chat as `chat_of`, of an identity that is not there (any more).
    """
    id = ids.read("con", text)
    if id is None:
        other = _there(text)
        return Place(contacts.lock(actor, other), other)
    row = db.row(
        f"SELECT c.id, c.head, c.kind, o.number{SOURCE} WHERE m.identity_id = %s AND m.chat_id = %s AND {SHOWN}"
        + (f"{db.lock()} OF c" if db.lock() else ""),
        [actor.identity, id],
    )
    if row is None:
        raise absent()
    return Place(ChatRow(db.uuid(row[0]), row[1]), _there(str(row[3])) if row[2] == "direct" else None)


def enter_place(actor: Actor, place: Place, note: str) -> Entered:
    """Apply the rules of who may write to a place that was locked in this transaction.

    In a room its members may. In a direct chat friends may, and oneself; a request of theirs is accepted, and a
    stranger is asked with the first line of `note`: that refuses with contact_requested, contact_required,
    contact_declined or blocked_by_you. Raises not_found for a room that was left meanwhile, rate_limited.
    """
    if place.other is None:
        return Entered(_member(actor, place.row.id if place.row else contacts.NOWHERE), None, [])
    door = contacts.enter(actor, place.other, note, place.row)
    if door.refusal is not None:
        return Entered(None, door.refusal, door.events)
    return Entered(_member(actor, door.chat), None, door.events)


def enter_chat(actor: Actor, text: str, note: str) -> Entered:
    """`lock_place` and `enter_place` in one, for calls that know no repeat."""
    return enter_place(actor, lock_place(actor, text), note)


def _there(who: str) -> Person:
    found = find(who)
    if found is None:
        raise not_found("identity")
    return found


def _member(actor: Actor, id: UUID) -> MyChat:
    """A chat that this transaction locked, as it stands now. Raises not_found for who is no member any more."""
    found = db.row(
        f"SELECT {COLUMNS}{SOURCE} WHERE m.identity_id = %s AND m.chat_id = %s AND m.state = 'member'",
        [actor.identity, id],
    )
    if found is None:
        raise absent()
    return read(found)
