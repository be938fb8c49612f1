"""Who makes a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
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
class Ref:
    """An identity as it is named wherever it appears."""

    number: int
    handle: str
    kind: str
    display_name: str

    def show(self) -> dict[str, Any]:
        """The JSON of it; numbers are texts outside."""
        return {
            "number": str(self.number),
            "handle": self.handle,
            "kind": self.kind,
            "display_name": self.display_name,
        }


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated caller; every action and query takes one and starts from what it may see.

    `address` is the client's as the service trusts it, "" for jobs.
    """

    ref: Ref
    account: UUID
    scopes: frozenset[str]
    credential: UUID
    address: str = ""

    is_authenticated = True  # what DRF's IsAuthenticated asks

    @property
    def identity(self) -> int:
        """The caller's number."""
        return self.ref.number

    @property
    def pk(self) -> int:
        """What DRF calls the caller's key."""
        return self.ref.number

    def need(self, scope: str) -> None:
        """Raise insufficient_scope unless the credential carries `scope`."""
        if scope not in self.scopes:
            raise DomainError(
                Code.INSUFFICIENT_SCOPE,
                f"This token lacks the scope {scope}.",
                next=f"Use a token with the scope {scope}.",
                extra={"scope": scope},
            )
