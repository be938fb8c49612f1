"""GET /v1/me/export: as long as its reader takes, without holding a thread or a connection meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from apps.core import db, limits, times, wake
from apps.core.actor import Actor
from apps.core.asgi import Gone, Reply, Request, endpoint, until_gone
from apps.core.errors import Code, DomainError
from apps.lifecycle import export

_LAST_SECONDS = 1.0  # what a reader has to take the last line in, once it may read no more
_LOOK_SECONDS = 60.0
_PIECE = 1 << 16  # bytes that a reader has to take before its time begins anew, if no line is longer


async def _export(request: Request, reply: Reply) -> None:
    actor = await db.run(partial(export.begin, request.header("authorization"), request.address))
    request.only(())
    headers = [
        ("Content-Type", "application/x-ndjson"),
        ("Content-Disposition", f'attachment; filename="relayger-{actor.identity}.ndjson"'),
        ("Cache-Control", "no-store"),
        ("X-Accel-Buffering", "no"),
    ]
    if request.method == "HEAD":
        await reply.start(200, headers)
        await reply.end()
        return
    topic = f"cred:{actor.credential.hex}"
    with limits.slot("export", actor.identity, 1):
        async with wake.wait([topic]) as waiter, until_gone(request, waiter) as gone:
            waiter.know(topic, 1)
            await reply.start(200, headers)
            try:
                await _watched(actor, reply, waiter, gone)
            except DomainError as error:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LAST_SECONDS):
                        await reply.end(export.line("error", error.body()["error"]))
                raise


async def _watched(actor: Actor, reply: Reply, waiter: wake.Waiter, gone: Callable[[], bool]) -> None:
    """Send it all, unless the access is taken away: also while a slow reader keeps a page waiting.

    Raises what `export.check` raises, connection_closed when the process drains.
    """
    sending = asyncio.create_task(_send(actor, reply))
    sending.add_done_callback(lambda _task: waiter.wake())
    try:
        while not sending.done() and not gone():
            await waiter.wait(_LOOK_SECONDS)
            if wake.hub.draining and not sending.done():
                raise DomainError(
                    Code.CONNECTION_CLOSED, "The service stops.", next="Start the export again."
                )
            if not sending.done() and not gone():
                await db.run(partial(export.check, actor))
        if sending.done():
            sending.result()
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError, Gone, DomainError):
            await sending


def _pieces(lines: list[bytes]) -> Iterator[bytes]:
    """Lines in small pieces. None is broken: an export that ends early does so between two of them."""
    piece = b""
    for line in lines:
        if piece and len(piece) + len(line) > _PIECE:
            yield piece
            piece = b""
        piece += line
    if piece:
        yield piece


async def _send(actor: Actor, reply: Reply) -> None:
    about = {"version": 1, "identity": actor.ref.show(), "at": times.show(times.now())}
    await reply.write(export.line("export", about))
    counts: dict[str, int] = dict.fromkeys(export.SECTIONS, 0)
    for name in export.SECTIONS:
        at: Any = None
        while True:
            part = await db.run(partial(export.read, actor, name, at))
            counts[name] += len(part.lines)
            for piece in _pieces(part.lines):
                await reply.write(piece)
            at = part.at
            if at is None:
                break
    await reply.end(export.line("end", counts))


export_me = endpoint(_export)
