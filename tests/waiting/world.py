"""Waiters in this process: the service's own application on the test's event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import httpx

from apps.core import db, times
from apps.core.actor import SCOPES, Actor
from apps.core.wake import hub, wake
from apps.identities import secrets
from apps.identities.models import Credential
from tests.harness.wait import until_async


@dataclass(frozen=True)
class Token:
    """A caller and the secret that it calls with."""

    actor: Actor
    secret: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}


def token(actor: Actor) -> Token:
    """A credential for an identity that is in the database."""
    secret = secrets.make()
    made = Credential.objects.create(
        identity_id=actor.identity, hash=secrets.digest(secret), scopes=" ".join(SCOPES)
    )
    return Token(Actor(actor.ref, actor.account, frozenset(SCOPES), made.id), secret)


def revoke(credential: UUID) -> None:
    """Take a credential away, as the call that does it will."""
    with db.write():
        Credential.objects.filter(id=credential).update(revoked_at=times.now())
        wake([f"cred:{credential.hex}"])


@asynccontextmanager
async def application() -> AsyncIterator[httpx.AsyncClient]:
    """The service's application with its hub on this loop; a client for it."""
    from relayger.asgi import application  # noqa: PLC0415  only once the database is chosen

    await hub.start()
    transport = httpx.ASGITransport(app=application)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            yield client
    finally:
        await hub.stop()
        hub.draining = False


async def waiting(pairs: int) -> None:
    """Return once so many (waiter, topic) pairs wait."""

    async def there() -> bool:
        return hub.waiting == pairs

    await until_async(there, what=f"{pairs} waits")


async def call(fn: Any, *given: Any, **fields: Any) -> Any:
    """Call what touches the database, on a thread that may."""
    return await db.run(partial(fn, *given, **fields))
