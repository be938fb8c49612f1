"""Deleting an identity: gone at once for everybody else, restorable for some days, then gone for good.

The deletion itself is one transaction. What the identity had open ends after it, a chat at a time: in the call as far
as it takes little time, the rest, or what a killed process left, by `end_what_is_open`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from apps.core import audit, db, limits, times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, unauthenticated
from apps.identities import queries
from apps.identities.access import wake_all
from apps.identities.models import Identity
from apps.identities.queries import Own
from apps.threads import ending

_AT_ONCE = 50  # chats whose threads end, and rooms that are left, before the call is answered
_BATCH = 100
_MOST_BATCHES = 100  # of one run of the job, so that it ends


@dataclass(frozen=True, slots=True)
class Deleted:
    """When an identity was deleted and when it will be gone for good."""

    deleted_at: datetime
    purge_at: datetime

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "deleted_at": times.show(self.deleted_at),
            "purge_at": times.show(self.purge_at),
            "next": "Until `purge_at`, POST /v1/me/restore with the same token brings it back.",
        }


def delete(actor: Actor) -> Deleted:
    """Delete the actor's identity; its tokens are good for `restore` alone from now on.

    Raises insufficient_scope, unauthenticated when it is being removed for good.
    """
    actor.need("profile")
    with db.write():
        identity = Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
        if identity.deleted_at is None:
            identity.deleted_at = times.now()
            identity.purge_at = identity.deleted_at + timedelta(days=settings.RELAYGER.delete_days)
            identity.save(update_fields=["deleted_at", "purge_at"])
            audit.record(actor, "identity.deleted")
            wake_all(actor.identity)
        deleted, purged = identity.deleted_at, identity.purge_at
    if purged is None:
        raise unauthenticated()
    ending.end_threads(actor.identity, _AT_ONCE)
    ending.leave_rooms(actor, _AT_ONCE)
    return Deleted(deleted, purged)


def restore(header: str | None, address: str) -> Own:
    """Bring back the deleted identity whose token this is, as it was but for what has ended.

    Raises unauthenticated, suspended, not_deleted for a token that is good for every call, insufficient_scope.
    """
    actor, deleted = queries.authenticate_deleted(header, address)
    limits.hit("write", actor.identity)
    actor.need("profile")
    if not deleted:
        raise _not_deleted()
    with db.write():
        identity = Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
        if identity.deleted_at is None:
            raise _not_deleted()
        if identity.purge_at is None or identity.purge_at <= times.now():
            raise unauthenticated()
        identity.deleted_at = identity.purge_at = None
        identity.save(update_fields=["deleted_at", "purge_at"])
        audit.record(actor, "identity.restored")
    return queries.own(actor.identity)


def _not_deleted() -> DomainError:
    return DomainError(Code.NOT_DELETED, "This identity is not deleted.")


def end_what_is_open() -> None:
    """The job: end the threads of deleted identities, and take these out of their rooms. Safe to run twice."""
    for _ in range(_MOST_BATCHES):
        numbers = ending.unfinished(_BATCH)
        for number in numbers:
            finish(number)
        if len(numbers) < _BATCH:
            return


def finish(number: int) -> bool:
    """End all that a deleted identity has open; False when that is more than one run does."""
    row = Identity.objects.get(pk=number)
    gone = Actor(row.ref, row.account_id, frozenset(), UUID(int=0))
    # Both are tried in each round; what neither finds is done.
    rounds = (
        ending.end_threads(number, _BATCH) + ending.leave_rooms(gone, _BATCH) for _ in range(_MOST_BATCHES)
    )
    return any(not found for found in rounds)
