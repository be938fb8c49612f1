"""Who is there now: who holds a stream or a socket, or waited for its inbox a moment ago.

Kept in the cache that the processes share, for a while each; without it nobody is known to be there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from uuid import UUID

from django.conf import settings

from apps.core import db, ids, limits
from apps.core.actor import Actor
from apps.core.errors import DomainError, invalid, not_found

Members = Callable[[Actor, list[UUID]], dict[UUID, list[int]]]

MAX_WATCHED = 32

_members: list[Members] = []
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


def register_members(reader: Members) -> None:
    """Say who is in chats of an actor, of those it may see: one statement. Called once, when the apps are ready."""
    _members[:] = [reader]


class Watch:
    """The chats a socket watches, and who was live in them when it was last told."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._told: dict[str, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def add(self, chat: str) -> list[str]:
        """Watch a chat; the numbers of its members that are live. Raises not_found, invalid past 32 chats."""
        if len(self._told) >= MAX_WATCHED and chat not in self._told:
            raise invalid("chat", f"A socket watches at most {MAX_WATCHED} chats.", next="Unwatch one first.")
        found = self._read([chat])
        if chat not in found:
            raise not_found("chat")
        self._told[chat] = found[chat]
        return list(map(str, found[chat]))

    def drop(self, chat: str) -> None:
        """Watch a chat no more; one that is not watched is no error."""
        self._told.pop(chat, None)

    def look(self) -> tuple[dict[str, list[str]], list[str]]:
        """The chats where who is live has changed, with their numbers; and those that may no longer be seen."""
        found = self._read(list(self._told))
        lost = [chat for chat in self._told if chat not in found]
        changed = {
            chat: list(map(str, numbers)) for chat, numbers in found.items() if numbers != self._told[chat]
        }
        self._told = found
        return changed, lost

    def _read(self, chats: list[str]) -> dict[str, list[int]]:
        keys = {id: chat for chat in chats if (id := ids.read("con", chat)) is not None}
        members = _members[0](self._actor, list(keys)) if keys else {}
        there = set(live({number for numbers in members.values() for number in numbers}))
        return {keys[id]: sorted(there.intersection(numbers)) for id, numbers in members.items()}


def _key(number: int) -> str:
    return f"live:{number}"
