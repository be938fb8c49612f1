"""How long an answer takes to its waiter, one among many idle ones, beside the hops it is made of."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from benchmarks import people
from benchmarks.calls import Caller
from benchmarks.observed import PATH
from benchmarks.people import Someone
from benchmarks.wire import BenchmarkError, Connection, Reply, bearer, fetch, request

IDLERS = 16  # identities among which the idle waiters are dealt
SETTLED = 0.05  # seconds after which a waiter's call has surely come to rest

Ask = Callable[[], Awaitable[tuple[str, asyncio.Future[Reply]]]]


@dataclass
class Delays:
    """Seconds to the waiter's first byte, since the answer's commit and since its sending."""

    commit: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)


class Scene:
    """Who takes part: an asker that waits, an answerer, and idle waiters of every kind."""

    def __init__(self, port: int, answer_port: int) -> None:
        self._port, self._answer_port = port, answer_port
        self._idle: list[asyncio.Task[None]] = []

    async def enter(self, waiters: int) -> None:
        """Register everybody and let the idle wait. Raises BenchmarkError."""
        tag = f"{random.randrange(1 << 32):08x}"
        self.waiting = await Connection.open(self._port)
        self.polling = await Connection.open(self._port)
        self.answering = await Connection.open(self._answer_port)
        self.asker = await people.client(self.waiting, f"waits-{tag}")
        self.answerer = await people.agent(self.waiting, f"answers-{tag}")
        quiet = await people.agent(self.waiting, f"silent-{tag}")
        idlers = [await people.client(self.waiting, f"idle-{tag}-{number}") for number in range(IDLERS)]
        for number in range(waiters):
            await self._rest(number, idlers[number % IDLERS], quiet)
        self.after = 0
        await asyncio.sleep(1)

    async def _rest(self, number: int, idler: Someone, quiet: Someone) -> None:
        connection = await Connection.open(self._port)
        kind = number // IDLERS % 4
        caller = Caller(quiet.a2a, idler.token, f"idle-{number}")
        if kind == 0:
            data = request("GET", "/v1/inbox?after=0&wait=25", bearer(idler.token))
        elif kind == 1:
            data = caller.exchange()[1]
        else:
            opened = await fetch(self.waiting, "POST", "/v1/threads", idler.token, _question(quiet))
            thread = opened["thread"]
            data = caller.subscribe(thread["id"])
            if kind == 2:
                path = f"/v1/threads/{thread['id']}?wait=25&after={thread['generation']}"
                data = request("GET", path, bearer(idler.token))
        self._idle.append(asyncio.create_task(_again(connection, data)))

    async def leave(self) -> None:
        """Let the idle go. Raises BenchmarkError when one of them was not idle."""
        for task in self._idle:
            task.cancel()
        for outcome in await asyncio.gather(*self._idle, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def long_poll(self) -> tuple[str, asyncio.Future[Reply]]:
        """Ask and wait at the thread: its id and the future answer."""
        opened = await fetch(self.waiting, "POST", "/v1/threads", self.asker.token, _question(self.answerer))
        thread = opened["thread"]
        path = f"/v1/threads/{thread['id']}?wait=25&after={thread['generation']}"
        return thread["id"], self.waiting.start(request("GET", path, bearer(self.asker.token)))

    async def blocking(self) -> tuple[str, asyncio.Future[Reply]]:
        """Ask by an A2A SendMessage that waits: the thread's id and the future answer."""
        caller = Caller(self.answerer.a2a, self.asker.token, f"waits-{random.randrange(1 << 48):x}")
        coming = self.waiting.start(caller.exchange()[1])
        while True:
            path = f"/v1/inbox?types=thread.opened&wait=25&after={self.after}"
            page = await fetch(self.polling, "GET", path, self.answerer.token)
            self.after = page["next"]
            for event in page["events"]:
                if event["object"]["thread"]["state"] == "open":
                    return event["object"]["thread"]["id"], coming

    async def answer(self, ask: Ask, delays: Delays) -> None:
        """One question, answered once its asker waits. Raises BenchmarkError."""
        thread, coming = await ask()
        await asyncio.sleep(SETTLED)
        if coming.done():
            raise BenchmarkError("a call that should wait came back")
        path = f"/v1/threads/{thread}/messages"
        data = request("POST", path, bearer(self.answerer.token), b'{"text": "Like this."}')
        started = perf_counter()
        accepted, answer = await asyncio.gather(self.answering.start(data), coming)
        if accepted.status != 201 or answer.status != 200 or b"Like this." not in answer.body:
            raise BenchmarkError(f"{accepted.status} {accepted.body!r}, {answer.status} {answer.body!r}")
        delays.commit.append(answer.first - await self._commit(thread))
        delays.sent.append(answer.first - started)

    async def _commit(self, thread: str) -> float:
        """When the last commit that woke the thread's waiters was."""
        commits = await fetch(self.answering, "GET", PATH)
        topic = f"thread:{thread.removeprefix('thr_')}"
        return max(float(at) for at, topics in commits if topic in topics)


async def _again(connection: Connection, data: bytes) -> None:
    """Wait again and again, as idle clients do."""
    try:
        while True:
            reply = await connection.call(data)
            if reply.status != 200:
                raise BenchmarkError(f"an idle waiter got {reply.status} {reply.body!r}")
    finally:
        connection.close()


def _question(to: Someone) -> dict[str, Any]:
    return {"to": to.number, "text": "How?"}


class Redis:
    """A bare hop through Redis: PUBLISH on one connection, the message on another, no client library."""

    async def open(self, url: str) -> None:
        """Connect and subscribe. Raises OSError."""
        host, port = urlsplit(url).hostname or "127.0.0.1", urlsplit(url).port or 6379
        self._messages, self._subscribing = await asyncio.open_connection(host, port)
        _, self._publishing = await asyncio.open_connection(host, port)
        channel = f"relayger-bench-{random.randrange(1 << 64):x}".encode()
        self._publish = b"PUBLISH " + channel + b" wake\r\n"
        self._subscribing.write(b"SUBSCRIBE " + channel + b"\r\n")
        while not await self._messages.readuntil(b":1\r\n"):
            pass

    async def hop(self) -> float:
        """Seconds from publishing to the message."""
        started = perf_counter()
        self._publishing.write(self._publish)
        await self._messages.readuntil(b"wake\r\n")
        return perf_counter() - started


async def in_process() -> float:
    """Seconds from setting an event to its waiter's running."""
    event = asyncio.Event()
    woken = asyncio.create_task(_stamp(event))
    await asyncio.sleep(0)
    started = perf_counter()
    event.set()
    return await woken - started


async def _stamp(event: asyncio.Event) -> float:
    await event.wait()
    return perf_counter()


async def measure(
    port: int, other_port: int | None, redis_url: str | None, waiters: int, samples: int
) -> dict[str, list[float] | Delays]:
    """Measure everything in turn, sample by sample; names and seconds. Raises BenchmarkError."""
    scenes = {"": Scene(port, port)}
    if other_port is not None:
        scenes[", answered at another process"] = Scene(port, other_port)
    redis = Redis() if redis_url is not None else None
    if redis is not None and redis_url is not None:
        await redis.open(redis_url)
    hops: dict[str, list[float]] = defaultdict(list)
    delays: dict[str, Delays] = defaultdict(Delays)
    for index, scene in enumerate(scenes.values()):
        await scene.enter(waiters if index == 0 else 0)
    for _ in range(samples):
        hops["an asyncio hop in one process"].append(await in_process())
        if redis is not None:
            hops["a bare Redis pub/sub hop"].append(await redis.hop())
        for where, scene in scenes.items():
            await scene.answer(scene.long_poll, delays[f"long-poll{where}"])
            await scene.answer(scene.blocking, delays[f"blocking SendMessage{where}"])
    for scene in scenes.values():
        await scene.leave()
    return {**hops, **delays}
