"""Claiming: an agent that registered itself comes into the account of the identity that it gave a code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from apps.core import audit, db, times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid, not_found
from apps.identities import queries, secrets, tokens
from apps.identities.models import Account, Claim, Identity, Role
from apps.identities.queries import Profile

MINUTES = 60


@dataclass(frozen=True, slots=True)
class Offer:
    """A code that is good for one claim, shown this once."""

    code: str
    expires_at: datetime

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {"code": self.code, "expires_at": times.show(self.expires_at)}


def offer(actor: Actor) -> Offer:
    """Make a code by which another identity's account takes over the actor, an agent; earlier codes are void.

    Raises insufficient_scope, invalid for a person, not_owner when a person's account has the agent already,
    unauthenticated.
    """
    actor.need("tokens")
    if actor.ref.kind != Identity.Kind.AGENT:
        raise invalid(None, "Only an agent can be claimed.", next="Make a code with the agent's token.")
    with db.write():
        tokens.lock(actor)
        if _of_a_person(actor.identity):
            raise DomainError(
                Code.NOT_OWNER,
                "This agent belongs to a person's account already.",
                next="Only that person may give it away.",
            )
        code = secrets.make_code()
        now = times.now()
        Claim.objects.filter(identity=actor.identity, used_at=None).delete()
        made = Claim.objects.create(
            identity_id=actor.identity,
            hash=secrets.digest(code),
            created_at=now,
            expires_at=now + timedelta(minutes=MINUTES),
        )
        audit.record(actor, "claim.offered")
    return Offer(code, made.expires_at)


def claim(actor: Actor, code: str) -> Profile:
    """Take the agent that made `code` into the actor's account; the agent, as its new owner sees it.

    The account that it leaves goes when nobody else is in it. Raises insufficient_scope, not_found for a code
    that is wrong, used, void or expired alike, invalid for the actor's own, unauthenticated.
    """
    actor.need("tokens")
    hash = secrets.digest(code)
    # Only who is meant is read before the locks; whether the code is good is decided under them.
    found = Claim.objects.filter(hash=hash).values_list("identity_id", flat=True).first()
    number: int = found or 0
    if number == actor.identity:
        raise invalid("code", "An agent cannot claim itself.", next="Give the code to another identity.")
    with db.write():
        rows = {
            row.number: row
            for row in Identity.objects.select_for_update(no_key=True)
            .filter(number__in=[number, actor.identity])
            .order_by("number")
        }
        tokens.lock(actor)
        agent = rows.get(number)
        now = times.now()
        used = Claim.objects.filter(hash=hash, used_at=None, expires_at__gt=now).update(used_at=now)
        if not used or agent is None or agent.deleted_at is not None or agent.suspended_at is not None:
            raise not_found("code")
        _move(actor, agent, rows[actor.identity].account_id)
    return queries.own(agent.number).profile


def _move(actor: Actor, agent: Identity, account: UUID) -> None:
    left = agent.account_id
    agent.account_id = account
    agent.custody = Identity.Custody.ACCOUNT
    agent.save(update_fields=["account", "custody"])
    if left != account and not Identity.objects.filter(account=left).exists():
        Account.objects.filter(pk=left, roles=None).delete()
    audit.record(actor, "claimed", agent=str(agent.number))
    audit.record_for(agent.number, "claimed", by=str(actor.identity))


def _of_a_person(number: int) -> bool:
    """Whether the account of an identity has a person: a user with a role, or a human identity."""
    account = Identity.objects.values_list("account_id", flat=True).get(pk=number)
    return (
        Role.objects.filter(account=account).exists()
        or Identity.objects.filter(account=account, kind=Identity.Kind.HUMAN).exists()
    )
