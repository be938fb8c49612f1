"""The statements every call begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from apps.core import db, times

# A credential `c` of an identity `i` that may be used now; takes the present time.
LIVE = (
    "c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > %s)"
    " AND i.deleted_at IS NULL AND i.suspended_at IS NULL"
)


def credential(hash: bytes) -> tuple[Any, ...] | None:
    """The live credential with this hash and whose it is."""
    return db.row(
        "SELECT c.id, c.scopes, i.number, i.handle, i.kind, i.display_name, i.account_id"
        " FROM identities_credential c JOIN identities_identity i ON i.number = c.identity_id"
        f" WHERE c.hash = %s AND {LIVE}",
        [hash, times.now()],
    )


def suspension(column: Literal["hash", "id"], value: Any) -> tuple[Any, ...] | None:
    """Why and until when the identity of a credential, which may be used otherwise, is suspended."""
    return db.row(
        "SELECT i.suspended_reason, i.suspended_until FROM identities_credential c"
        " JOIN identities_identity i ON i.number = c.identity_id"
        f" WHERE c.{column} = %s AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > %s)"
        " AND i.deleted_at IS NULL AND i.suspended_at IS NOT NULL",
        [value, times.now()],
    )


def alive(ids: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Which of some credentials still live."""
    return db.rows(
        "SELECT c.id FROM identities_credential c JOIN identities_identity i ON i.number = c.identity_id"
        f" WHERE c.id IN ({db.places(ids)}) AND {LIVE}",
        [*ids, times.now()],
    )


def person(who: int | str) -> tuple[Any, ...] | None:
    """The identity with this number or handle, unless it is gone."""
    column = "number" if isinstance(who, int) else "handle"
    return db.row(
        "SELECT number, handle, kind, display_name, account_id, receive, accept, listed FROM identities_identity"
        f" WHERE {column} = %s AND deleted_at IS NULL AND suspended_at IS NULL",
        [who],
    )
