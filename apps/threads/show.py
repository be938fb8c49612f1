"""Threads and messages as JSON."""

from __future__ import annotations

from typing import Any

from apps.core import ids, times
from apps.threads.parts import text_of
from apps.threads.sql import EntryRow, ThreadRow


def thread_json(row: ThreadRow, viewer: int) -> dict[str, Any]:
    """A thread as `viewer`, who is part of it, sees it."""
    leased = row.lease_until is not None and row.lease_until > times.now()
    return {
        "id": ids.show("thr", row.id),
        "chat": ids.show("con", row.chat),
        "asker": row.asker.show(),
        "assignee": row.assignee.show(),
        "role": "asker" if row.asker.number == viewer else "assignee",
        "state": row.state,
        "context": row.context,
        "generation": row.generation,
        "parent": None if row.parent is None else ids.show("thr", row.parent),
        "hops": row.hops,
        "lease": {"worker": row.lease_owner, "until": times.show(row.lease_until)}
        if leased and row.lease_until is not None
        else None,
        "attempt": row.attempt,
        "created_at": times.show(row.created_at),
        "state_at": times.show(row.state_at),
        "activity_at": times.show(row.activity_at),
        "expires_at": times.show(row.expires_at),
    }


def message_json(entry: EntryRow, thread: ThreadRow) -> dict[str, Any]:
    """An entry of a thread; a pure change of state has no parts."""
    return {
        "id": ids.show("msg", entry.id),
        "thread": ids.show("thr", thread.id),
        "from": None if entry.actor is None else str(entry.actor),
        "role": "asker" if entry.actor == thread.asker.number else "assignee",
        "text": text_of(entry.parts),
        "parts": entry.parts,
        "state": entry.state,
        "of": None if entry.of is None else ids.show("msg", entry.of),
        "last": entry.last,
        "metadata": entry.metadata,
        "message_id": entry.message_id,
        "generation": entry.cursor,
        "created_at": times.show(entry.created_at),
    }
