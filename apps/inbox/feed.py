"""An inbox as it goes on: what the long-poll, the stream and the socket read, each in its own shape.

A feed is one coroutine without a thread or a connection while it waits. Who uses it joins `topics` first, so that
nothing falls between reading and waiting.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from uuid import UUID

from apps.core import db, wake
from apps.core.actor import Actor
from apps.core.errors import invalid
from apps.inbox import queries
from apps.inbox.queries import News

LATEST = "latest"
STREAM_PAGE = 20  # events read at once for one that stays: what is not taken yet is in memory
_SEQ = re.compile(r"[0-9]{1,19}", re.ASCII)


def topics(actor: Actor) -> list[str]:
    """What to join: news of the inbox, and the end of the credential."""
    return [_inbox(actor), _credential(actor.credential)]


def _inbox(actor: Actor) -> str:
    return f"inbox:{actor.identity}"


def _credential(id: UUID) -> str:
    return f"cred:{id.hex}"


class Feed:
    """The events of an inbox after a seq (None: from the oldest kept), of the wanted types (None: all)."""

    def __init__(
        self,
        actor: Actor,
        waiter: wake.Waiter,
        *,
        after: int | None,
        types: frozenset[str] | None,
        limit: int,
        ended: Callable[[], bool],
    ) -> None:
        self.actor = actor
        self.after = after
        self._head = 0
        self._due = True  # the inbox may hold what was not read
        self._waiter = waiter
        self._types = types
        self._limit = limit
        self._ended = ended

    async def _read(self) -> News:
        news = await db.run(partial(queries.news, self.actor, self.after, self._types, self._limit))
        self.after, self._head = news.next, news.head
        # A wake-up that came meanwhile ends the next wait at once, so only the rest of a long page is due.
        self._due = news.next < news.head
        self._waiter.know(_inbox(self.actor), news.head)
        self._waiter.know(_credential(self.actor.credential), 1)
        return news

    async def news(self, until: float) -> News:
        """The next events, as soon as there are some; none at the loop's time `until`, at the end, or on drain.

        It reads once at first and then when it is woken, never else. Raises what `queries.news` raises.
        """
        while True:
            while self._due:  # also past a page of which the filter left nothing
                news = await self._read()
                if news.events or self._ended():
                    return news
            left = until - asyncio.get_running_loop().time()
            self._due = await self._waiter.wait(left)
            if not self._due or self._ended():
                return News([], self.after or 0, self._head)


def read_types(text: str | None) -> frozenset[str] | None:
    """The event types in a text, separated by commas; None for all. Raises invalid for one that is not known."""
    if not text:
        return None
    wanted = frozenset(text.split(","))
    known = queries.types()
    for kind in sorted(wanted - known):
        raise invalid(
            "types", f"There is no event type {kind[:40]!r}.", next=f"Known: {', '.join(sorted(known))}."
        )
    return wanted


async def start(actor: Actor, text: str | None) -> int | None:
    """The seq to go on from, of a text that holds one or `latest`; None for the oldest kept. Raises invalid."""
    if text is None:
        return None
    if text == LATEST:
        return (await db.run(partial(queries.bounds, actor))).seq
    if not _SEQ.fullmatch(text) or int(text) >= 2**63:
        raise invalid("after", f"Must be a seq, or {LATEST}.")
    return int(text)


async def resume(feed: Feed) -> int | None:
    """Where a stream goes on: None when it does so after what was asked, else the seq it has to begin at.

    Events that are no longer kept, or were never there, cannot be gone on from: then the oldest kept come next.
    Raises insufficient_scope, unauthenticated.
    """
    head = await db.run(partial(queries.bounds, feed.actor))
    if feed.after is None or head.floor <= feed.after <= head.seq:
        return None
    feed.after = None
    return head.floor
