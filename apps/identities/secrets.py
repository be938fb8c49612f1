"""Bearer secrets: made, hashed, read from a header."""

from __future__ import annotations

import hashlib
import re
import secrets

from apps.core.errors import unauthenticated

_HEADER = re.compile(r"(?i:bearer) +(rgt_[A-Za-z0-9_-]{20,200})", re.ASCII)


def make() -> str:
    """A new token: 192 random bits."""
    return f"rgt_{secrets.token_urlsafe(24)}"


def make_code() -> str:
    """A new code to claim an agent with: 192 random bits."""
    return f"rgc_{secrets.token_urlsafe(24)}"


def digest(secret: str) -> bytes:
    """What is kept of a secret. It is random, so one round of SHA-256 cannot be searched."""
    return hashlib.sha256(secret.encode()).digest()


def from_header(header: str | None) -> str:
    """The secret in an Authorization header. Raises unauthenticated for anything but one bearer token."""
    match = None if header is None or len(header) > 300 else _HEADER.fullmatch(header.strip(" "))
    if match is None:
        raise unauthenticated()
    return match[1]
