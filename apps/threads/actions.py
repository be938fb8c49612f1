"""Asking, answering, working, canceling: every change of a thread.

Each is one transaction under the chat's lock, and each stores one entry, raises the inbox of the other side
last, and wakes who waits once it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from apps.contacts import actions as contacts
from apps.core import db, idempotency, ids, limits, times
from apps.core.actor import Actor, Ref
from apps.core.errors import Code, DomainError, invalid
from apps.identities.queries import Person
from apps.inbox.actions import Event, publish
from apps.threads import changes, file_parts, guard, leases, sealed, sql
from apps.threads.changes import Reply, Text
from apps.threads.models import FINAL, NEEDS_ASKER, State
from apps.threads.parts import Part, check_metadata, first_line
from apps.threads.queries import absent
from apps.threads.sql import EntryRow, ThreadRow

MAX_MESSAGES = 1000
MAX_BYTES = 4 << 20
MAX_CONTEXT = 128
MAX_NOTE = 500
SETTABLE = frozenset(
    {State.WORKING, State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.ANSWERED, State.FAILED, State.DECLINED}
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Said:
    """What a message made: the thread as it stands now, the entry, and whether it was there already."""

    thread: ThreadRow
    entry: EntryRow
    duplicate: bool


# -- asking -------------------------------------------------------------------------------------------------


def ask(
    actor: Actor,
    other: Person,
    *,
    parts: list[Part],
    context: str | None = None,
    metadata: dict[str, Any] | None = None,
    parent: UUID | None = None,
    client_id: str | None = None,
    message_id: str | None = None,
    retry_hash: bytes | None = None,
) -> Said:
    """Open a thread with `other`, who becomes its assignee.

    Raises contact_requested, contact_required or contact_declined when they are not friends (the request that
    contact_requested speaks of is stored), invalid, sealed_members, insufficient_scope, loop_guard, rate_limited,
    idempotency_conflict.
    """
    actor.need("messages:write")
    if other.number == actor.identity:
        raise invalid("to", "A thread is between two identities.", next="Ask somebody else.")
    if context is not None and not 1 <= len(context) <= MAX_CONTEXT:
        raise invalid("context", f"Must be a text of 1 to {MAX_CONTEXT} characters.")
    with guard.told(actor):
        _count(actor, other)
    text = Text(parts, check_metadata(metadata), client_id, message_id, retry_hash)
    key = idempotency.content_hash(other.number, parts, context, metadata, parent and parent.hex)
    made = _once_more(lambda: _ask(actor, other, text, context, parent, key))
    if isinstance(made, DomainError):
        raise made
    return made


def _ask(
    actor: Actor, other: Person, text: Text, context: str | None, parent: UUID | None, key: bytes
) -> Said | DomainError:
    with db.write():
        chat = contacts.lock(actor, other)
        # A repeat returns what the first call made, whatever became of the contact since.
        earlier = _earlier(actor, chat.id if chat else None, "ask", text, key)
        if earlier is not None:
            return earlier
        door = contacts.enter(actor, other, first_line(text.parts, MAX_NOTE), chat)
        if door.refusal is not None:
            publish(door.events)
            return door.refusal
        sealed.check(actor, door.chat, text.parts)
        text = replace(text, parts=file_parts.filled(actor, door.chat, text.parts))
        thread, entry = _opened(actor, other, door.chat, text, context, parent)
        sql.insert_thread(thread)
        sql.insert_entry(thread.chat, entry, "thread.opened", text.client_id, text.retry_hash)
        _keep(actor, "ask", text, key, entry)
        publish([*door.events, Event(other.number, "thread.opened", entry.id.hex)])
    return Said(thread, entry, duplicate=False)


def _opened(
    actor: Actor, other: Person, chat: UUID, text: Text, context: str | None, parent: UUID | None
) -> tuple[ThreadRow, EntryRow]:
    hops = 0 if parent is None else _hops(actor, parent)
    now = times.now()
    cursor = sql.next_cursor(chat)
    thread = ThreadRow(
        id=ids.new(),
        chat=chat,
        asker=actor.ref,
        assignee=other.ref,
        state=State.OPEN.value,
        context=context or ids.new().hex,
        generation=cursor,
        messages=1,
        size=text.size,
        parent=parent,
        hops=hops,
        lease_owner="",
        lease_until=None,
        attempt=0,
        created_at=now,
        state_at=now,
        activity_at=now,
        expires_at=changes.expiry(now),
    )
    return thread, changes.entry_of(actor.identity, thread, cursor, now, text, state=None)


def _hops(actor: Actor, parent: UUID) -> int:
    """One hop more than the thread that made the actor ask. Raises invalid, loop_guard."""
    above = sql.thread(actor.identity, parent, assignee=actor.identity)
    if above is None:
        raise invalid("parent", "Must be a thread that is assigned to you.")
    most: int = settings.RELAYGER.max_hops
    if above.hops >= most:
        raise DomainError(
            Code.LOOP_GUARD,
            f"This question has gone through {most} agents already.",
            field="parent",
            next="Answer with what is known, or ask a person.",
        )
    return above.hops + 1


# -- saying -------------------------------------------------------------------------------------------------


def say(
    actor: Actor,
    thread: UUID,
    *,
    parts: list[Part],
    state: str | None = None,
    attempt: int | None = None,
    of: UUID | None = None,
    last: bool | None = None,
    metadata: dict[str, Any] | None = None,
    client_id: str | None = None,
    message_id: str | None = None,
    retry_hash: bytes | None = None,
    assignee: int | None = None,
) -> Said:
    """Add a message to a thread: the assignee's sets a state (answered unless told otherwise), the asker's none.

    `assignee` narrows the look-up to threads that one identity answers. Raises not_found, thread_closed,
    thread_full, not_assignee for a state from the asker, lease_lost for a stale attempt, invalid,
    sealed_members, idempotency_conflict.
    """
    actor.need("messages:write")
    text = Text(parts, check_metadata(metadata), client_id, message_id, retry_hash)
    key = idempotency.content_hash(thread.hex, parts, state, of and of.hex, last, metadata)
    return _once_more(lambda: _say(actor, thread, text, key, Reply(state, attempt, of, last), assignee))


def _say(actor: Actor, id: UUID, text: Text, key: bytes, reply: Reply, assignee: int | None) -> Said:
    with guard.told(actor), db.write():
        thread = _locked(actor, id, assignee)
        earlier = _earlier(actor, thread.chat, "say", text, key)
        if earlier is not None:
            return earlier
        _still_open(thread)
        asking = actor.identity == thread.asker.number
        state = _after_asker(thread, reply) if asking else _after_assignee(thread, reply)
        if asking:
            _count(actor, thread.assignee)
        if state not in FINAL:  # what ends a thread is taken by a full one too
            _take_more(thread, text)
        sealed.check(actor, thread.chat, text.parts)
        text = replace(text, parts=file_parts.filled(actor, thread.chat, text.parts))
        now = times.now()
        entry = changes.entry_of(
            actor.identity, thread, sql.next_cursor(thread.chat), now, text, state, reply
        )
        changed = replace(
            changes.moved(thread, entry, state),
            messages=thread.messages + 1,
            size=thread.size + text.size,
        )
        sql.insert_entry(thread.chat, entry, "thread.message", text.client_id, text.retry_hash)
        sql.update_thread(changed)
        _keep(actor, "say", text, key, entry)
        changes.tell(changed, entry, "thread.message", actor.identity)
    return Said(changed, entry, duplicate=False)


def _after_asker(thread: ThreadRow, reply: Reply) -> str | None:
    """The state an asker's message sets, None when it changes none. Raises not_assignee."""
    if reply != Reply(None, None, None, None):
        raise DomainError(
            Code.NOT_ASSIGNEE,
            "Only the assignee sets a state, an attempt, of or last.",
            next="Send the message without them, or cancel the thread.",
        )
    return State.WORKING.value if thread.state in NEEDS_ASKER else None


def _after_assignee(thread: ThreadRow, reply: Reply) -> str | None:
    """The state an assignee's message sets, None when it stands so already. Raises invalid, lease_lost."""
    state = reply.state or State.ANSWERED.value
    if state not in SETTABLE:
        raise invalid("state", f"Must be one of {', '.join(sorted(SETTABLE))}.")
    leases.check(thread, reply.attempt)
    if reply.of is not None:
        _check_chunk(thread, reply.of)
    return None if state == thread.state == State.WORKING else state


def _check_chunk(thread: ThreadRow, of: UUID) -> None:
    found = [entry for other, entry in sql.entries(thread.assignee.number, [of]) if other.id == thread.id]
    if not found or found[0].actor != thread.assignee.number or found[0].of is not None or not found[0].parts:
        raise invalid("of", "Must be the first message of this reply.")


# -- working and canceling ----------------------------------------------------------------------------------


def work(
    actor: Actor, thread: UUID, *, worker: str | None = None, seconds: int = 300, attempt: int | None = None
) -> leases.Leased:
    """Say that the actor works on a thread; with a worker's name, take or renew its lease for `seconds`.

    Raises not_found, not_assignee, thread_closed, leased while another holds it, lease_lost for a stale attempt.
    """
    actor.need("messages:write")
    with db.write():
        row = _locked(actor, thread, None)
        if actor.identity != row.assignee.number:
            raise DomainError(Code.NOT_ASSIGNEE, "Only the assignee works on a thread.")
        _still_open(row)
        if worker is not None:
            row = leases.take(row, worker, seconds, attempt)
        else:
            leases.check(row, attempt)
        if row.state == State.WORKING:
            sql.update_thread(row)
        else:
            row = changes.set_state(row, State.WORKING, actor.identity)
    return leases.Leased.of(row, worker)


def cancel(actor: Actor, thread: UUID, *, assignee: int | None = None) -> ThreadRow:
    """End a thread that the actor asked. Raises not_found, not_asker, thread_closed."""
    actor.need("messages:write")
    with db.write():
        row = _locked(actor, thread, assignee)
        if actor.identity != row.asker.number:
            raise DomainError(Code.NOT_ASKER, "Only the asker cancels a thread.", next="Decline it instead.")
        _still_open(row)
        return changes.set_state(row, State.CANCELED, actor.identity)


def expire_due(most: int = 100) -> int:
    """Expire up to `most` threads that nobody touched for their time; how many there were. Safe to run twice."""
    due = sql.due(times.now(), most)
    for id in due:
        with db.write():
            if not sql.lock_chat_of(None, id):
                continue
            row = sql.any_thread(id)
            if row is not None and row.state not in FINAL and row.expires_at <= times.now():
                changes.set_state(row, State.EXPIRED, None)
    return len(due)


def close_between(me: int, others: list[int]) -> list[Event]:
    """End every live thread between `me`, who blocks or removes, and `others`; what to publish.

    What I asked is canceled, what I was asked is declined. Inside a transaction that holds the chats' locks.
    """
    events: list[Event] = []
    for row in sql.live_between(me, others):
        state = State.CANCELED if row.asker.number == me else State.DECLINED
        changed, entry = changes.change(row, state, me)
        events += changes.events(changed, entry, "thread.state", me)
    return events


# -- what they share ----------------------------------------------------------------------------------------


def _once_more(action: Callable[[], T]) -> T:
    """Run a transaction again when it lost a race for a unique key: then it finds what the winner stored."""
    try:
        return action()
    except IntegrityError:
        return action()


def _locked(actor: Actor, id: UUID, assignee: int | None) -> ThreadRow:
    """A thread of the actor's under its chat's lock (two statements). Raises not_found."""
    if not sql.lock_chat_of(actor.identity, id):
        raise absent()
    row = sql.thread(actor.identity, id, assignee)
    if row is None:
        raise absent()
    return row


def _still_open(thread: ThreadRow) -> None:
    """Raise thread_closed when the thread's state is final."""
    if thread.state in FINAL:
        raise DomainError(
            Code.THREAD_CLOSED,
            f"This thread is {thread.state}; nothing is added to it.",
            next="Open a new thread.",
        )


def _take_more(thread: ThreadRow, text: Text) -> None:
    """Raise thread_full unless the thread has room for another message."""
    if thread.messages >= MAX_MESSAGES or thread.size + text.size > MAX_BYTES:
        raise DomainError(
            Code.THREAD_FULL,
            f"A thread has at most {MAX_MESSAGES} messages and {MAX_BYTES} bytes of JSON.",
            next="End this one, and open a new one.",
        )


def _count(asker: Actor, assignee: Person | Ref) -> None:
    """Count what one asks of another, so that nobody alone takes all of an agent's time.

    Raises rate_limited, loop_guard between two agents.
    """
    limits.hit("ask", f"{asker.identity}:{assignee.number}")
    guard.count(asker, assignee, None)


def _earlier(actor: Actor, chat: UUID | None, action: str, text: Text, key: bytes) -> Said | None:
    """What an earlier, equal call stored, looked up under the chat's lock."""
    entry: UUID | None = None
    if text.client_id is not None:
        subject = idempotency.find(actor.identity, action, text.client_id, key)
        entry = None if subject is None else UUID(subject)
    retry: int = settings.RELAYGER.retry_seconds
    if entry is None and chat is not None and text.retry_hash is not None and retry:
        entry = sql.retried(chat, actor.identity, text.retry_hash, times.now() - timedelta(seconds=retry))
    found = [] if entry is None else sql.entries(actor.identity, [entry])
    return Said(*found[0], duplicate=True) if found else None


def _keep(actor: Actor, action: str, text: Text, key: bytes, entry: EntryRow) -> None:
    if text.client_id is not None:
        idempotency.keep(actor.identity, action, text.client_id, key, entry.id.hex)
