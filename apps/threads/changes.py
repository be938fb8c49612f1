"""One change of a thread: the entry it stores, how the thread stands after it, and who is told.

All under the chat's lock, which the actions take.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.core import ids, times, wake
from apps.core.strict_json import dumps
from apps.inbox.actions import Event, publish
from apps.threads import sql
from apps.threads.models import State
from apps.threads.parts import Part
from apps.threads.sql import EntryRow, ThreadRow


@dataclass(frozen=True, slots=True)
class Text:
    """A message on its way in. `client_id` and `retry_hash` are the two ways to know a repeat."""

    parts: list[Part]
    metadata: dict[str, Any] | None = None
    client_id: str | None = None
    message_id: str | None = None
    retry_hash: bytes | None = None

    @property
    def size(self) -> int:
        """How many bytes of JSON it adds to its thread."""
        return len(dumps(self.parts)) + (0 if self.metadata is None else len(dumps(self.metadata)))


@dataclass(frozen=True, slots=True)
class Reply:
    """What only an assignee's message may carry."""

    state: str | None
    attempt: int | None
    of: UUID | None
    last: bool | None


def entry_of(
    actor: int | None,
    thread: ThreadRow,
    cursor: int,
    now: datetime,
    text: Text,
    state: str | None,
    reply: Reply | None = None,
) -> EntryRow:
    """What `actor` (None: the clock) adds to a thread at a cursor; without parts a pure change of state."""
    return EntryRow(
        id=ids.new(),
        thread=thread.id,
        cursor=cursor,
        actor=actor,
        kind="message" if text.parts else "event",
        of=reply.of if reply else None,
        last=reply.last if reply else None,
        parts=text.parts,
        state=state,
        metadata=text.metadata,
        message_id=text.message_id,
        created_at=now,
    )


def moved(thread: ThreadRow, entry: EntryRow, state: str | None) -> ThreadRow:
    """The thread after an entry, its state set to `state` unless None; a state that ends work ends the lease."""
    row = replace(
        thread,
        generation=entry.cursor,
        activity_at=entry.created_at,
        expires_at=expiry(entry.created_at),
    )
    if state is None:
        return row
    row = replace(row, state=state, state_at=entry.created_at)
    return row if state == State.WORKING else replace(row, lease_owner="", lease_until=None)


def change(thread: ThreadRow, state: State, actor: int | None) -> tuple[ThreadRow, EntryRow]:
    """Store a change of state that comes without a message; who is told follows from `events`."""
    cursor = sql.next_cursor(thread.chat)
    entry = entry_of(actor, thread, cursor, times.now(), Text([]), state.value)
    changed = moved(thread, entry, state.value)
    sql.insert_entry(thread.chat, entry, "thread.state", None, None)
    sql.update_thread(changed)
    return changed, entry


def set_state(thread: ThreadRow, state: State, actor: int | None) -> ThreadRow:
    """Store a change of state and tell of it, last in the transaction; the thread after it."""
    changed, entry = change(thread, state, actor)
    tell(changed, entry, "thread.state", actor)
    return changed


def tell(thread: ThreadRow, entry: EntryRow, type: str, actor: int | None) -> None:
    """Publish one change, last in the transaction."""
    publish(events(thread, entry, type, actor))


def events(thread: ThreadRow, entry: EntryRow, type: str, actor: int | None) -> list[Event]:
    """News for everyone in the thread but who made it; also wakes who watches the thread."""
    wake.wake([f"thread:{thread.id.hex}"])
    sides = (thread.asker.number, thread.assignee.number)
    return [Event(number, type, entry.id.hex) for number in sides if number != actor]


def expiry(moment: datetime) -> datetime:
    """When a thread ends that nobody adds to after `moment`."""
    return moment + timedelta(days=settings.RELAYGER.thread_days)
