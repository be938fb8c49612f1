"""GET /v1/threads/{id}: a thread now, or as soon as it changes."""

from __future__ import annotations

import asyncio
from functools import partial
from uuid import UUID

from django.conf import settings

from apps.core import db, ids, limits, wake
from apps.core.actor import Actor
from apps.core.asgi import Reply, Request, endpoint, until_gone
from apps.identities.access import admit
from apps.inbox.asgi import MAX_WAIT
from apps.threads import queries
from apps.threads.show import message_json, thread_json
from apps.threads.sql import EntryRow, ThreadRow

FIELDS = ("wait", "after")

Seen = tuple[ThreadRow, list[EntryRow]]


async def _thread(request: Request, reply: Reply) -> None:
    header, address = request.header("authorization"), request.address
    actor = await db.run(partial(admit, header, address, "read"))
    request.only(FIELDS)
    seconds = request.whole("wait", 0, low=0, high=MAX_WAIT)
    after = request.whole("after", 0, low=0, high=2**63 - 1)
    id = ids.read("thr", request.path["id"])
    if id is None:
        raise queries.absent()

    if seconds:
        with limits.slot("long_poll", actor.identity, settings.RELAYGER.max_long_polls):
            row, entries = await _wait(request, actor, id, after, seconds)
    else:
        row, entries = await db.run(partial(_read, actor, id, after))
    shown = [message_json(entry, row) for entry in entries]
    following = entries[-1].cursor if entries else after
    await reply.json(200, {**thread_json(row, actor.identity), "messages": shown, "next": following})


def _read(actor: Actor, id: UUID, after: int) -> Seen:
    return queries.watch(actor, id, after, queries.MESSAGES)


async def _wait(request: Request, actor: Actor, id: UUID, after: int, seconds: int) -> Seen:
    """The thread as soon as its generation is past `after`, or as it stands after `seconds`."""
    thread, credential = f"thread:{id.hex}", f"cred:{actor.credential.hex}"
    async with wake.wait([thread, credential]) as waiter, until_gone(request, waiter) as gone:
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            row, entries = await db.run(partial(_read, actor, id, after))
            waiter.know(thread, row.generation)
            waiter.know(credential, 1)
            left = deadline - asyncio.get_running_loop().time()
            if entries or gone() or not await waiter.wait(left):
                return row, entries


thread = endpoint(_thread)
