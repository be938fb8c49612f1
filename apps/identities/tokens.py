"""Tokens: listed, made, rotated, revoked. None is ever wider than the one that made it, or lives longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from apps.core import audit, db, idempotency, ids, paging, times
from apps.core.actor import SCOPES, Actor
from apps.core.errors import Code, DomainError, invalid, not_found, unauthenticated
from apps.core.paging import Page
from apps.core.wake import wake
from apps.identities import secrets
from apps.identities.models import Credential, Identity

MAX_DAYS = 3650


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token without its secret; `current` when it is the one that asks."""

    id: UUID
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    current: bool

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "id": ids.show("tok", self.id),
            "name": self.name,
            "scopes": list(self.scopes),
            "created_at": times.show(self.created_at),
            "expires_at": times.show_maybe(self.expires_at),
            "last_used_at": times.show_maybe(self.last_used_at),
            "current": self.current,
        }


@dataclass(frozen=True, slots=True)
class Made:
    """A new token with its secret, which is shown this once; no secret when an earlier call made it."""

    view: TokenView
    secret: str | None

    @property
    def duplicate(self) -> bool:
        """Whether an earlier call made it."""
        return self.secret is None


# -- reading ----------------------------------------------------------------------------------------------------


def listed(actor: Actor, limit: int, cursor: str | None) -> Page[TokenView]:
    """A page of the actor's live tokens, newest first (one statement).

    Raises insufficient_scope, invalid for another list's cursor.
    """
    actor.need("tokens")
    page = paging.newest(_live(actor), "created_at", f"tokens:{actor.identity}", limit, cursor)
    return Page([_view(actor, row) for row in page.items], page.next_cursor)


# -- writing ----------------------------------------------------------------------------------------------------


def make(
    actor: Actor,
    name: str,
    *,
    scopes: Sequence[str] | None = None,
    expires_in_days: int | None = None,
    client_id: str | None = None,
) -> Made:
    """Make a token with some of the caller's own scopes, all of them unless told otherwise.

    It expires when it is told to, and never later than the token that makes it. Raises insufficient_scope for a
    scope that the caller lacks, invalid, quota_exceeded, idempotency_conflict, unauthenticated.
    """
    actor.need("tokens")
    wanted = _ordered(actor.scopes if scopes is None else scopes)
    for scope in wanted:
        actor.need(scope)
    content = idempotency.content_hash(name, wanted, expires_in_days)
    with db.write():
        maker = lock(actor)
        earlier = _earlier(actor, "token", client_id, content)
        if earlier is not None:
            return earlier
        most: int = settings.RELAYGER.max_tokens
        if _live(actor).count() >= most:
            raise DomainError(
                Code.QUOTA_EXCEEDED,
                f"An identity has at most {most} live tokens.",
                next="Revoke one with DELETE /v1/tokens/{id}.",
            )
        expires_at = _expiry(maker, expires_in_days)
        row, secret = _insert(actor, name, wanted, expires_at)
        _keep(actor, "token", client_id, content, row)
        audit.record(actor, "token.created", **_detail(row))
    return Made(_view(actor, row), secret)


def rotate(actor: Actor, id: UUID, *, client_id: str | None = None) -> Made:
    """Replace a token by a new one with the same name, scopes and expiry; the old one is dead at once.

    Raises insufficient_scope for a token that is wider than the caller's or outlives it, not_found,
    idempotency_conflict, unauthenticated.
    """
    actor.need("tokens")
    content = idempotency.content_hash(id.hex)
    with db.write():
        maker = lock(actor)
        earlier = _earlier(actor, "token.rotate", client_id, content)
        if earlier is not None:
            return earlier
        old = _mine(actor, id)
        for scope in old.scopes.split():
            actor.need(scope)
        if _outlives(old, maker):
            raise DomainError(
                Code.INSUFFICIENT_SCOPE,
                "This token expires before the one that it would rotate.",
                next="Use a token that lives at least as long, or revoke that one and make another.",
            )
        _end(old)
        row, secret = _insert(actor, old.name, old.scopes.split(), old.expires_at)
        _keep(actor, "token.rotate", client_id, content, row)
        audit.record(actor, "token.rotated", **_detail(row), replaces=ids.show("tok", old.id))
        wake([f"cred:{old.id.hex}"])
    return Made(_view(actor, row), secret)


def revoke(actor: Actor, id: UUID) -> None:
    """End a token of the caller's own, wider ones and the one that asks included; its waits end with it.

    Raises insufficient_scope, not_found, unauthenticated.
    """
    actor.need("tokens")
    with db.write():
        lock(actor)
        row = _mine(actor, id)
        _end(row)
        audit.record(actor, "token.revoked", **_detail(row))
        wake([f"cred:{row.id.hex}"])


def lock(actor: Actor) -> Credential:
    """Lock the actor's identity until commit, and look once more whether its credential lives; that credential.

    Who was let in a moment before the token was revoked makes nothing that outlives it. Raises unauthenticated.
    """
    identity = Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
    found = Credential.objects.filter(_LIVING, _unexpired(), pk=actor.credential).first()
    if found is None or identity.deleted_at is not None or identity.suspended_at is not None:
        raise unauthenticated()
    return found


# -- what they share --------------------------------------------------------------------------------------------

_LIVING = Q(revoked_at=None)


def _unexpired() -> Q:
    return Q(expires_at=None) | Q(expires_at__gt=times.now())


def _live(actor: Actor) -> QuerySet[Credential]:
    return Credential.objects.filter(
        _LIVING, _unexpired(), identity=actor.identity, kind=Credential.Kind.TOKEN
    )


def _mine(actor: Actor, id: UUID) -> Credential:
    row = _live(actor).filter(pk=id).first()
    if row is None:
        raise absent()
    return row


def _end(row: Credential) -> None:
    row.revoked_at = times.now()
    row.save(update_fields=["revoked_at"])


def _insert(
    actor: Actor, name: str, scopes: Sequence[str], expires_at: datetime | None
) -> tuple[Credential, str]:
    secret = secrets.make()
    row = Credential.objects.create(
        identity_id=actor.identity,
        name=name,
        hash=secrets.digest(secret),
        scopes=" ".join(scopes),
        expires_at=expires_at,
    )
    return row, secret


def _expiry(maker: Credential, days: int | None) -> datetime | None:
    wanted = None if days is None else times.now() + timedelta(days=days)
    ends = [moment for moment in (wanted, maker.expires_at) if moment is not None]
    return min(ends) if ends else None


def _outlives(one: Credential, other: Credential) -> bool:
    if other.expires_at is None:
        return False
    return one.expires_at is None or one.expires_at > other.expires_at


def _ordered(scopes: Sequence[str] | frozenset[str]) -> list[str]:
    """Scopes once each, in the order in which they are documented. Raises invalid for one that there is not."""
    for scope in scopes:
        if scope not in SCOPES:
            raise invalid("scopes", f"There is no scope {scope[:40]!r}.", next=f"Known: {', '.join(SCOPES)}.")
    return [scope for scope in SCOPES if scope in scopes]


def _earlier(actor: Actor, action: str, client_id: str | None, content: bytes) -> Made | None:
    """What an earlier, equal call made, without its secret; whatever became of it since."""
    if client_id is None:
        return None
    subject = idempotency.find(actor.identity, action, client_id, content)
    if subject is None:
        return None
    row = Credential.objects.filter(pk=UUID(subject), identity=actor.identity).first()
    if row is None:
        raise absent()
    return Made(_view(actor, row), None)


def _keep(actor: Actor, action: str, client_id: str | None, content: bytes, row: Credential) -> None:
    if client_id is not None:
        idempotency.keep(actor.identity, action, client_id, content, row.id.hex)


def _detail(row: Credential) -> dict[str, Any]:
    return {"token": ids.show("tok", row.id), "name": row.name, "scopes": row.scopes.split()}


def _view(actor: Actor, row: Credential) -> TokenView:
    return TokenView(
        row.id,
        row.name,
        tuple(row.scopes.split()),
        row.created_at,
        row.expires_at,
        row.last_used_at,
        row.id == actor.credential,
    )


def absent() -> DomainError:
    """The refusal of a token that is not there, dead, or another's."""
    return not_found("token")
