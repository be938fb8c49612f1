"""Pings that wait to be sent: written with the news, in its transaction; sent by `sending`, after it."""

from __future__ import annotations

from collections.abc import Callable
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


def add_sender(wake: Callable[[], None]) -> None:
    """Take `wake` as what tells a sender in this process to look."""
    _senders.add(wake)


def remove_sender(wake: Callable[[], None]) -> None:
    """The sender ends."""
    _senders.discard(wake)
