"""GET /v1/inbox, the long-poll, and GET /v1/inbox/stream, Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from django.conf import settings

from apps.core import db, limits, wake
from apps.core.asgi import SSE_HEADERS, Reply, Request, endpoint, sse, until_gone
from apps.core.errors import Code, DomainError
from apps.identities.access import admit
from apps.inbox import presence, queries
from apps.inbox.feed import STREAM_PAGE, Feed, read_types, resume, start, topics

MAX_WAIT = 25


async def _inbox(request: Request, reply: Reply) -> None:
    # The actor is found first, since the topics to join before the first read are named after it.
    actor = await db.run(partial(admit, request.header("authorization"), request.address, "read"))
    request.only(("after", "wait", "types", "limit"))
    seconds = request.whole("wait", 0, low=0, high=MAX_WAIT)
    limit = request.whole("limit", 50, low=1, high=queries.MAX_EVENTS)
    types = read_types(request.query.get("types"))
    after = await start(actor, request.query.get("after"))

    if seconds:
        await db.run(partial(presence.here, [actor.identity]))
        with limits.slot("long_poll", actor.identity, settings.RELAYGER.max_long_polls):
            async with wake.wait(topics(actor)) as waiter, until_gone(request, waiter) as ended:
                feed = Feed(actor, waiter, after=after, types=types, limit=limit, ended=ended)
                news = await feed.news(asyncio.get_running_loop().time() + seconds)
    else:
        news = await db.run(partial(queries.news, actor, after, types, limit))
    await reply.json(200, news.show())


async def _stream(request: Request, reply: Reply) -> None:
    actor = await db.run(partial(admit, request.header("authorization"), request.address, "read"))
    request.only(("after", "types"))
    types = read_types(request.query.get("types"))
    # A browser that comes back sends the same address and, in this header, how far it got.
    after = await start(actor, request.header("last-event-id") or request.query.get("after"))
    if request.method == "HEAD":
        await reply.start(200, SSE_HEADERS)
        await reply.end()
        return
    async with AsyncExitStack() as held:
        held.enter_context(limits.slot("socket", actor.identity, settings.RELAYGER.max_sockets))
        waiter = await held.enter_async_context(wake.wait(topics(actor)))
        ended = await held.enter_async_context(until_gone(request, waiter))
        feed = Feed(actor, waiter, after=after, types=types, limit=STREAM_PAGE, ended=ended)
        gap = await resume(feed)
        await held.enter_async_context(presence.held(actor.identity))
        await reply.start(200, SSE_HEADERS)
        await reply.write(b": open\n\n")
        if gap is not None:
            await reply.write(sse({"oldest": gap}, event="gap"))
        try:
            await _follow(reply, feed, ended)
        except DomainError as error:
            await reply.write(sse(error.body(), event="error"))
    await reply.end()


async def _follow(reply: Reply, feed: Feed, ended: Callable[[], bool]) -> None:
    """Send what comes until the client goes, the time is over or the process drains."""
    clock = asyncio.get_running_loop().time
    until = clock() + settings.RELAYGER.stream_seconds
    beat: float = settings.RELAYGER.heartbeat_seconds
    while clock() < until and not ended() and not wake.hub.draining:
        news = await feed.news(min(until, clock() + beat))
        for event in news.events:
            await reply.write(sse(event, id=event["seq"]))
        if not news.events:
            # It moves the reader past what its filter left out; a browser takes an id without data.
            await reply.write(f"id: {news.next}\n: still here\n\n".encode())


async def _not_a_socket(_: Request, reply: Reply) -> None:
    error = DomainError(
        Code.WEBSOCKET_REQUIRED, "This address is a WebSocket.", next="Use a WebSocket client, or /v1/inbox."
    )
    await reply.json(error.status, error.body(), [("Upgrade", "websocket"), ("Connection", "Upgrade")])


inbox = endpoint(_inbox)
stream = endpoint(_stream)
not_a_socket = endpoint(_not_a_socket)
