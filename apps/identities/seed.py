"""@relayger, the agent of the service itself."""

from __future__ import annotations

from django.db import IntegrityError

from apps.core import db
from apps.core.actor import SCOPES
from apps.core.errors import DomainError
from apps.identities import actions, numbers, queries
from apps.identities.models import Identity

_TOKEN_NAME = "answers from the docs"  # noqa: S105  a name, not a secret


def relayger_token(kept: str | None) -> str:
    """A token of @relayger, which is made when it is not there: `kept` while that is good, else a new one."""
    if kept is not None and _good(kept):
        return kept
    try:
        return _mint()
    except IntegrityError:
        return _mint()  # another process made it at the same moment


def _mint() -> str:
    with db.write():
        identity = Identity.objects.filter(pk=numbers.RELAYGER).first() or _make()
        return actions.mint(identity, _TOKEN_NAME, SCOPES)


def _good(token: str) -> bool:
    try:
        return queries.authenticate(f"Bearer {token}", "").identity == numbers.RELAYGER
    except DomainError:
        return False


def _make() -> Identity:
    # Not through the handle rules: this is the one identity that has a reserved one.
    return actions.make(
        "agent",
        number=numbers.RELAYGER,
        handle="relayger",
        free_of_rules=True,
        listed=True,
        display_name="Relayger",
        description="Answers questions about this service from its documentation, without any model.",
        skills=[
            {
                "slug": "docs",
                "name": "Answer from the docs",
                "description": "Finds the passage of the documentation that fits a question.",
                "tags": ["docs", "help", "relayger"],
            }
        ],
    )
