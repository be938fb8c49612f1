"""Threads put into any state, for tests that call actions in this process."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from apps.core import times
from apps.core.actor import SCOPES, Actor
from apps.core.errors import DomainError
from apps.identities.models import Credential
from apps.threads import actions, sql
from apps.threads.models import Entry, Thread
from apps.threads.sql import ThreadRow
from tests.contacts.world import befriend, person, seen

ALL_STATES = (
    "open",
    "working",
    "input_required",
    "auth_required",
    "answered",
    "failed",
    "expired",
    "canceled",
    "declined",
)
LIVE = ALL_STATES[:4]
FINAL = ALL_STATES[4:]


def friends() -> tuple[Actor, Actor]:
    """An asker and an assignee who know each other, with empty inboxes."""
    asker, assignee = person("asker"), person("assignee")
    befriend(asker, assignee)
    return asker, assignee


def with_token(actor: Actor) -> Actor:
    """The same caller with a credential that is in the database."""
    credential = Credential.objects.create(
        identity_id=actor.identity, hash=secrets.token_bytes(32), scopes=" ".join(SCOPES)
    )
    return replace(actor, credential=credential.id)


def ask(asker: Actor, assignee: Actor, text: str = "How?", **fields: Any) -> ThreadRow:
    """A new thread."""
    return actions.ask(asker, seen(assignee), parts=[{"text": text}], **fields).thread


def say(actor: Actor, thread: UUID, text: str = "So.", **fields: Any) -> actions.Said:
    """A message on a thread."""
    return actions.say(actor, thread, parts=[{"text": text}], **fields)


def standing(thread: UUID) -> ThreadRow:
    """A thread as it stands."""
    found = sql.any_thread(thread)
    assert found is not None
    return found


def put(thread: UUID, **fields: Any) -> None:
    """Set a thread's columns, past all rules."""
    assert Thread.objects.filter(id=thread).update(**fields) == 1


def in_state(asker: Actor, assignee: Actor, state: str) -> UUID:
    """A thread that is in `state`."""
    thread = ask(asker, assignee).id
    put(thread, state=state)
    return thread


def overdue(thread: UUID) -> None:
    """Let a thread's time pass."""
    put(thread, expires_at=times.now() - timedelta(seconds=1))


def entries(thread: UUID) -> list[Entry]:
    """The entries of a thread, in order."""
    return list(Entry.objects.filter(thread=thread).order_by("cursor"))


def code(error: object) -> str | None:
    """The code of a refusal, None for anything else."""
    return error.code.value if isinstance(error, DomainError) else None
