"""Wake-ups: a hint that a topic changed, from whoever committed to whoever waits.

A wake-up carries no content and may be lost without losing anything: who waits joins its topics, then reads,
then waits, and every few seconds the process compares what its waiters know with the database, one statement
per kind of topic (`sweep`). Topics are `inbox:<number>`, `thread:<id>`, `chat:<id>` and `cred:<id>`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction

from apps.core import db
from apps.core.errors import DomainError

logger = logging.getLogger(__name__)

Version = int | str | None
Reader = Callable[[list[str]], dict[str, Version]]

_REDIS_SECONDS = 1.0  # no caller waits longer than this for the layer between processes
_STOP_ROUNDS, _STOP_SECONDS = 10, 0.2
_SWEEP_BATCH = 10_000

_readers: dict[str, Reader] = {}


def register(kind: str, reader: Reader) -> None:
    """Say how the sweep reads the versions of topics of one kind: ids to versions, one statement.

    An id without a version counts as changed. Called once per kind, from an AppConfig's `ready`.
    """
    _readers[kind] = reader


class Waiter:
    """One waiting call: the topics it joined and the versions it has read."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.known: dict[str, Version] = dict.fromkeys(topics)
        self._event = asyncio.Event()

    def know(self, topic: str, version: Version) -> None:
        """Note what was read of a topic, so that the sweep wakes this waiter only for news."""
        self.known[topic] = version

    def wake(self) -> None:
        """End the present wait, or the next one at once."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for a wake-up; False when `seconds` passed without one, or the process is draining."""
        if not hub.draining:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(seconds, 0)):
                    await self._event.wait()
        woken = self._event.is_set()
        self._event.clear()
        return woken and not hub.draining


class Hub:
    """This process's waiters and its one channel to the other processes."""

    def __init__(self) -> None:
        self.draining = False
        self.failures = 0
        self.connected = True
        self._me = uuid4().hex
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: dict[str, set[Waiter]] = defaultdict(set)
        self._joined: set[str] = set()
        self._channel: str | None = None
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._silent_until = 0.0

    @property
    def waiting(self) -> int:
        """How many (waiter, topic) pairs there are."""
        return sum(map(len, self._waiters.values()))

    # -- life ---------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take this event loop as the one waiters live in, and start the loops that serve them."""
        self._loop = asyncio.get_running_loop()
        self.draining = False
        self._channel = None
        self._joined.clear()
        self._outgoing = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._sweep_for_ever())]
        if settings.RELAYGER.redis_url is not None:
            self._tasks += [
                asyncio.create_task(self._listen_for_ever()),
                asyncio.create_task(self._broadcast_for_ever()),
            ]

    async def stop(self) -> None:
        """End the loops; waiters are woken first."""
        self.drain()
        left = set(self._tasks)
        for _ in range(_STOP_ROUNDS):
            # Redis's client may swallow a cancellation that falls into its own clock's; a second one does not.
            for task in left:
                task.cancel()
            if left:
                _, left = await asyncio.wait(left, timeout=_STOP_SECONDS)
        self._tasks = []
        self._loop = None
        layer = get_channel_layer()
        if settings.RELAYGER.redis_url is not None:
            with suppress(Exception):
                async with asyncio.timeout(_REDIS_SECONDS):
                    await layer.flush()

    def drain(self) -> None:
        """Let every wait answer with what it has, and let none begin."""
        self.draining = True
        for waiters in list(self._waiters.values()):
            for waiter in waiters:
                waiter.wake()

    # -- waking -------------------------------------------------------------------------------------------

    def deliver(self, topics: Iterable[str]) -> None:
        """Wake this process's waiters of `topics` and tell the other processes. From any thread."""
        topics = list(topics)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver_in_loop, topics)
        elif settings.RELAYGER.redis_url is not None:
            async_to_sync(self._send)(topics)

    def _deliver_in_loop(self, topics: list[str]) -> None:
        for topic in topics:
            self._wake_local(topic)
            if settings.RELAYGER.redis_url is not None:
                self._outgoing.put_nowait(topic)

    def _wake_local(self, topic: str) -> None:
        for waiter in self._waiters.get(topic, ()):
            waiter.wake()

    async def _broadcast_for_ever(self) -> None:
        while True:
            await self._send([await self._outgoing.get()])

    async def _send(self, topics: Iterable[str]) -> None:
        for topic in topics:
            message = {"type": "wake", "topic": topic, "from": self._me}
            await self._layer(partial(_publish, topic=topic, message=message))

    async def _listen_for_ever(self) -> None:
        layer = get_channel_layer()
        while True:
            try:
                self._channel = await layer.new_channel()
                self._joined.clear()
                await self._regroup()  # who came while there was no channel waits for other processes too
                while True:
                    message = await layer.receive(self._channel)
                    if message.get("from") != self._me:
                        self._wake_local(str(message.get("topic")))
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self._failed(error)
                self._channel = None
                await asyncio.sleep(_REDIS_SECONDS)

    async def reachable(self) -> bool:
        """Ask the channel between processes whether it works; True without Redis, where there is none."""
        if settings.RELAYGER.redis_url is None:
            return True
        message = {"type": "wake", "topic": "", "from": self._me}
        return await self._layer(partial(_publish, topic="reachable", message=message))

    async def _layer(self, call: Callable[[Any], Any]) -> bool:
        """One bounded call of the channel layer; False when it failed or failed just before."""
        if time.monotonic() < self._silent_until:
            return False
        layer = get_channel_layer()  # the first call imports its client, which takes its time
        try:
            async with asyncio.timeout(_REDIS_SECONDS):
                await call(layer)
        except Exception as error:
            self._failed(error)
            return False
        self.connected = True
        return True

    def _failed(self, error: Exception) -> None:
        if self.connected:
            logger.warning("wake-ups between processes fail, the sweep goes on: %s", type(error).__name__)
        self.connected = False
        self.failures += 1
        self._silent_until = time.monotonic() + _REDIS_SECONDS

    # -- waiting ------------------------------------------------------------------------------------------

    async def join(self, waiter: Waiter) -> None:
        """Add a waiter to its topics, here and between processes."""
        for topic in waiter.known:
            self._waiters[topic].add(waiter)
        for topic in waiter.known:
            if self._channel is not None and topic not in self._joined:
                await self._join_group(topic)

    async def _join_group(self, topic: str) -> None:
        if await self._layer(lambda layer: layer.group_add(_group(topic), self._channel)):
            self._joined.add(topic)

    async def _regroup(self) -> None:
        """Join the groups that waiters lack, and leave those that nobody here waits for any more."""
        for topic in [topic for topic in self._waiters if topic not in self._joined]:
            await self._join_group(topic)
        for topic in list(self._joined):
            # Each call pauses, so who waits is looked at again; and the group is given up before it is left,
            # so that a waiter that comes meanwhile joins it anew instead of relying on it.
            if topic not in self._waiters:
                self._joined.discard(topic)
                await self._layer(partial(_discard, topic=topic, channel=self._channel))

    def leave(self, waiter: Waiter) -> None:
        """Take a waiter out of its topics; its groups are left at the next sweep, as the next poll rejoins."""
        for topic in waiter.known:
            waiters = self._waiters[topic]
            waiters.discard(waiter)
            if not waiters:
                del self._waiters[topic]

    # -- the sweep ----------------------------------------------------------------------------------------

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(settings.RELAYGER.sweep_seconds)
            try:
                await self.sweep()
            except DomainError:
                pass  # the database is away; the next round tells
            except Exception:
                logger.exception("sweep failed")

    async def sweep(self) -> None:
        """Re-read the versions of all topics waited for, and wake those whose waiters know another."""
        if self._channel is not None:
            await self._regroup()
        kinds: dict[str, list[str]] = defaultdict(list)
        for topic in self._waiters:
            kind, _, subject = topic.partition(":")
            kinds[kind].append(subject)
        for kind, subjects in kinds.items():
            if kind in _readers:
                for start in range(0, len(subjects), _SWEEP_BATCH):
                    await self._compare(kind, subjects[start : start + _SWEEP_BATCH])

    async def _compare(self, kind: str, subjects: list[str]) -> None:
        versions = await db.run(partial(_readers[kind], subjects))
        for subject in subjects:
            topic = f"{kind}:{subject}"
            version = versions.get(subject)
            for waiter in self._waiters.get(topic, ()):
                known = waiter.known.get(topic)
                if known is not None and known != version:
                    waiter.wake()


async def _publish(layer: Any, *, topic: str, message: dict[str, str]) -> None:
    await layer.group_send(_group(topic), message)


async def _discard(layer: Any, *, topic: str, channel: str | None) -> None:
    await layer.group_discard(_group(topic), channel)


def _group(topic: str) -> str:
    return topic.replace(":", ".")


hub = Hub()


def wake(topics: Iterable[str]) -> None:
    """Wake who waits for `topics`, once the present transaction is committed."""
    # Robust: what is committed is answered as such, whatever becomes of the hint.
    transaction.on_commit(partial(hub.deliver, tuple(topics)), robust=True)


@asynccontextmanager
async def wait(topics: Iterable[str]) -> AsyncIterator[Waiter]:
    """Join `topics`; read inside the block, `know` what was read, then `Waiter.wait`."""
    waiter = Waiter(topics)
    try:
        await hub.join(waiter)
        yield waiter
    finally:
        hub.leave(waiter)
