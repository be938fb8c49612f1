"""The same creating call, made twice, makes one thing."""

from __future__ import annotations

import hashlib
from typing import Any

from apps.core import db, times
from apps.core.errors import Code, DomainError, invalid
from apps.core.strict_json import dumps, unstorable

MAX_KEY = 128


def check_key(key: Any, field: str = "client_id") -> str | None:
    """A caller's key as given, None when absent. Raises invalid for anything but 1 to 128 characters."""
    if key is None:
        return None
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY or unstorable(key):
        raise invalid(field, f"Must be a text of 1 to {MAX_KEY} characters.")
    return key


def content_hash(*content: Any) -> bytes:
    """What a call says, as 32 bytes: equal only for equal JSON values in equal order."""
    return hashlib.sha256(dumps(content)).digest()


def find(identity: int, action: str, key: str, content: bytes) -> str | None:
    """The subject an earlier call with this key made, None when there was none (one statement).

    Call it under the lock that serializes the action. Raises idempotency_conflict when the earlier call said
    something else.
    """
    found = db.row(
        "SELECT content_hash, subject FROM core_idempotencykey WHERE identity = %s AND action = %s AND key = %s",
        [identity, action, key],
    )
    if found is None:
        return None
    if bytes(found[0]) != content:
        raise DomainError(
            Code.IDEMPOTENCY_CONFLICT,
            "This client_id was used for another content.",
            field="client_id",
            next="Use a new client_id for a new call.",
        )
    return str(found[1])


def keep(identity: int, action: str, key: str, content: bytes, subject: str) -> None:
    """Note what this call made, in its own transaction (one statement)."""
    db.rows(
        "INSERT INTO core_idempotencykey (identity, action, key, content_hash, subject, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s)",
        [identity, action, key, content, subject, times.now()],
    )
