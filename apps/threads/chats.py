"""The chats one is a member of: look-ups, lists, history, and how far one has read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.contacts import actions as contacts
from apps.contacts import notes
from apps.contacts import sql as contacts_sql
from apps.contacts.models import Chat, Member
from apps.core import db, ids, paging, times
from apps.core.actor import Actor
from apps.core.errors import DomainError, invalid, not_found
from apps.core.paging import Page
from apps.identities import keys
from apps.identities.queries import Person, find
from apps.inbox.actions import Event
from apps.threads import chat_sql, file_sql
from apps.threads.chat_sql import ChatRow
from apps.threads.entries import ChatEntry

NOBODY = UUID(int=0)


def absent() -> DomainError:
    """The refusal of a chat that is not there, or not the actor's."""
    return not_found("chat")


def chat_of(actor: Actor, text: str) -> ChatRow:
    """The chat that `con_…` or, for a direct one, a `{who}` names. Raises not_found, hidden and absent alike."""
    found = None
    if text.startswith("con_"):
        found = chat_sql.mine(actor.identity, ids.read("con", text) or NOBODY)
    else:
        other = find(text)
        found = chat_sql.mine_with(actor.identity, other.number if other else 0)
    if found is None:
        raise absent()
    return found


def show(row: ChatRow) -> dict[str, Any]:
    """A chat as JSON."""
    return {
        "id": ids.show("con", row.id),
        "kind": row.kind,
        "topic": row.topic,
        "visibility": row.visibility,
        "with": None if row.other is None else row.other.show(),
        "role": row.role,
        "members": row.members,
        "head": row.head,
        "read": row.read,
        "unread": row.unread,
        "created_at": times.show(row.created_at),
        "activity_at": times.show(row.activity_at),
    }


def get(actor: Actor, text: str) -> dict[str, Any]:
    """A chat with its people and their keys: at most four statements. Raises insufficient_scope, not_found."""
    actor.need("messages:read")
    row = chat_of(actor, text)
    members = list(
        Member.objects.filter(chat=row.id, state=Member.State.MEMBER, identity__deleted_at=None)
        .select_related("identity")
        .order_by("joined_at", "pk")
    )
    in_use = keys.in_use([member.identity_id for member in members])
    people = [
        {
            "number": str(member.identity_id),
            "handle": member.identity.handle,
            "kind": member.identity.kind,
            "display_name": member.identity.display_name,
            "role": member.role,
            "joined_at": times.show(member.joined_at),
            "read": member.read_cursor,
            "keys": keys.show(in_use.get(member.identity_id, {})),
        }
        for member in members
    ]
    return {**show(row), "people": people}


def listed(actor: Actor, kind: str | None, limit: int, cursor: str | None) -> Page[ChatRow]:
    """A page of the actor's chats, newest activity first (one statement). Raises insufficient_scope, invalid."""
    actor.need("messages:read")
    scope = f"chats:{actor.identity}:{kind or ''}"
    before = None if cursor is None else paging.position(scope, cursor, "con")
    rows = chat_sql.all_mine(actor.identity, kind, before, limit + 1)
    return paging.cut(rows, limit, scope, lambda row: (times.show(row.activity_at), ids.show("con", row.id)))


@dataclass(frozen=True, slots=True)
class History:
    """A page of a chat, ascending; `head` is the chat's newest cursor."""

    entries: list[ChatEntry]
    next_cursor: int | None  # to go on in the same direction; None when there is no more
    head: int


def history(actor: Actor, text: str, *, after: int | None, before: int | None, limit: int) -> History:
    """The entries next after a cursor, or the nearest before one; with neither the newest.

    Two statements, and one more where files are among them.

    Raises insufficient_scope, not_found, invalid.
    """
    actor.need("messages:read")
    if after is not None and before is not None:
        raise invalid("before", "Give `after` or `before`, not both.")
    row = chat_of(actor, text)
    if after is not None and after > row.head:
        raise invalid("after", f"The newest entry is {row.head}.", next="Read from an earlier one.")
    found = chat_sql.history(actor.identity, row.id, after=after, before=before, limit=limit + 1)
    more = len(found) > limit
    if more:
        found = found[1:] if after is None else found[:-1]
    following = (found[0] if after is None else found[-1]).cursor if more else None
    return History(file_sql.described(actor.identity, found), following, row.head)


def mark_read(actor: Actor, text: str, cursor: int) -> ChatRow:
    """Note that the actor has read a chat up to a cursor; an earlier one changes nothing.

    Raises insufficient_scope, not_found, invalid past the newest entry.
    """
    actor.need("messages:read")
    row = chat_of(actor, text)
    if cursor > row.head:
        raise invalid("cursor", f"The newest entry is {row.head}.")
    with db.write():
        chat_sql.advance(actor.identity, row.id, cursor)
    return chat_of(actor, ids.show("con", row.id))


# -- who may write ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody is about to write: a room, or a direct chat with another."""

    room: UUID | None
    other: Person | None

    @property
    def key(self) -> str:
        """The same text for the same place, however a call named it."""
        return self.room.hex if self.room is not None else str(self.other and self.other.number)


def place_of(actor: Actor, text: str) -> Place:
    """Where `text`, a `con_…` or a `{who}`, leads one who wants to write there. Raises not_found."""
    if not text.startswith("con_"):
        other = find(text)
        if other is None:
            raise not_found("identity")
        return Place(None, other)
    row = chat_of(actor, text)
    if row.kind != Chat.Kind.DIRECT:
        return Place(row.id, None)
    other = None if row.other is None else find(str(row.other.number))
    if other is None:
        raise absent()
    return Place(None, other)


@dataclass(frozen=True, slots=True)
class Door:
    """The locked chat to write in; with a `refusal`, what was stored all the same is to be committed."""

    chat: UUID
    refusal: DomainError | None
    events: list[Event]


def lock(actor: Actor, place: Place) -> contacts_sql.ChatRow | None:
    """Lock the chat of a place until commit, first in `db.write()`; None when a pair has none yet."""
    if place.room is not None:
        return contacts_sql.lock_chat(place.room)
    assert place.other is not None  # noqa: S101  one of the two
    return contacts.lock(actor, place.other)


def enter(actor: Actor, place: Place, note: str, locked: contacts_sql.ChatRow | None) -> Door:
    """The rules of writing there, under the lock: membership in a room, the contact in a direct chat.

    Raises not_found when the actor is not a member any more, rate_limited.
    """
    if place.room is not None:
        if not Member.objects.filter(
            chat=place.room, identity=actor.identity, state=Member.State.MEMBER
        ).exists():
            raise absent()
        return Door(place.room, None, [])
    assert place.other is not None  # noqa: S101
    door = contacts.enter(actor, place.other, notes.first_line(note), locked)
    return Door(door.chat, door.refusal, door.events)
