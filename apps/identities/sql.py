"""The statements every call begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

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


def deleted(hash: bytes) -> tuple[Any, ...] | None:
    """The credential with this hash of an identity that is deleted, and may be restored still.

    With why it is suspended, if it is.
    """
    now = times.now()
    return db.row(
        "SELECT c.id, c.scopes, i.number, i.handle, i.kind, i.display_name, i.account_id, i.suspended_at,"
        " i.suspended_reason, i.suspended_until"
        " FROM identities_credential c JOIN identities_identity i ON i.number = c.identity_id"
        " WHERE c.hash = %s AND c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > %s)"
        " AND i.deleted_at IS NOT NULL AND i.purge_at > %s",
        [hash, now, now],
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


class KeyRow(NamedTuple):
    """A public key in use, and what came before it.

    `followed` is whether it replaced another; `unsealed_at` when the identity last retired a key to seal to.
    """

    identity: int
    id: Any
    purpose: Literal["sign", "seal"]
    public: bytes
    created_at: Any
    followed: bool
    unsealed_at: Any


def keys_in_use(numbers: Sequence[int]) -> list[KeyRow]:
    """The public keys in use of some identities."""
    # A key to seal to follows a signing key too, from which the one before it was derived.
    found = db.rows(
        "SELECT k.identity_id, k.id, k.purpose, k.public, k.created_at, EXISTS ("
        "SELECT 1 FROM identities_key p WHERE p.identity_id = k.identity_id AND p.id <> k.id"
        " AND (p.purpose = 'sign' OR k.purpose = 'seal') AND p.created_at <= k.created_at),"
        " (SELECT MAX(p.retired_at) FROM identities_key p WHERE p.identity_id = k.identity_id AND p.purpose = 'seal')"
        f" FROM identities_key k WHERE k.identity_id IN ({db.places(numbers)}) AND k.retired_at IS NULL",
        numbers,
    )
    return [
        KeyRow(number, id, purpose, bytes(public), created_at, bool(followed), unsealed_at)
        for number, id, purpose, public, created_at, followed, unsealed_at in found
    ]
