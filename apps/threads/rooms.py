"""What is done in rooms, told to who is in them: each act is one entry of the room and its news."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from apps.contacts import rooms
from apps.contacts.models import Chat, Invite
from apps.core import db, idempotency, ids
from apps.core.actor import Actor
from apps.core.errors import DomainError, invalid, not_found
from apps.identities.queries import Person, find
from apps.identities.search_text import fold
from apps.inbox.actions import Event, publish
from apps.threads import chats, entries
from apps.threads.chat_sql import ChatRow

MAX_INVITED = 10


def make(
    actor: Actor,
    topic: str,
    visibility: str,
    invite: list[str],
    client_id: str | None,
) -> tuple[ChatRow, bool]:
    """Make a room, ask up to 10 others into it; the room, and whether an earlier call made it.

    Raises insufficient_scope, not_found for somebody to invite, invalid, what `rooms.invite` raises, rate_limited,
    quota_exceeded, idempotency_conflict.
    """
    actor.need("messages:write")
    if len(invite) > MAX_INVITED:
        raise invalid("invite", f"At most {MAX_INVITED} are invited with one call.")
    people = [_person(who, f"invite[{place}]") for place, who in enumerate(invite)]
    content = idempotency.content_hash(topic, visibility, invite)
    with db.write():
        subject = None
        if client_id is not None:
            subject = idempotency.find(actor.identity, "room", client_id, content)
        if subject is None:
            chat = rooms.make(actor, topic, visibility, [other.number for other in people])
            if client_id is not None:
                idempotency.keep(actor.identity, "room", client_id, content, chat.pk.hex)
            room = rooms.of_member(actor, chat.pk)
            entries.append(chat.pk, actor, "room.joined", about=_about(actor))
            events: list[Event] = []
            for place, other in enumerate(people):
                events += _invite(actor, room, other, "", f"invite[{place}]")[1]
            publish(events)
            subject, duplicate = chat.pk.hex, False
        else:
            duplicate = True
    return chats.chat_of(actor, ids.show("con", UUID(subject))), duplicate


def change(actor: Actor, chat: str, *, topic: str | None, visibility: str | None) -> ChatRow:
    """Change a room's topic or who may join it. Raises not_found, not_a_room, not_owner."""
    actor.need("messages:write")
    row = chats.chat_of(actor, chat)
    with db.write():
        room = rooms.of_member(actor, row.id)
        rooms.own(room)
        changed = {}
        if topic is not None and topic != room.chat.topic:
            changed = {"topic": topic, "search_text": fold(topic)}
        if visibility is not None:
            changed["visibility"] = visibility
        if changed:
            Chat.objects.filter(pk=row.id).update(**changed)
            about = {"topic": topic or room.chat.topic, "visibility": visibility or room.chat.visibility}
            publish(entries.news(entries.append(row.id, actor, "room.topic", about=about)))
    return chats.chat_of(actor, ids.show("con", row.id))


def join(actor: Actor, chat: str) -> ChatRow:
    """Come into a public room; again changes nothing. Raises not_found, room_full, quota_exceeded."""
    actor.need("messages:write")
    id = ids.read("con", chat)
    if id is None:
        raise chats.absent()
    with db.write():
        if rooms.join(actor, rooms.open_to_all(actor, id)):
            publish(entries.news(entries.append(id, actor, "room.joined", about=_about(actor))))
    return chats.chat_of(actor, chat)


def leave(actor: Actor, chat: str) -> None:
    """Leave a room. Raises not_found, not_a_room."""
    actor.need("messages:write")
    row = chats.chat_of(actor, chat)
    with db.write():
        rooms.leave(rooms.of_member(actor, row.id))
        publish(entries.news(entries.append(row.id, actor, "room.left", about=_about(actor))))


def remove(actor: Actor, chat: str, who: str) -> ChatRow:
    """Take somebody out of one's room; it may come back when it is invited.

    Raises not_found, not_a_room, not_owner, invalid.
    """
    actor.need("messages:write")
    row = chats.chat_of(actor, chat)
    other = _person(who, "who")
    with db.write():
        room = rooms.of_member(actor, row.id)
        rooms.remove(actor, room, other)
        entry = entries.append(row.id, actor, "room.removed", about={"identity": other.ref.show()})
        publish(entries.news(entry, also=[other.number]))
    return chats.chat_of(actor, ids.show("con", row.id))


def invite(actor: Actor, chat: str, who: str, note: str) -> Invite:
    """Ask somebody into a room. Raises not_found, not_a_room and what `rooms.invite` raises."""
    actor.need("messages:write")
    row = chats.chat_of(actor, chat)
    other = _person(who, "who")
    with db.write():
        made, events = _invite(actor, rooms.of_member(actor, row.id, other.number), other, note, "who")
        publish(events)
    return made


def _invite(
    actor: Actor, room: rooms.Room, other: Person, note: str, field: str
) -> tuple[Invite, list[Event]]:
    with _about_field(field):
        invited = rooms.invite(actor, room, other, note)
    events = [Event(other.number, "room.invited", invited.invite.pk.hex)] if invited.seen else []
    if invited.entered:
        entry = entries.append(room.chat.pk, actor, "room.joined", about={"identity": other.ref.show()})
        events += entries.news(entry)
    invited.invite.refresh_from_db()
    return invited.invite, events


def answer(actor: Actor, id: UUID, *, accept: bool) -> Invite:
    """Accept or decline an invitation. Raises not_found, invite_answered, room_full, quota_exceeded."""
    actor.need("contacts")
    with db.write():
        answered, chat = rooms.answer(actor, id, accept=accept)
        if accept:
            publish(entries.news(entries.append(chat.pk, actor, "room.joined", about=_about(actor))))
    return answered


def load_removed(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The inbox's loader of `room.removed`: the entry for the members, no more than the chat for who was removed."""
    shown = entries.load(actor, subjects)
    left = [UUID(subject) for subject in subjects if subject not in shown]
    for id, chat in entries.about(actor.identity, left):
        shown[id.hex] = {"message": None, "chat": ids.show("con", chat)}
    return shown


def _about(actor: Actor) -> dict[str, Any]:
    return {"identity": actor.ref.show()}


def _person(who: str, field: str) -> Person:
    with _about_field(field):
        other = find(who)
        if other is None:
            raise not_found("identity")
        return other


@contextmanager
def _about_field(field: str) -> Iterator[None]:
    """Name the field that a refusal is about, unless it does."""
    try:
        yield
    except DomainError as error:
        error.field = error.field or field
        raise
