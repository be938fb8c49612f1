"""The bytes of files in the storage: put, read and dropped so that none stay for ever without need.

A key is written down with a time to drop it before its bytes are stored, and taken off in the transaction that stores
its version. Whatever a kill leaves, `drop_due` finds. The storage may be far away: no call here holds a connection of
the database while it waits for it.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Any, TypeVar

from django.core.files import File as Content
from django.core.files.storage import FileSystemStorage, storages

from apps.core import db, times
from apps.core.errors import Code, DomainError
from apps.threads.models import FileVersion, StoredBlob

logger = logging.getLogger(__name__)

T = TypeVar("T")

_GRACE = timedelta(hours=1)  # what storing a file and its version may take
_AGAIN = timedelta(minutes=10)  # until bytes that could not be dropped are tried again
_BATCH = 100
_MOST_BATCHES = 100  # of one run of the job, so that it ends

# The storage waits for a disk or a network; neither the loop nor the database's threads may.
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="files")


async def run(fn: Callable[[], T]) -> T:
    """Call `fn`, which may use the storage and the database, on one of the threads for files."""
    return await db.run(fn, _threads)


@dataclass(frozen=True, slots=True)
class Blob:
    """A key whose bytes are dropped at a time unless a version takes it."""

    key: str
    drop_at: datetime

    def take(self) -> None:
        """Keep the bytes, in the transaction that stores their version. Raises unavailable after their time."""
        # By its time too: who drops it has moved that.
        taken, _ = StoredBlob.objects.filter(key=self.key, drop_at=self.drop_at).delete()
        if not taken:
            raise away()


@contextmanager
def stored(content: IO[bytes]) -> Iterator[Blob]:
    """Store bytes under a new key; they are dropped again unless the block takes them. Raises unavailable."""
    name = secrets.token_hex(16)
    blob = Blob(f"{name[:2]}/{name}", times.now() + _GRACE)
    with db.write():
        StoredBlob.objects.create(key=blob.key, drop_at=blob.drop_at)
    try:
        _put(blob.key, content)
        yield blob
    finally:
        drop([blob.key])


def _put(key: str, content: IO[bytes]) -> None:
    with _reaching():
        storage = storages["default"]
        content.seek(0)
        if storage.save(key, Content(content)) != key:
            raise FileExistsError(key)
        if isinstance(storage, FileSystemStorage):
            # As the database's own commit: what is answered for survives the machine, too.
            with open(storage.path(key), "rb") as file:
                os.fsync(file.fileno())


def open_(key: str) -> IO[bytes]:
    """The bytes under a key, to read and close. Raises unavailable."""
    with _reaching():
        file: Any = storages["default"].open(key)
        file.file  # noqa: B018  what S3 has is fetched only now
        return file  # type: ignore[no-any-return]


def release(keys: Sequence[str]) -> None:
    """Say that no version needs these bytes any more, in the transaction that deletes the last of them."""
    now = times.now()
    StoredBlob.objects.bulk_create([StoredBlob(key=key, drop_at=now) for key in keys], ignore_conflicts=True)


def released(instance: FileVersion, **_: Any) -> None:
    """Receives post_delete of every version, whatever deletes it."""
    release([instance.key])


def drop(keys: Sequence[str]) -> None:
    """Drop bytes now; what cannot be dropped is left to the job."""
    try:
        with db.write():
            rows = StoredBlob.objects.filter(key__in=keys)
            rows.update(drop_at=times.now() + _AGAIN)
            found = list(rows.values_list("key", flat=True))
        if found:
            _drop(found)
    except Exception:
        logger.warning("bytes of files are left to the job", exc_info=True)


def drop_due() -> None:
    """The job: drop the bytes whose time has come. Safe to run twice, and in two processes at once."""
    for _ in range(_MOST_BATCHES):
        keys = _claim()
        if not _drop(keys) or len(keys) < _BATCH:
            return


def _claim() -> list[str]:
    """Some keys whose time has come; nobody else drops them for a while, and no version takes them any more."""
    now = times.now()
    with db.write():
        due = StoredBlob.objects.select_for_update(skip_locked=True).filter(drop_at__lte=now)
        keys = list(due.order_by("drop_at").values_list("key", flat=True)[:_BATCH])
        StoredBlob.objects.filter(key__in=keys).update(drop_at=now + _AGAIN)
    return keys


def _drop(keys: Sequence[str]) -> bool:
    """Drop bytes and the notes of their keys, up to the first that fails; whether none did."""
    dropped = []
    try:
        with _reaching():
            for key in keys:
                storages["default"].delete(key)
                dropped.append(key)
    except DomainError:
        return False
    finally:
        if dropped:
            StoredBlob.objects.filter(key__in=dropped).delete()
    return True


@contextmanager
def _reaching() -> Iterator[None]:
    """Use the storage without the database. Raises unavailable for whatever its client raises."""
    db.give_back()
    try:
        yield
    except Exception as error:
        logger.warning("the storage of files fails: %s", type(error).__name__)
        raise away() from error


def away() -> DomainError:
    """A 503 for the moments the storage cannot be reached."""
    return DomainError(
        Code.UNAVAILABLE, "The service cannot reach its files.", next="Try again.", retry_after=5
    )
