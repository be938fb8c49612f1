"""The schedule: what is done by the clock, whoever runs it.

Each job is a function without arguments that is safe to run twice and in two processes at once. It works in
short transactions, claims rows that others skip, and leaves what one run cannot do to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session

from apps.core import times
from apps.identities.actions import flush_presence
from apps.inbox.sending import send_due
from apps.inbox.sql import forget_pings
from apps.lifecycle import sql
from apps.lifecycle.deletion import end_what_is_open
from apps.lifecycle.purge import purge_deleted
from apps.lifecycle.suspension import lift_due
from apps.threads.actions import expire_due
from apps.threads.blobs import drop_due

SENDING = "send_due"
BATCH = 1_000
MOST_BATCHES = 100  # of one run, so that a run ends


@dataclass(frozen=True, slots=True)
class Job:
    """What to call, and how many seconds to wait between two calls.

    `everywhere`: it is about what each serving process holds, so no worker can do it for them.
    """

    name: str
    work: Callable[[], object]
    every: float
    everywhere: bool = False

    def run(self) -> None:
        """Do it, and note that it was done."""
        self.work()
        sql.note_run(self.name, times.now())


def expire_threads() -> None:
    """End the threads that nobody wrote on for too long."""
    for _ in range(MOST_BATCHES):
        if not expire_due():
            return


def drop_old_events() -> None:
    """Keep an inbox's newest events of the last days; its floor tells readers what is gone."""
    config = settings.RELAYGER
    before = times.now() - timedelta(days=config.inbox_days)
    left = MOST_BATCHES
    while left > 0:
        numbers = sql.overfull_inboxes(before, config.inbox_events)[:left]
        left -= len(numbers)
        # When not one of them moves, others are at work on them.
        if not sum(sql.drop_events(number, before, config.inbox_events, BATCH) for number in numbers):
            return


def forget_idempotency_keys() -> None:
    """Forget calls that nobody repeats any more."""
    before = times.now() - timedelta(days=settings.RELAYGER.idempotency_days)
    _drain(lambda: sql.forget_keys(before, BATCH))


def free_held_handles() -> None:
    """Give back handles that their former owners have not taken again."""
    _drain(lambda: sql.free_handles(times.now(), BATCH))


def forget_audit() -> None:
    """Forget what happened to identities' access too long ago."""
    before = times.now() - timedelta(days=settings.RELAYGER.audit_days)
    _drain(lambda: sql.forget_audit(before, BATCH))


def forget_sessions() -> None:
    """Forget the sessions of people who have not come back."""
    Session.objects.filter(expire_date__lt=times.now()).delete()


def forget_deliveries() -> None:
    """Forget the pings of webhooks that wait no more."""
    before = times.now() - timedelta(days=settings.RELAYGER.delivery_days)
    _drain(lambda: forget_pings(before, BATCH))


def _drain(batch: Callable[[], int]) -> None:
    for _ in range(MOST_BATCHES):
        if batch() < BATCH:
            return


_minute = settings.RELAYGER.job_seconds
SCHEDULE = [
    Job("expire_threads", expire_threads, _minute),
    Job("end_what_is_open", end_what_is_open, _minute),
    Job("purge_deleted", purge_deleted, _minute),
    Job("lift_due", lift_due, _minute),
    Job("flush_presence", flush_presence, _minute, everywhere=True),
    Job("drop_due", drop_due, _minute),
    Job("drop_old_events", drop_old_events, _minute * 60),
    Job("forget_idempotency_keys", forget_idempotency_keys, _minute * 60),
    Job("free_held_handles", free_held_handles, _minute * 60),
    Job(SENDING, send_due, settings.RELAYGER.outbox_seconds),
    Job("forget_deliveries", forget_deliveries, _minute * 60),
    Job("forget_sessions", forget_sessions, _minute * 60),
    Job("forget_audit", forget_audit, _minute * 60),
]


def late(since: datetime) -> list[str]:
    """The jobs that have not run for two of their periods, of which none counts before `since` (one statement)."""
    ran = sql.runs()
    now = times.now()
    return [
        job.name
        for job in SCHEDULE
        if now - max(ran.get(job.name, since), since) > timedelta(seconds=2 * job.every)
    ]
