"""Pings that wait to be sent: written with the news, in its transaction; sent by `sending`, after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime

from django.db import transaction

from apps.core import ids
from apps.inbox import sql
from apps.inbox.sql import Raised

_senders: set[Callable[[], None]] = set()


def queue(heads: dict[int, Raised], now: datetime) -> None:
    """Put a ping of each raised head before each webhook that wants it.

    No statement when none does, else two. Its locks come after those of the heads.
    """
    wanted = [number for number, head in heads.items() if head.hooks]
    if not wanted:
        return
    hooks = sql.make_due(wanted, now)
    if hooks:
        sql.insert_pings([(ids.new(), id, heads[number].seq, now) for id, number in hooks])
        nudge()


def nudge() -> None:
    """Tell this process's sender that something is due, once the present transaction is committed."""
    # Robust: a nudge is a hint; the job that sends looks by itself, too.
    transaction.on_commit(send_now, robust=True)


def send_now() -> bool:
    """Tell this process's sender to look; whether there is one. From any thread."""
    for wake in list(_senders):
        wake()
    return bool(_senders)


@contextmanager
def listening() -> Iterator[asyncio.Event]:
    """What is set by each nudge within the block, on the running loop: who enters it is a sender."""
    due = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has just ended
            loop.call_soon_threadsafe(due.set)

    _senders.add(wake)
    try:
        yield due
    finally:
        _senders.discard(wake)


@asynccontextmanager
async def background(send: Callable[[asyncio.Event], Awaitable[None]]) -> AsyncIterator[None]:
    """Run a sender, which is given what each nudge sets, for as long as the block takes."""
    with listening() as due:
        task = asyncio.ensure_future(send(due))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
