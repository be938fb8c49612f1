"""Identities made by registering in this process, as every surface does."""

from __future__ import annotations

import secrets
from typing import Any

from apps.core import ids
from apps.core.actor import SCOPES, Actor
from apps.identities import actions, queries
from apps.identities.actions import Registered


def name(stem: str = "p") -> str:
    """A handle nobody has."""
    return f"{stem}-{secrets.token_hex(4)}"


def register(address: str = "192.0.2.1", kind: str = "agent", **fields: Any) -> Registered:
    """A new identity with its token."""
    made = actions.register(address, kind=kind, **fields)
    assert isinstance(made, Registered)
    return made


def actor(made: Registered, scopes: tuple[str, ...] = SCOPES) -> Actor:
    """It as a caller."""
    return Actor(made.identity.profile.ref, made.identity.account, frozenset(scopes), ids.new(), "192.0.2.1")


def with_token(made: Registered) -> Actor:
    """It as a caller with its first token."""
    return queries.authenticate(f"Bearer {made.token}", "192.0.2.1")


def number(made: Registered) -> int:
    return made.identity.profile.ref.number


def handle(made: Registered) -> str:
    return made.identity.profile.ref.handle
