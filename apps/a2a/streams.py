"""Following a task: a stream of its changes, or a silence that ends in its answer.

Neither holds a thread or a database connection while it waits. The official client gives up after five seconds
without a byte, so both send one more often: a comment in a stream, a space in front of the JSON.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from django.conf import settings

from apps.a2a import errors, tasks
from apps.a2a.errors import Id
from apps.a2a.methods import Follow
from apps.a2a.tasks import Json, Seen
from apps.core import db, wake
from apps.core.asgi import SSE_HEADERS, Reply, Request, sse, until_gone
from apps.core.errors import DomainError
from apps.core.strict_json import dumps
from apps.threads import queries
from apps.threads.sql import EntryRow

JSON_HEADERS = [
    ("Content-Type", "application/json"),
    ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
]
_COMMENT = b": waiting\n\n"

Beat = Callable[[], Awaitable[None]]


class _Watch:
    """A thread from a snapshot on, read when it is woken and never else.

    `beat` is called when the time is `beat_at`, and every few seconds after that: the client has heard nothing
    for too long. Whoever sends it something else moves `beat_at`.
    """

    def __init__(
        self, follow: Follow, beat: Beat, beat_at: float, waiter: wake.Waiter, gone: Callable[[], bool]
    ) -> None:
        self._follow = follow
        self._beat = beat
        self._waiter = waiter
        self._gone = gone
        self.beat_at = beat_at
        self.thread = follow.seen.thread
        self.after = self.thread.generation
        self._due = True  # what came between the snapshot and the joining

    async def news(self, until: float) -> list[EntryRow]:
        """The next entries, ascending; none when `until` has come, the client is gone or the process drains.

        Raises unauthenticated as soon as the credential is taken away.
        """
        loop = asyncio.get_running_loop()
        while True:
            if self._due:
                entries = await self._read()
                if entries:
                    return entries
            while not await self._waiter.wait(min(until, self.beat_at) - loop.time()):
                if wake.hub.draining or loop.time() >= until:
                    return []
                await self._beat()
                self.beat_at = loop.time() + settings.RELAYGER.keepalive_seconds
            if self._gone():
                return []
            self._due = True

    async def _read(self) -> list[EntryRow]:
        actor, thread = self._follow.actor, self.thread.id
        self.thread, entries = await db.run(partial(queries.watch, actor, thread, self.after))
        self._waiter.know(_topic(self._follow), self.thread.generation)
        self._waiter.know(_credential(self._follow), 1)
        if entries:
            self.after = entries[-1].cursor
        # A wake-up that came meanwhile ends the next wait at once, so only the rest of a long page is due.
        self._due = self.after < self.thread.generation
        return entries


def _topic(follow: Follow) -> str:
    return f"thread:{follow.seen.thread.id.hex}"


def _credential(follow: Follow) -> str:
    return f"cred:{follow.actor.credential.hex}"


@asynccontextmanager
async def _watching(request: Request, follow: Follow, beat: Beat, beat_at: float) -> AsyncIterator[_Watch]:
    async with (
        wake.wait([_topic(follow), _credential(follow)]) as waiter,
        until_gone(request, waiter) as gone,
    ):
        yield _Watch(follow, beat, beat_at, waiter, gone)


async def stream(request: Request, reply: Reply, id: Id, follow: Follow) -> None:
    """Send the task, then every change of it until it is settled, as Server-Sent Events."""
    await reply.start(200, SSE_HEADERS)
    await reply.write(_event(id, {"task": tasks.task(follow.seen, follow.history)}))
    if follow.subscribed or not follow.seen.settled:
        try:
            await _changes(request, reply, id, follow)
        except DomainError as error:
            fault = errors.translate(error, task=tasks.task_id(follow.seen.thread))
            await reply.write(sse(fault.body(id)))
    await reply.end()


async def _changes(request: Request, reply: Reply, id: Id, follow: Follow) -> None:
    now = asyncio.get_running_loop().time
    until = now() + settings.RELAYGER.stream_seconds
    silence: float = settings.RELAYGER.keepalive_seconds
    async with _watching(request, follow, partial(reply.write, _COMMENT), now() + silence) as watch:
        while entries := await watch.news(until):
            for entry in entries:
                events = [_event(id, update) for update in tasks.updates(watch.thread, entry)]
                if events:
                    await reply.write(b"".join(events))
                    watch.beat_at = now() + silence
                if entry.state in tasks.SETTLED:
                    return


async def block(request: Request, reply: Reply, id: Id, follow: Follow) -> None:
    """Answer with the task once it is settled, or as it stands when the time for waiting is over.

    Raises Fault for an error that comes before anything was sent.
    """
    now = asyncio.get_running_loop().time()
    until, hold = now + settings.RELAYGER.blocking_seconds, now + settings.RELAYGER.hold_seconds

    async def space() -> None:
        if not reply.started:
            await reply.start(200, JSON_HEADERS)
        await reply.write(b" ")

    thread, entries = follow.seen.thread, list(follow.seen.entries)
    try:
        async with _watching(request, follow, space, hold) as watch:
            while more := await watch.news(until):
                entries += more
                thread = watch.thread
                if thread.state in tasks.SETTLED and watch.after >= thread.generation:
                    break
        answer = {"result": {"task": tasks.task(Seen.of(thread, entries), follow.history)}}
    except DomainError as error:
        fault = errors.translate(error, task=tasks.task_id(thread))
        if not reply.started:
            raise fault from None
        answer = fault.body(id)
    body = {"jsonrpc": "2.0", "id": id, **answer}
    if reply.started:
        await reply.end(dumps(body))
    else:
        await reply.json(200, body)


def _event(id: Id, result: Json) -> bytes:
    return sse({"jsonrpc": "2.0", "id": id, "result": result})
