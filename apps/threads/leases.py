"""Who works on a thread: a lease with an attempt, so that a worker that lost it cannot answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from apps.core import times
from apps.core.errors import Code, DomainError
from apps.threads.sql import ThreadRow

MAX_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Leased:
    """A thread that is worked on; `attempt` and `until` are None without a lease."""

    thread: ThreadRow
    attempt: int | None
    until: datetime | None

    @classmethod
    def of(cls, thread: ThreadRow, worker: str | None) -> Leased:
        """What a worker is told; nobody gets an attempt without a name."""
        return cls(thread, None, None) if worker is None else cls(thread, thread.attempt, thread.lease_until)


def take(thread: ThreadRow, worker: str, seconds: int, attempt: int | None) -> ThreadRow:
    """The thread with a lease for `worker`: a new attempt, or the same one renewed when it is named.

    Raises leased while another attempt's lease runs, lease_lost when the named attempt is not the newest.
    """
    now = times.now()
    until = now + timedelta(seconds=seconds)
    if attempt is not None:
        check(thread, attempt)
        if thread.lease_owner != worker:
            raise _lost()
        return replace(thread, lease_until=until)
    if thread.lease_until is not None and thread.lease_until > now:
        raise DomainError(
            Code.LEASED,
            "Another worker has this thread.",
            next="Take another thread, or try again after `until`.",
            extra={"until": times.show(thread.lease_until)},
        )
    return replace(thread, lease_owner=worker, lease_until=until, attempt=thread.attempt + 1)


def check(thread: ThreadRow, attempt: int | None) -> None:
    """Raise lease_lost when `attempt` is given and is not the newest."""
    if attempt is not None and attempt != thread.attempt:
        raise _lost()


def _lost() -> DomainError:
    return DomainError(
        Code.LEASE_LOST,
        "This attempt is no longer the one that works on the thread.",
        field="attempt",
        next="Drop this work; another worker has the thread.",
    )
