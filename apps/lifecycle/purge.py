"""The end of an identity that was deleted long enough ago: what it had goes, a batch at a time.

What it said to others stays, as from a deleted identity: its row stays too, without anything personal, so that
neither its number, its handle nor its keys ever come to another. Each batch is a transaction that claims the
identity first; a killed process leaves the rest to the next run.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db.models import Q

from apps.contacts.models import Block
from apps.core import db, times
from apps.identities import handles
from apps.identities.models import Account, Identity, Key, Role
from apps.lifecycle import sql
from apps.lifecycle.deletion import finish
from apps.threads.models import File, FileVersion

_BATCH = 100  # identities looked at, and files that go in one transaction
_ROWS = 1_000
_MOST_BATCHES = 1_000  # of one step of one run, so that it ends
_NOBODY = UUID(int=0)  # the account of those who are gone

Step = Callable[[int], int]


def purge_deleted() -> None:
    """The job: remove for good who was deleted and may not be restored any more. Safe to run twice."""
    due = Identity.objects.filter(purge_at__lte=times.now()).order_by("purge_at")
    for number in list(due.values_list("pk", flat=True)[:_BATCH]):
        purge(number)


def purge(number: int) -> bool:
    """Remove an identity whose time has passed; False when something is left for another run, or another process."""
    if not finish(number):
        return False
    return all(_drained(number, step) for step in _STEPS) and _bury(number)


def _drained(number: int, step: Step) -> bool:
    """Repeat a step, a transaction each time, until it finds nothing."""
    for _ in range(_MOST_BATCHES):
        with db.write():
            if not sql.claim_gone(number, times.now()):
                return False
            if not step(number):
                return True
    return False


def _drop_files(number: int) -> int:
    """Delete the versions of some of its files, which releases their bytes."""
    now = times.now()
    files = list(
        File.objects.filter(owner=number)
        .filter(Q(deleted_at=None) | Q(versions__isnull=False))
        .distinct()[:_BATCH]
    )
    FileVersion.objects.filter(file__in=files).delete()
    File.objects.filter(pk__in=[file.pk for file in files], deleted_at=None).update(deleted_at=now)
    return len(files)


def _step(table: sql.Table) -> Step:
    return lambda number: sql.drop(table, number, _ROWS)


_STEPS: list[Step] = [
    _drop_files,
    lambda number: sql.blank(number, _ROWS, times.now()),
    lambda number: sql.unname(number, handles.tombstone(number), _ROWS),
    *map(_step, sql.TABLES),
]


def _bury(number: int) -> bool:
    """Leave of an identity no more than that it was there."""
    with db.write():
        if not sql.claim_gone(number, times.now()) or sql.left(number):
            return False  # another transaction held a row that the steps passed over
        now = times.now()
        row = Identity.objects.select_related("user").get(pk=number)
        user = row.user
        Key.objects.filter(identity=number, retired_at=None).update(retired_at=now)
        row.handle = handles.tombstone(number)  # `Handle` keeps its old one from everybody for ever
        row.display_name = row.description = row.search_text = row.suspended_reason = ""
        row.listed = False
        row.user = row.suspended_at = row.suspended_until = row.hidden_at = row.purge_at = None
        row.updated_at = now
        row.save()
        if user is not None and not user.is_staff:
            user.delete()
        _close(row.account_id)
    return True


def _close(account: UUID) -> None:
    """Delete an account in which nobody is any more, neither a user nor an identity.

    Whoever blocks it still does not read what it said: then it stays, and is nothing but its id.
    """
    Account.objects.select_for_update(no_key=True).get(pk=account)  # two of its identities may end at once
    gone = Q(deleted_at__isnull=False, purge_at=None)
    if Role.objects.filter(account=account).exists():
        return
    if Identity.objects.filter(account=account).exclude(gone).exists():
        return
    if Block.objects.filter(other__account=account).exists():
        Account.objects.filter(pk=account).update(name="")
        return
    Account.objects.get_or_create(pk=_NOBODY)
    Identity.objects.filter(account=account).update(account=_NOBODY)
    Account.objects.filter(pk=account).exclude(pk=_NOBODY).delete()
