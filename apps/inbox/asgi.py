"""GET /v1/inbox: the long-poll, a coroutine without a thread or a connection while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from django.conf import settings

from apps.core import db, limits, wake
from apps.core.actor import Actor
from apps.core.asgi import Reply, Request, endpoint, until_gone
from apps.core.errors import Code, DomainError, invalid
from apps.identities.access import admit
from apps.inbox import queries

MAX_WAIT = 25
FIELDS = ("after", "wait", "types", "limit")


async def _inbox(request: Request, reply: Reply) -> None:
    if request.method not in ("GET", "HEAD"):
        raise DomainError(Code.METHOD_NOT_ALLOWED, "Only GET.")
    # The actor is found first, since the topics to join before the first read are named after it.
    actor = await db.run(partial(admit, request.header("authorization"), request.address, "read"))
    request.only(FIELDS)
    seconds = request.whole("wait", 0, low=0, high=MAX_WAIT)
    limit = request.whole("limit", 50, low=1, high=queries.MAX_EVENTS)
    types = _types(request.query.get("types"))
    given = request.whole("after", -1, low=0, high=2**63 - 1)
    after = None if given < 0 else given

    def read(after: int | None) -> queries.News:
        return queries.news(actor, after, types, limit)

    if seconds:
        with limits.slot("long_poll", actor.identity, settings.RELAYGER.max_long_polls):
            news = await _wait(request, actor, read, after, seconds)
    else:
        news = await db.run(partial(read, after))
    await reply.json(200, news.show())


async def _wait(
    request: Request,
    actor: Actor,
    read: Callable[[int | None], queries.News],
    after: int | None,
    seconds: int,
) -> queries.News:
    """Wait for news at most `seconds`: at once when there is some, with `next` as far as was read."""
    inbox, credential = f"inbox:{actor.identity}", f"cred:{actor.credential.hex}"
    async with wake.wait([inbox, credential]) as waiter, until_gone(request, waiter) as gone:
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            news = await db.run(partial(read, after))
            after = news.next
            waiter.know(inbox, news.head)
            waiter.know(credential, 1)
            if news.events or gone():
                return news
            if news.next < news.head:
                continue  # a page of filtered events; the next one may hold wanted ones
            left = deadline - asyncio.get_running_loop().time()
            if not await waiter.wait(left) or gone():
                return news


def _types(text: str | None) -> frozenset[str] | None:
    if not text:
        return None
    wanted = frozenset(text.split(","))
    known = queries.types()
    for kind in wanted - known:
        raise invalid(
            "types", f"There is no event type {kind[:40]!r}.", next=f"Known: {', '.join(sorted(known))}."
        )
    return wanted


inbox = endpoint(_inbox)
