"""The database as the hot paths use it: one pool of threads, one kind of write, plain statements."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, connection, transaction

from apps.core.errors import unavailable

T = TypeVar("T")

_threads = ThreadPoolExecutor(max_workers=settings.RELAYGER.db_threads, thread_name_prefix="db")
# SQLite has one writer. Queueing here is fair and cheap; its own busy handler polls, and starves.
_writer = threading.RLock()


async def run(fn: Callable[[], T], threads: ThreadPoolExecutor = _threads) -> T:
    """Call `fn` on one of the few threads that may hold a connection, and give the connection back.

    Raises DomainError unavailable when the database cannot be reached or has no connection free in time.
    """
    context = contextvars.copy_context()  # what the call counts belongs to it on any thread
    return await asyncio.get_running_loop().run_in_executor(threads, context.run, _call, fn)


def _call(fn: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return fn()
    except (OperationalError, InterfaceError) as error:
        connection.close()
        raise unavailable() from error
    finally:
        close_old_connections()


def give_back(**_: Any) -> None:
    """Receives request_finished: the threads of Django's handler end with their request.

    SQLite's connections are made to be kept, and these would stay open until they are collected.
    """
    if not connection.in_atomic_block:
        connection.close()


@contextmanager
def write() -> Iterator[None]:
    """One write transaction: all of it is stored when the block ends, or none of it."""
    if connection.vendor == "sqlite":
        with _writer, transaction.atomic():
            yield
    else:
        with transaction.atomic():
            yield


def lock() -> str:
    """The clause that locks a row until commit; SQLite's one writer needs none."""
    return " FOR NO KEY UPDATE" if connection.vendor == "postgresql" else ""


def rows(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run one statement and return its rows. UUIDs and times in `params` are given as the database keeps them."""
    with connection.cursor() as cursor:
        cursor.execute(sql, _adapt(params))
        return cursor.fetchall() if cursor.description else []


def row(sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """The first row of a statement, or None."""
    found = rows(sql, params)
    return found[0] if found else None


def many(sql: str, values: str, items: Sequence[Sequence[Any]], tail: str = "") -> list[tuple[Any, ...]]:
    """One statement with `values` (a parenthesized placeholder list) repeated once per item."""
    return rows(
        f"{sql} {', '.join([values] * len(items))} {tail}", [value for item in items for value in item]
    )


def places(values: Sequence[Any]) -> str:
    """Placeholders for an IN list; never empty, so that an empty list matches nothing."""
    return ", ".join(["%s"] * len(values)) if values else "NULL"


def _adapt(params: Sequence[Any]) -> Sequence[Any]:
    if connection.vendor == "postgresql":
        return params
    return [
        value.hex
        if isinstance(value, UUID)
        else str(value.astimezone(UTC).replace(tzinfo=None))
        if isinstance(value, datetime)
        else value
        for value in params
    ]


def uuid(value: Any) -> UUID:
    """A UUID column of a raw row, whichever database it came from."""
    return value if isinstance(value, UUID) else UUID(value)


def maybe_uuid(value: Any) -> UUID | None:
    """The same for a column that may be null."""
    return None if value is None else uuid(value)


def time(value: Any) -> datetime:
    """A time column of a raw row, aware and in UTC; SQLite gives naive ones, or texts out of expressions."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def maybe_time(value: Any) -> datetime | None:
    """The same for a column that may be null."""
    return None if value is None else time(value)
