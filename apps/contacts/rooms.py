"""Rooms: who is in them, who may come in, and who is shown the door.

All but `make` and the lists run inside a transaction that holds the room's lock (`of_member`, `of_invite`), so that
its limit of members holds whoever comes at once. What became of a room is told by `apps.threads.rooms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from apps.contacts import notes, refusals, sql
from apps.contacts.models import Block, Chat, Contact, Invite, Member
from apps.core import ids, limits, paging, times, wake
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid, not_found
from apps.core.paging import Page
from apps.identities.models import Identity
from apps.identities.queries import Person
from apps.identities.search_text import fold

State = Member.State
IN = State.MEMBER


@dataclass(frozen=True, slots=True)
class Room:
    """A locked room and, if the actor is in it, the actor's membership."""

    chat: Chat
    me: Member | None


# -- finding one, under its lock --------------------------------------------------------------------------------


def of_member(actor: Actor, id: UUID, *entering: int) -> Room:
    """Lock a room that the actor is in, and first who may enter it. Raises not_found, not_a_room."""
    room = _locked(actor, id, entering)
    if room.me is None or room.me.state != IN:
        raise not_found("chat")
    if room.chat.kind != Chat.Kind.ROOM:
        raise DomainError(Code.NOT_A_ROOM, "A direct chat has its two members and no topic.")
    return room


def open_to_all(actor: Actor, id: UUID) -> Room:
    """Lock a public room. Raises not_found for a private one, as for none."""
    room = _locked(actor, id, [actor.identity])
    if room.chat.kind != Chat.Kind.ROOM or room.chat.visibility != Chat.Visibility.PUBLIC:
        if room.me is not None and room.me.state == IN and room.chat.kind == Chat.Kind.ROOM:
            return room
        raise not_found("chat")
    return room


def _locked(actor: Actor, id: UUID, entering: Sequence[int]) -> Room:
    if entering:
        sql.lock_identities(entering)  # how many rooms they are in holds until commit
    sql.lock_chat(id)
    chat = Chat.objects.filter(pk=id).first()
    me = Member.objects.filter(chat=id, identity=actor.identity).first()
    if chat is None:
        raise not_found("chat")
    return Room(chat, me)


# -- coming in --------------------------------------------------------------------------------------------------


def make(actor: Actor, topic: str, visibility: str, invited: Sequence[int]) -> Chat:
    """Make a room with the actor as its owner, and lock who will be asked in. Raises rate_limited, quota_exceeded."""
    limits.hit("room", actor.identity)
    sql.lock_identities(sorted({actor.identity, *invited}))
    _check_rooms(actor.identity)
    chat = Chat.objects.create(
        kind=Chat.Kind.ROOM, topic=topic, visibility=visibility, search_text=fold(topic)
    )
    Member.objects.create(chat=chat, identity_id=actor.identity, role=Member.Role.OWNER)
    return chat


def join(actor: Actor, room: Room) -> bool:
    """Let the actor into a public room; False when it is in already.

    Raises not_found for one who was removed (only an invitation brings it back), room_full, quota_exceeded.
    """
    if room.me is not None and room.me.state == IN:
        return False
    if room.me is not None and room.me.state == State.REMOVED:
        raise not_found("chat")
    enter(room.chat, actor.identity)
    return True


def enter(chat: Chat, number: int) -> None:
    """Make an identity a member of a locked room; it sees what comes from now on.

    Raises room_full, quota_exceeded.
    """
    most: int = settings.RELAYGER.max_members
    if Member.objects.filter(chat=chat, state=IN).count() >= most:
        raise DomainError(Code.ROOM_FULL, f"The room has {most} members, as many as it may.")
    _check_rooms(number)
    head = Chat.objects.values_list("head", flat=True).get(pk=chat.pk)
    Member.objects.update_or_create(
        chat=chat,
        identity_id=number,
        defaults={
            "state": IN,
            "role": Member.Role.MEMBER,
            "joined_cursor": head,
            "read_cursor": head,
            "joined_at": times.now(),
        },
    )
    Invite.objects.filter(chat=chat, receiver=number, state=Invite.State.PENDING).update(
        state=Invite.State.ACCEPTED, decided_at=times.now()
    )


def _check_rooms(number: int) -> None:
    most: int = settings.RELAYGER.max_rooms
    if Member.objects.filter(identity=number, state=IN, chat__kind=Chat.Kind.ROOM).count() >= most:
        raise DomainError(
            Code.QUOTA_EXCEEDED, f"An identity is in at most {most} rooms.", next="Leave one first."
        )


# -- going ------------------------------------------------------------------------------------------------------


def leave(room: Room) -> None:
    """Take the actor out of its room; one that it owned goes to who has been there longest."""
    assert room.me is not None  # noqa: S101  `of_member` gave it
    owned = room.me.role == Member.Role.OWNER
    room.me.state, room.me.role = State.LEFT, Member.Role.MEMBER
    room.me.save(update_fields=["state", "role"])
    if owned:
        heir = Member.objects.filter(chat=room.chat, state=IN).order_by("joined_at", "pk").first()
        if heir is not None:
            heir.role = Member.Role.OWNER
            heir.save(update_fields=["role"])


def remove(actor: Actor, room: Room, other: Person) -> None:
    """Take another out of the actor's room. Raises not_owner, invalid for oneself, not_found."""
    own(room)
    if other.number == actor.identity:
        raise invalid("who", "You cannot remove yourself.", next="Leave with POST /v1/chats/{id}/leave.")
    gone = Member.objects.filter(chat=room.chat, identity=other.number, state=IN).update(state=State.REMOVED)
    if not gone:
        raise not_found("member")
    Invite.objects.filter(chat=room.chat, sender=other.number, state=Invite.State.PENDING).update(
        state=Invite.State.WITHDRAWN, decided_at=times.now()
    )
    wake.wake([f"inbox:{other.number}"])  # what waits for it looks again what it may see


def own(room: Room) -> None:
    """Raise not_owner unless the room is the actor's."""
    if room.me is None or room.me.role != Member.Role.OWNER:
        raise DomainError(Code.NOT_OWNER, "Only the owner of the room may do this.")


# -- invitations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Invited:
    """What came of an invitation: the row, whether it let the invited in at once, whether it is told of it."""

    invite: Invite
    entered: bool
    seen: bool


def invite(actor: Actor, room: Room, other: Person, note: str) -> Invited:
    """Ask another into a room; one whose policy accepts comes in at once.

    Who blocks the actor is not told, and the invitation stays pending. Raises already_member, blocked_by_you,
    contact_declined for one who takes nothing from strangers, quota_exceeded, room_full, rate_limited.
    """
    if Member.objects.filter(chat=room.chat, identity=other.number, state=IN).exists():
        raise DomainError(Code.ALREADY_MEMBER, "This identity is a member already.")
    i_block, they_block = sql.blocks(actor.identity, other.number)
    if i_block:
        raise refusals.blocked_by_you()
    friends = sql.state_of(actor.identity, other.number) == Contact.State.FRIEND
    sent = Invite.objects.filter(chat=room.chat, sender=actor.identity, receiver=other.number)
    # Who declined is asked again by friends alone.
    if not friends and (
        other.receive == Identity.Receive.CONTACTS or sent.filter(state=Invite.State.DECLINED).exists()
    ):
        raise refusals.declined()
    pending = sent.filter(state=Invite.State.PENDING).first()
    if pending is not None:
        return Invited(pending, entered=False, seen=False)
    _check_invites(actor)
    made = Invite.objects.create(
        chat=room.chat, sender_id=actor.identity, receiver_id=other.number, note=notes.check(note)
    )
    welcome = other.accept == Identity.Accept.ANY or (
        other.accept == Identity.Accept.SHARED and sql.share_room(actor.identity, other.number)
    )
    if welcome and not they_block:
        enter(room.chat, other.number)
        return Invited(made, entered=True, seen=True)
    return Invited(made, entered=False, seen=not they_block)


def _check_invites(actor: Actor) -> None:
    limits.hit("room", actor.identity)
    most: int = settings.RELAYGER.max_invites
    waiting = Invite.objects.filter(
        sender=actor.identity, state=Invite.State.PENDING, chat__kind=Chat.Kind.ROOM
    )
    if waiting.count() >= most:
        raise DomainError(
            Code.QUOTA_EXCEEDED,
            f"An identity has at most {most} invitations that wait for an answer.",
            next="Wait until some are answered.",
        )


def answer(actor: Actor, id: UUID, *, accept: bool) -> tuple[Invite, Chat]:
    """Accept or decline an invitation, under its room's lock.

    Raises not_found, invite_answered, room_full, quota_exceeded.
    """
    found = _to(actor).filter(pk=id).first()
    if found is None:
        raise not_found("invitation")
    sql.lock_identities([actor.identity])
    sql.lock_chat(found.chat_id)
    found.refresh_from_db()
    if found.state != Invite.State.PENDING:
        raise DomainError(Code.INVITE_ANSWERED, "This invitation was answered before.")
    if accept:
        enter(found.chat, actor.identity)
        found.refresh_from_db()
    else:
        found.state, found.decided_at = Invite.State.DECLINED, times.now()
        found.save(update_fields=["state", "decided_at"])
    return found, found.chat


def _to(actor: Actor) -> QuerySet[Invite]:
    """Invitations to rooms that the actor may see: not from those it blocks, nor from deleted ones."""
    blocked = Block.objects.filter(owner=actor.identity, other__account=OuterRef("sender__account"))
    return (
        Invite.objects.filter(receiver=actor.identity, chat__kind=Chat.Kind.ROOM, sender__deleted_at=None)
        .exclude(Exists(blocked))
        .select_related("chat", "sender")
    )


def invites(actor: Actor, limit: int, cursor: str | None) -> Page[Invite]:
    """A page of the invitations that wait for the actor's answer, newest first (one statement)."""
    actor.need("contacts")
    waiting = _to(actor).filter(state=Invite.State.PENDING)
    return paging.newest(waiting, "created_at", f"invites:{actor.identity}", limit, cursor)


def show(invite: Invite) -> dict[str, Any]:
    """An invitation as JSON."""
    return {
        "id": ids.show("inv", invite.pk),
        "chat": ids.show("con", invite.chat_id),
        "topic": invite.chat.topic,
        "from": invite.sender.ref.show(),
        "note": invite.note,
        "state": invite.state,
        "created_at": times.show(invite.created_at),
    }


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The inbox's loader: invitations by id (one statement)."""
    found = _to(actor).filter(pk__in=[UUID(subject) for subject in subjects])
    return {one.pk.hex: {"invite": show(one)} for one in found}
