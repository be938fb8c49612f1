"""The methods: each turns its params into one action or query on threads, and what came of it into a Task."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from uuid import UUID

import orjson
from a2a.types import a2a_pb2 as pb
from django.conf import settings

from apps.a2a import errors, params, tasks
from apps.a2a.errors import Violation
from apps.a2a.tasks import Json, Seen
from apps.core import idempotency, ids, limits, paging, times
from apps.core.actor import Actor
from apps.identities.queries import Person
from apps.threads import actions, queries
from apps.threads.models import FINAL
from apps.threads.sql import ThreadRow

CONSIDERED = 200  # the newest tasks that ListTasks looks at
PAGE_BYTES = 16 << 20  # of messages that a page of tasks shows; past it the page ends early


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method: who calls, which agent, with what. `held` keeps the call's slot until it is answered."""

    actor: Actor
    agent: Person
    params: Json
    held: ExitStack


@dataclass(frozen=True, slots=True)
class Answer:
    """A result that is there."""

    result: Json


@dataclass(frozen=True, slots=True)
class Follow:
    """A task to wait for: in a stream of its changes, or in silence until it is settled.

    A subscription to a task that already needs the asker waits for the next change; everything else is
    answered at once by a settled task.
    """

    actor: Actor
    seen: Seen
    history: int | None
    stream: bool
    subscribed: bool = False


Outcome = Answer | Follow


@dataclass(frozen=True, slots=True)
class Method:
    """What a method counts as, and how it is done."""

    rate: Literal["read", "write"]
    run: Callable[[Call], Outcome]


# -- sending ------------------------------------------------------------------------------------------------


def _send(call: Call, *, stream: bool) -> Outcome:
    asked = params.send(call.params)
    if asked.push:
        raise errors.push_not_supported()
    # The answer shows the task, so both are needed, and are asked for before anything is stored.
    call.actor.need("messages:write")
    call.actor.need("messages:read")
    task = None if asked.task is None else _task_id(call, asked.task)
    if task is None and call.actor.identity == call.agent.number:
        raise errors.unsupported_operation("An agent cannot ask itself.")
    if task is not None and asked.context is not None:
        # A context never changes, so that this holds for the message stored below.
        _check_context(_own(call, task), asked.context)
    if stream or not asked.immediate:
        _take_slot(call)
    said = _ask(call, asked) if task is None else _say(call, asked, task)
    fresh = task is None and not said.duplicate
    seen = Seen(said.thread, [said.entry]) if fresh else _seen(said.thread)
    if stream or not (asked.immediate or seen.settled):
        return Follow(call.actor, seen, asked.history, stream=stream)
    return Answer({"task": tasks.task(seen, asked.history)})


def _ask(call: Call, asked: params.Send) -> actions.Said:
    return actions.ask(
        call.actor,
        call.agent,
        parts=asked.parts,
        context=asked.context,
        metadata=asked.metadata,
        parent=queries.assigned(call.actor, asked.references),
        message_id=asked.message_id,
        retry_hash=_retry_hash(call, asked),
    )


def _say(call: Call, asked: params.Send, task: UUID) -> actions.Said:
    return actions.say(
        call.actor,
        task,
        parts=asked.parts,
        metadata=asked.metadata,
        message_id=asked.message_id,
        retry_hash=_retry_hash(call, asked),
        assignee=call.agent.number,
    )


def _retry_hash(call: Call, asked: params.Send) -> bytes:
    """What makes a message the same message; the order of keys does not."""
    content = [asked.message_id, asked.context, asked.task, "ROLE_USER", asked.parts, asked.metadata]
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()
    return idempotency.content_hash(call.actor.identity, call.agent.number, text)


def _check_context(thread: ThreadRow, context: str) -> None:
    if thread.context != context:
        raise errors.invalid_params([Violation("message.contextId", "Is not the context of message.taskId.")])


# -- one task -------------------------------------------------------------------------------------------------


def _get(call: Call) -> Outcome:
    asked = params.named(pb.GetTaskRequest, call.params)
    seen = _seen(_own(call, _task_id(call, asked.task)))
    return Answer(tasks.task(seen, asked.history))


def _cancel(call: Call) -> Outcome:
    asked = params.named(pb.CancelTaskRequest, call.params)
    call.actor.need("messages:write")
    call.actor.need("messages:read")
    thread = actions.cancel(call.actor, _task_id(call, asked.task), assignee=call.agent.number)
    return Answer(tasks.task(_seen(thread), None))


def _subscribe(call: Call) -> Outcome:
    asked = params.named(pb.SubscribeToTaskRequest, call.params)
    thread = _own(call, _task_id(call, asked.task))
    if thread.state in FINAL:
        raise errors.unsupported_operation(f"This task is {thread.state}; read it with GetTask.")
    _take_slot(call)
    return Follow(call.actor, _seen(thread), None, stream=True, subscribed=True)


def _task_id(call: Call, text: str) -> UUID:
    """The thread a task id names. Raises -32001 when it can name none of the caller's questions to this agent."""
    found = ids.read("thr", text)
    if found is None or call.actor.identity == call.agent.number:
        raise errors.task_not_found(text)
    return found


def _own(call: Call, task: UUID) -> ThreadRow:
    """One of the caller's questions to this agent. Raises not_found, insufficient_scope."""
    return queries.get(call.actor, task, assignee=call.agent.number)


def _seen(thread: ThreadRow) -> Seen:
    """A thread with all its entries: an artifact must not lose its first chunks."""
    return Seen.of(thread, queries.history(thread.id))


def _take_slot(call: Call) -> None:
    most: int = settings.RELAYGER.max_a2a_waits
    call.held.enter_context(limits.slot("a2a_wait", call.actor.identity, most))


# -- many tasks -----------------------------------------------------------------------------------------------


def _list(call: Call) -> Outcome:
    asked = params.listing(call.params)
    scope = f"a2a:{call.actor.identity}:{call.agent.number}:{asked.context!r}:{asked.status}:{asked.since}"
    found = [row for row in queries.asked(call.actor, call.agent.number, CONSIDERED) if _wanted(row, asked)]
    rest = found
    if asked.page_token is not None:
        last = _unseal(scope, asked.page_token)
        rest = [row for row in found if _place(row) < last]
    size = _page_size(rest, asked)
    page = paging.cut(rest[: size + 1], size, scope, _place)
    entries = _entries(page.items, asked)
    return Answer(
        {
            "tasks": [
                tasks.task(Seen.of(row, entries.get(row.id, ())), asked.history, artifacts=asked.artifacts)
                for row in page.items
            ],
            "nextPageToken": page.next_cursor or "",
            "pageSize": asked.page_size,
            "totalSize": len(found),
        }
    )


def _page_size(rows: list[ThreadRow], asked: params.List) -> int:
    """How many tasks one page shows: as many as asked for, fewer where their messages would be too much."""
    total = 0
    for count, row in enumerate(rows[: asked.page_size]):
        total += 0 if _bare(asked) else row.size
        if count and total > PAGE_BYTES:
            return count
    return asked.page_size


def _bare(asked: params.List) -> bool:
    return asked.history == 0 and not asked.artifacts


def _wanted(row: ThreadRow, asked: params.List) -> bool:
    return (
        (asked.context is None or row.context == asked.context)
        and (asked.status is None or tasks.STATES[row.state] == asked.status)
        and (asked.since is None or row.state_at >= asked.since)
    )


def _place(row: ThreadRow) -> tuple[str, str]:
    """Where a task stands in the list, newest activity last; both texts sort as what they show."""
    return times.show(row.activity_at), row.id.hex


def _unseal(scope: str, token: str) -> tuple[str, str]:
    match paging.unseal(scope, token, field="pageToken"):
        case [str(at), str(id)]:
            return at, id
    raise paging.foreign_cursor("pageToken")


def _entries(rows: list[ThreadRow], asked: params.List) -> dict[UUID, list[Any]]:
    """The entries that a page of tasks shows; for bare tasks the last of each, which may explain its state."""
    if not rows:
        return {}
    return queries.histories([row.id for row in rows], newest=1 if _bare(asked) else None)


# -- what this service does not do ----------------------------------------------------------------------------


def _no_push(call: Call) -> Outcome:
    raise errors.push_not_supported()


def _no_extended_card(call: Call) -> Outcome:
    raise errors.unsupported_operation("There is no extended card; the public one says everything.")


def subject(raw: Json) -> str:
    """The task that a call's params are about, as they name it; for errors."""
    message = raw.get("message")
    text = message.get("taskId", message.get("task_id")) if isinstance(message, dict) else raw.get("id")
    return text if isinstance(text, str) else ""


METHODS: dict[str, Method] = {
    "SendMessage": Method("write", partial(_send, stream=False)),
    "SendStreamingMessage": Method("write", partial(_send, stream=True)),
    "GetTask": Method("read", _get),
    "ListTasks": Method("read", _list),
    "CancelTask": Method("write", _cancel),
    "SubscribeToTask": Method("read", _subscribe),
    "CreateTaskPushNotificationConfig": Method("write", _no_push),
    "GetTaskPushNotificationConfig": Method("read", _no_push),
    "ListTaskPushNotificationConfigs": Method("read", _no_push),
    "DeleteTaskPushNotificationConfig": Method("write", _no_push),
    "GetExtendedAgentCard": Method("read", _no_extended_card),
}
