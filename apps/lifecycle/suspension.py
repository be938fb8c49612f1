"""Suspending identities: what operators do, and the clock undoes."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from apps.core import audit, db, times
from apps.core.errors import invalid, not_found
from apps.identities.access import wake_all
from apps.identities.models import Identity
from apps.lifecycle import sql

MAX_REASON = 500
BATCH = 100
MOST_BATCHES = 100  # of one run of the job, so that it ends


def suspend(number: int, reason: str, until: datetime | None = None) -> None:
    """Shut an identity out until a time, or until `lift`; what it waits for ends. Again changes reason and time.

    It is told the reason. Its open threads stay as they are. Raises not_found, invalid.
    """
    reason = reason.strip()
    if not 1 <= len(reason) <= MAX_REASON:
        raise invalid("reason", f"A reason has 1 to {MAX_REASON} characters.")
    now = times.now()
    if until is not None and until <= now:
        raise invalid("until", "Must be a time to come.")
    with db.write():
        identity = _locked(number)
        if identity.suspended_at is None:
            identity.suspended_at = now
        identity.suspended_reason, identity.suspended_until = reason, until
        identity.save(update_fields=["suspended_at", "suspended_reason", "suspended_until"])
        shown = times.show_maybe(until)
        audit.record_for(number, "suspended", reason=reason, until=shown)
        wake_all(number)


def lift(number: int) -> None:
    """Let a suspended identity in again; one that is not suspended stays as it is. Raises not_found."""
    with db.write():
        identity = _locked(number)
        if identity.suspended_at is not None:
            identity.suspended_at = identity.suspended_until = None
            identity.suspended_reason = ""
            identity.save(update_fields=["suspended_at", "suspended_reason", "suspended_until"])
            audit.record_for(number, "suspension.lifted", by="operator")


def lift_due() -> None:
    """The job: lift the suspensions whose time has passed. Safe to run twice."""
    for _ in range(MOST_BATCHES):
        with db.write():
            lifted = sql.lift_suspensions(times.now(), BATCH)
            for number in lifted:
                audit.record_for(number, "suspension.lifted", by="clock")
        if len(lifted) < BATCH:
            return


def _locked(number: int) -> Identity:
    """An identity that is not gone for good, under its lock. Raises not_found."""
    rows: QuerySet[Identity] = Identity.objects.select_for_update(no_key=True)
    found = rows.exclude(deleted_at__isnull=False, purge_at=None).filter(pk=number).first()
    if found is None:
        raise not_found("identity")
    return found
