"""Who makes a call."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from apps.core.errors import Code, DomainError

SCOPES = (
    "profile",
    "contacts",
    "messages:read",
    "messages:write",
    "files",
    "webhooks",
    "tokens",
)


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated caller; every action and query takes one and starts from what it may see.

    `identity` is the number, `address` the client's address as the service trusts it ("" for jobs).
    """

    identity: int
    account: UUID
    kind: str
    handle: str
    scopes: frozenset[str]
    credential: UUID
    address: str = ""

    is_authenticated = True  # what DRF's IsAuthenticated asks

    @property
    def pk(self) -> int:
        """What DRF and its throttles call the caller's key."""
        return self.identity

    def need(self, scope: str) -> None:
        """Raise insufficient_scope unless the credential carries `scope`."""
        if scope not in self.scopes:
            raise DomainError(
                Code.INSUFFICIENT_SCOPE,
                f"This token lacks the scope {scope}.",
                next=f"Use a token with the scope {scope}.",
                extra={"scope": scope},
            )
