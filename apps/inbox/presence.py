"""Who is there now: who holds a stream or a socket, or waited for its inbox a moment ago.

Kept in the cache that the processes share, for a while each; without it nobody is known to be there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial

from django.conf import settings

from apps.core import db, limits
from apps.core.errors import DomainError

_held: Counter[int] = Counter()  # identities with a connection to this process
_beats: set[asyncio.Task[None]] = set()


def here(numbers: Iterable[int]) -> None:
    """Note that identities are there; good for RELAYGER_LIVE_SECONDS."""
    seconds: float = settings.RELAYGER.live_seconds
    with suppress(limits.CacheAway):
        limits.shared(lambda cache: cache.set_many({_key(number): 1 for number in numbers}, seconds))


@asynccontextmanager
async def held(number: int) -> AsyncIterator[None]:
    """Say that an identity is there for as long as the block takes: for all of a process together."""
    _held[number] += 1
    try:
        await db.run(partial(here, [number]))
        if not _beats:
            _beats.add(asyncio.create_task(_beat()))
        yield
    finally:
        _held[number] -= 1
        if not _held[number]:
            del _held[number]


async def _beat() -> None:
    try:
        while _held:
            await asyncio.sleep(settings.RELAYGER.heartbeat_seconds)
            with suppress(DomainError):
                await db.run(partial(here, list(_held)))
    finally:
        _beats.clear()


def live(numbers: Iterable[int]) -> list[int]:
    """Which of some identities are there, ascending."""
    keys = {_key(number): number for number in numbers}
    try:
        found = limits.shared(lambda cache: cache.get_many(list(keys)))
    except limits.CacheAway:
        return []
    return sorted(keys[key] for key in found)


def _key(number: int) -> str:
    return f"live:{number}"
