"""Asking, answering, removing and blocking: who may write to whom.

Every pair has two directed rows or fewer. Who declined or removed keeps none while the other's says `declined`,
so exactly one side is closed and the side without a row reopens, by asking. A blocked one's request is a row of
its own alone. All rules run under the lock of the pair's chat (`sql` tells the order of locks).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from apps.contacts import notes, queries, refusals, sql
from apps.contacts.models import Block, Chat, Contact, Invite
from apps.contacts.queries import Seen
from apps.contacts.sql import ChatRow
from apps.core import audit, db, limits, times
from apps.core.actor import Actor
from apps.core.errors import DomainError, invalid, not_found
from apps.identities.queries import Person, find
from apps.inbox.actions import Event, publish

State = Contact.State

# A refused caller has no chat; a number that no chat has keeps the type simple for those who may write.
NOWHERE = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Door:
    """Whether an actor may write to another, and where.

    With a `refusal` nothing may be written and `chat` is meaningless; what was stored (a request) is to be
    committed all the same. `events` are for the caller's one `publish`.
    """

    chat: UUID
    refusal: DomainError | None
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Changed:
    """A contact after a request, and whether the request created or changed anything."""

    contact: Seen
    created: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the rules of a request came to: my state now, or a refusal."""

    state: str | None
    chat: UUID = NOWHERE
    refusal: DomainError | None = None
    events: list[Event] = field(default_factory=list)
    stored: bool = False


def known(actor: Actor, who: str, name: str = "who") -> Person:
    """The identity a contact call is about.

    Raises insufficient_scope, not_found (absent, deleted and suspended alike), invalid for oneself.
    """
    actor.need("contacts")
    other = find(who)
    if other is None:
        raise not_found("identity")
    if other.number == actor.identity:
        raise invalid(name, "You need no contact with yourself.")
    return other


# -- asking -------------------------------------------------------------------------------------------------


def lock(actor: Actor, other: Person) -> ChatRow | None:
    """Lock the chat with `other` until commit, first in `db.write()`; None when there is none yet."""
    return sql.lock_pair(actor.identity, other.number)


def enter(actor: Actor, other: Person, note: str, locked: ChatRow | None = None) -> Door:
    """Lock the pair's chat and apply the contact rules to one who wants to write; call it first in `db.write()`.

    `locked` is what `lock` gave, if it was called. Among friends two statements, with the one of `lock`. Otherwise
    it accepts a waiting request, or asks with the first line of `note`. The refusal (contact_requested,
    contact_required, contact_declined, blocked_by_you) is returned, not raised, so that the caller commits the
    request and raises it then. Raises rate_limited.
    """
    if other.number == actor.identity:
        return Door(_own_chat(actor.identity), None, [])
    asked = _ask(actor, other, notes.first_line(note), locked)
    refusal = asked.refusal
    if refusal is None and asked.state == State.REQUESTED:
        refusal = refusals.requested()
    return Door(asked.chat, refusal, asked.events)


def request(actor: Actor, who: str, note: str) -> Changed:
    """Ask `who` to be a contact; to one who asked me this accepts.

    Raises insufficient_scope, not_found, invalid (`to`, `note`), blocked_by_you, contact_declined, rate_limited.
    """
    other = known(actor, who, "to")
    note = notes.check(note)
    with db.write():
        asked = _ask(actor, other, note)
        if asked.refusal is not None:
            raise asked.refusal
        seen = queries.contact(actor.identity, other)
        publish(asked.events)
    return Changed(seen, asked.stored)


def _own_chat(me: int) -> UUID:
    chat = sql.lock_pair(me, me)
    if chat is None:
        chat, made = sql.make_pair(me, me)
        if made:
            sql.add_members(chat.id, [me])
    return chat.id


def _ask(actor: Actor, other: Person, note: str, locked: ChatRow | None = None) -> _Asked:
    """The rules of a request, under the lock of the pair's chat, which is made for what has to be stored."""
    chat = locked or sql.lock_pair(actor.identity, other.number)
    if chat is not None:
        return _ask_in(actor, other, note, chat.id)
    if "contacts" not in actor.scopes:
        return _Asked(None, refusal=refusals.required())
    chat, made = sql.make_pair(actor.identity, other.number)
    asked = _ask_in(actor, other, note, chat.id)
    if made and asked.stored:
        sql.add_members(chat.id, [actor.identity, other.number])
    elif made:
        sql.drop_pair(chat.id)
    return asked


def _ask_in(actor: Actor, other: Person, note: str, chat: UUID) -> _Asked:
    me, them = actor.identity, other.number
    state = sql.state_of(me, them)
    if state == State.FRIEND:
        return _Asked(state, chat)
    i_block, they_block = sql.blocks(me, them)
    if i_block:
        return _Asked(state, refusal=refusals.blocked_by_you())
    if state == State.REQUESTED:
        return _Asked(state, chat)
    if state == State.DECLINED:
        return _Asked(state, refusal=refusals.declined())
    if "contacts" not in actor.scopes:
        return _Asked(state, refusal=refusals.required())
    if state == State.INCOMING:
        return _Asked(State.FRIEND, chat, events=_befriend(me, them, chat), stored=True)
    return _ask_stranger(actor, other, note, chat, unseen=they_block)


def _ask_stranger(actor: Actor, other: Person, note: str, chat: UUID, *, unseen: bool) -> _Asked:
    """A first request: their policy decides. `unseen` when they block me: nothing may show on their side."""
    me, them = actor.identity, other.number
    if not unseen and (other.accept == "any" or (other.accept == "shared" and sql.share_room(me, them))):
        limits.hit("contact", me)
        _put([(me, them, State.FRIEND), (them, me, State.FRIEND)], note)
        return _Asked(State.FRIEND, chat, events=[_event(them, "accepted", me)], stored=True)
    if other.receive == "contacts":
        return _Asked(None, refusal=refusals.declined())
    limits.hit("contact", me)
    rows = [(me, them, State.REQUESTED)]
    events = []
    if not unseen:
        rows.append((them, me, State.INCOMING))
        events = [_event(them, "requested", me)]
    _put(rows, note)
    Invite.objects.bulk_create(
        [Invite(chat_id=chat, sender_id=me, receiver_id=them, note=note)], ignore_conflicts=True
    )
    return _Asked(State.REQUESTED, chat, events=events, stored=True)


# -- answering ----------------------------------------------------------------------------------------------


def accept(actor: Actor, who: str) -> Seen:
    """Accept `who`'s request; on a friend it changes nothing. Raises not_incoming, and what `known` raises."""
    other = known(actor, who)
    me = actor.identity
    with db.write():
        chat, state = _lock(me, other.number)
        if state not in (State.INCOMING, State.FRIEND):
            raise refusals.not_incoming()
        if state == State.INCOMING:
            publish(_befriend(me, other.number, chat))
    return queries.contact(me, other)


def decline(actor: Actor, who: str) -> Seen:
    """Decline `who`'s request. Raises not_incoming, already_friend, and what `known` raises."""
    other = known(actor, who)
    with db.write():
        chat, state = _lock(actor.identity, other.number)
        if state == State.FRIEND:
            raise refusals.already_friend()
        if state != State.INCOMING:
            raise refusals.not_incoming()
        publish(_decline(actor.identity, other.number, chat))
    return queries.contact(actor.identity, other)


def unblock(actor: Actor, who: str) -> Seen:
    """Take back my blocks of `who`'s account; requests that waited behind them come in now."""
    other = known(actor, who)
    me = actor.identity
    with db.write():
        numbers = sql.lock_account_pairs(me, other.number)
        taken_back, _ = Block.objects.filter(owner=me, other__account=other.account).delete()
        if taken_back:
            audit.record(actor, "contact.unblocked", other=str(other.number))
        mine, theirs = _rows(me, numbers)
        waiting = [
            number
            for number in sorted(theirs)
            if theirs[number].state == State.REQUESTED and _closed(mine.get(number))
        ]
        for number in waiting:
            _put([(me, number, State.INCOMING)], theirs[number].note)
        publish([_event(me, "requested", number) for number in waiting])
    return queries.contact(me, other)


def _closed(row: Contact | None) -> bool:
    return row is None or row.state == State.DECLINED


# -- ending, as parts of what spans contacts and threads ------------------------------------------------------


def remove_within(actor: Actor, other: Person) -> list[Event]:
    """End a friendship, withdraw my request or decline theirs, inside `db.write()`.

    Raises contact_declined when only they can reopen it, not_found when there is no contact.
    """
    me, them = actor.identity, other.number
    chat, state = _lock(me, them)
    match state:
        case State.FRIEND:
            _close(me, [them])
            return [_event(them, "removed", me)]
        case State.REQUESTED:
            _withdraw(me, [them])
            return []
        case State.INCOMING:
            return _decline(me, them, chat)
        case State.DECLINED:
            raise refusals.declined()
    raise not_found("contact")


def block_within(actor: Actor, other: Person) -> tuple[list[Event], list[int]]:
    """Block `other`'s account, inside `db.write()` and before any other lock; again changes nothing.

    Returns the events, and the numbers of those who were friends until now: what is open between us ends.
    """
    me = actor.identity
    numbers = sql.lock_account_pairs(me, other.number)
    _, fresh = Block.objects.get_or_create(owner_id=me, other_id=other.number)
    if fresh:
        audit.record(actor, "contact.blocked", other=str(other.number))
    mine, _ = _rows(me, numbers)

    def those(state: State) -> list[int]:
        return sorted(number for number, row in mine.items() if row.state == state)

    friends = those(State.FRIEND)
    _close(me, friends)
    _withdraw(me, those(State.REQUESTED))
    # Theirs stays `requested` and its invite pending: they see what their own act explains.
    Contact.objects.filter(owner=me, other__in=those(State.INCOMING)).delete()
    return [_event(number, "removed", me) for number in friends], friends


# -- rows, all under the locks of their chats -----------------------------------------------------------------


def _lock(me: int, them: int) -> tuple[UUID, str | None]:
    """The pair's chat, locked, and my state; without a chat there is no contact."""
    chat = sql.lock_pair(me, them)
    return (NOWHERE, None) if chat is None else (chat.id, sql.state_of(me, them))


def _event(to: int, what: str, about: int) -> Event:
    return Event(to, f"contact.{what}", str(about))


def _put(rows: list[tuple[int, int, State]], note: str) -> None:
    """Set (owner, other, state) rows, whatever they were."""
    now = times.now()
    Contact.objects.bulk_create(
        [
            Contact(owner_id=owner, other_id=other, state=state, note=note, updated_at=now)
            for owner, other, state in rows
        ],
        update_conflicts=True,
        unique_fields=["owner", "other"],
        update_fields=["state", "note", "updated_at"],
    )


def _rows(me: int, numbers: list[int]) -> tuple[dict[int, Contact], dict[int, Contact]]:
    """My rows and theirs, each by the other's number."""
    mine = {row.other_id: row for row in Contact.objects.filter(owner=me, other__in=numbers)}
    theirs = {row.owner_id: row for row in Contact.objects.filter(owner__in=numbers, other=me)}
    return mine, theirs


def _befriend(me: int, them: int, chat: UUID) -> list[Event]:
    now = times.now()
    Contact.objects.filter(owner__in=(me, them), other__in=(me, them)).update(
        state=State.FRIEND, updated_at=now
    )
    _decide(chat, Invite.State.ACCEPTED)
    return [_event(them, "accepted", me)]


def _decline(me: int, them: int, chat: UUID) -> list[Event]:
    _close(me, [them])
    _decide(chat, Invite.State.DECLINED)
    return [_event(them, "declined", me)]


def _close(me: int, others: list[int]) -> None:
    """I keep no row of them, and theirs say declined."""
    if others:
        Contact.objects.filter(owner=me, other__in=others).delete()
        Contact.objects.filter(owner__in=others, other=me).update(
            state=State.DECLINED, updated_at=times.now()
        )


def _withdraw(me: int, others: list[int]) -> None:
    """Take back my requests; what they had of them goes too, a `declined` of an earlier time stays."""
    if others:
        Contact.objects.filter(owner=me, other__in=others).delete()
        Contact.objects.filter(owner__in=others, other=me, state=State.INCOMING).delete()
        Invite.objects.filter(
            sender=me, receiver__in=others, state=Invite.State.PENDING, chat__kind=Chat.Kind.DIRECT
        ).update(state=Invite.State.WITHDRAWN, decided_at=times.now())


def _decide(chat: UUID, state: Invite.State) -> None:
    Invite.objects.filter(chat=chat, state=Invite.State.PENDING).update(state=state, decided_at=times.now())
