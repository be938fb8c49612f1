"""Inboxes in this process."""

from __future__ import annotations

from typing import Any

from apps.core import db
from apps.core.actor import Actor
from apps.inbox.actions import Event, publish
from apps.inbox.queries import News, news


def tell(actor: Actor, *types: str, subject: str = "1234567897") -> None:
    """Put events of these types into an inbox, in one transaction."""
    with db.write():
        publish([Event(actor.identity, kind, subject) for kind in types])


def read(actor: Actor, after: int | None = None, wanted: set[str] | None = None, limit: int = 50) -> News:
    return news(actor, after, None if wanted is None else frozenset(wanted), limit)


def seqs(page: News) -> list[Any]:
    return [event["seq"] for event in page.events]
