"""Threads as tasks: the mapping of states, messages, replies and changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from apps.core import ids, times
from apps.threads.models import FINAL, NEEDS_ASKER, State
from apps.threads.parts import content_url
from apps.threads.sql import EntryRow, ThreadRow

Json = dict[str, Any]

HISTORY = 100  # messages shown when the caller left it to us
SETTLED = FINAL | NEEDS_ASKER  # nothing more comes unless the asker does something

STATES: dict[str, str] = {
    State.OPEN: "TASK_STATE_SUBMITTED",
    State.WORKING: "TASK_STATE_WORKING",
    State.INPUT_REQUIRED: "TASK_STATE_INPUT_REQUIRED",
    State.AUTH_REQUIRED: "TASK_STATE_AUTH_REQUIRED",
    State.ANSWERED: "TASK_STATE_COMPLETED",
    State.FAILED: "TASK_STATE_FAILED",
    State.EXPIRED: "TASK_STATE_FAILED",
    State.CANCELED: "TASK_STATE_CANCELED",
    State.DECLINED: "TASK_STATE_REJECTED",
}
# The agent's message that set one of these is shown with the status: what it asks, or why not.
_EXPLAINED = frozenset({State.INPUT_REQUIRED, State.AUTH_REQUIRED, State.FAILED, State.DECLINED})


_OURS = ("file", "version")  # of a part, and not of an A2A one


@dataclass(frozen=True, slots=True)
class Seen:
    """A thread as it stood at its generation, with its entries up to there, or the newest of them."""

    thread: ThreadRow
    entries: list[EntryRow]

    @classmethod
    def of(cls, thread: ThreadRow, entries: Iterable[EntryRow]) -> Seen:
        """The same from entries that may have been read a moment later than the thread."""
        return cls(thread, [entry for entry in entries if entry.cursor <= thread.generation])

    @property
    def settled(self) -> bool:
        """Whether it is final or needs the asker."""
        return self.thread.state in SETTLED


def task(seen: Seen, history: int | None, *, artifacts: bool | None = None) -> Json:
    """The Task. `history` is how many messages to show, None for the newest 100 and 0 for no such key.

    `artifacts` says whether that key stands; None: where there are any.
    """
    thread = seen.thread
    shown: Json = {"id": task_id(thread), "contextId": thread.context, "status": _status_of(seen)}
    if artifacts is not False:
        made = [_artifact(reply) for reply in _replies(seen)]
        if made or artifacts:
            shown["artifacts"] = made
    if history != 0:
        length = HISTORY if history is None else history
        shown["history"] = [_message(thread, said) for said in _whole(seen.entries)[-length:]]
    return shown


def updates(thread: ThreadRow, entry: EntryRow) -> list[Json]:
    """What one new entry is in a stream: the agent's reply, then the change of state."""
    found: list[Json] = []
    head = {"taskId": task_id(thread), "contextId": thread.context}
    if _is_reply(thread, entry):
        more = entry.of is not None
        found.append(
            {
                "artifactUpdate": {
                    **head,
                    "artifact": _artifact(entry),
                    "append": more,
                    "lastChunk": bool(entry.last) if more else entry.last is not False,
                }
            }
        )
    if entry.state is not None:
        found.append({"statusUpdate": {**head, "status": _status(thread, entry.state, entry)}})
    return found


def task_id(thread: ThreadRow) -> str:
    """The task's id."""
    return ids.show("thr", thread.id)


def _status_of(seen: Seen) -> Json:
    # In a state that is explained nothing can follow the entry that set it.
    last = seen.entries[-1] if seen.entries and seen.entries[-1].state == seen.thread.state else None
    return {**_status(seen.thread, seen.thread.state, last), "timestamp": times.show(seen.thread.state_at)}


def _status(thread: ThreadRow, state: str, entry: EntryRow | None) -> Json:
    shown: Json = {"state": STATES[state]}
    if entry is not None:
        if state in _EXPLAINED and _is_reply(thread, entry):
            shown["message"] = _message(thread, entry)
        shown["timestamp"] = times.show(entry.created_at)
    return shown


def _is_reply(thread: ThreadRow, entry: EntryRow) -> bool:
    return bool(entry.parts) and entry.actor != thread.asker.number


def _whole(entries: Iterable[EntryRow]) -> list[EntryRow]:
    """The messages among entries, each reply that came in chunks as one."""
    whole: dict[Any, EntryRow] = {}
    for entry in entries:
        if not entry.parts:
            continue
        first = whole.get(entry.of)
        if first is None:
            whole[entry.id] = entry
        else:
            whole[first.id] = replace(first, parts=[*first.parts, *entry.parts])
    return list(whole.values())


def _replies(seen: Seen) -> list[EntryRow]:
    return [entry for entry in _whole(seen.entries) if _is_reply(seen.thread, entry)]


def _artifact(reply: EntryRow) -> Json:
    shown: Json = {
        "artifactId": ids.show("msg", reply.of or reply.id),
        "parts": [_part(part) for part in reply.parts],
    }
    if reply.metadata is not None:
        shown["metadata"] = reply.metadata
    return shown


def _message(thread: ThreadRow, entry: EntryRow) -> Json:
    own = entry.actor == thread.asker.number
    given = entry.message_id if own else None
    shown: Json = {
        "messageId": given or ids.show("msg", entry.id),
        "contextId": thread.context,
        "taskId": task_id(thread),
        "role": "ROLE_USER" if own else "ROLE_AGENT",
        "parts": [_part(part) for part in entry.parts],
    }
    if entry.metadata is not None:
        shown["metadata"] = entry.metadata
    return shown


def _part(part: Json) -> Json:
    if "file" in part:  # A2A knows a file by its address alone
        part = {"url": content_url(part["file"], part["version"]), **part}
    return {"mediaType" if key == "media_type" else key: part[key] for key in part if key not in _OURS}
