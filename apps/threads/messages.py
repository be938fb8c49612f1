"""Plain messages: written in a chat outside threads, edited and deleted by who wrote them, found again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError

from apps.core import db, idempotency, ids, limits, paging, times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid, not_found
from apps.core.paging import Page
from apps.core.strict_json import dumps
from apps.identities import search_text
from apps.inbox.actions import publish
from apps.threads import chat_sql, chats, entries, file_parts, guard, sealed, sql
from apps.threads.entries import ChatEntry
from apps.threads.parts import Part, check_metadata, text_of

MAX_WORDS = 32
MIN_QUERY = 2


@dataclass(frozen=True, slots=True)
class Posted:
    """A message as it stands, and whether an earlier call wrote it."""

    entry: ChatEntry
    duplicate: bool


def post(
    actor: Actor,
    chat: str,
    parts: list[Part],
    *,
    metadata: dict[str, Any] | None = None,
    client_id: str | None = None,
) -> Posted:
    """Write a message in a chat of the actor's, a `con_…`, or to a `{who}`.

    Raises insufficient_scope, not_found, invalid, sealed_members, contact_requested and its kin where the two are
    not friends (the request is stored), loop_guard between agents, rate_limited, idempotency_conflict.
    """
    actor.need("messages:write")
    metadata = check_metadata(metadata)
    place = chats.place_of(actor, chat)
    content = idempotency.content_hash(place.key, parts, metadata)
    try:
        made = _post(actor, place, parts, metadata, client_id, content)
    except IntegrityError:  # the same call at the same moment was first
        made = _post(actor, place, parts, metadata, client_id, content)
    if isinstance(made, DomainError):
        raise made
    return made


def _post(
    actor: Actor,
    place: chats.Place,
    parts: list[Part],
    metadata: dict[str, Any] | None,
    client_id: str | None,
    content: bytes,
) -> Posted | DomainError:
    with guard.told(actor), db.write():
        locked = chats.lock(actor, place)
        if client_id is not None:
            subject = idempotency.find(actor.identity, "message", client_id, content)
            earlier = None if subject is None else chat_sql.one(actor.identity, UUID(subject))
            if earlier is not None:
                return Posted(earlier, duplicate=True)
        door = chats.enter(actor, place, text_of(parts) or "", locked)
        if door.refusal is not None:
            publish(door.events)
            return door.refusal
        guard.count(actor, place.other, place.room)
        sealed.check(actor, door.chat, parts)
        parts = file_parts.filled(actor, door.chat, parts)
        entry = entries.append(
            door.chat, actor, "message.created", parts=parts, metadata=metadata, client_id=client_id
        )
        if client_id is not None:
            idempotency.keep(actor.identity, "message", client_id, content, entry.id.hex)
        publish([*door.events, *entries.news(entry)])
    return Posted(entry, duplicate=False)


# -- one's own, afterwards --------------------------------------------------------------------------------------


def edit(actor: Actor, id: UUID, parts: list[Part], metadata: dict[str, Any] | None = None) -> ChatEntry:
    """Replace what one's own message says.

    Raises insufficient_scope, not_found (also for others' and deleted ones), thread_message, invalid,
    sealed_members.
    """
    actor.need("messages:write")
    metadata = check_metadata(metadata)
    with db.write():
        entry = _own(actor, id)
        sealed.check(actor, entry.chat, parts)
        parts = file_parts.filled(actor, entry.chat, parts)
        changed = replace(entry, said={"parts": parts}, metadata=metadata, edited_at=times.now())
        _store(changed)
        publish(entries.news(changed, "message.edited"))
    return changed


def delete(actor: Actor, id: UUID) -> None:
    """Take back one's own message: nothing of what it said is kept.

    Raises insufficient_scope, not_found (also for others' and deleted ones), thread_message.
    """
    actor.need("messages:write")
    with db.write():
        entry = replace(_own(actor, id), said={"parts": []}, metadata=None, deleted_at=times.now())
        _store(entry)
        publish(entries.news(entry, "message.deleted"))


def _own(actor: Actor, id: UUID) -> ChatEntry:
    """A message of the actor's own outside threads, under its chat's lock (two statements)."""
    entry = chat_sql.one(actor.identity, id) if chat_sql.lock_message(actor.identity, id) else None
    if entry is None or entry.kind != "message" or entry.deleted_at is not None:
        raise absent()
    if entry.actor is None or entry.actor.number != actor.identity:
        raise absent()
    if entry.thread is not None:
        raise DomainError(
            Code.THREAD_MESSAGE,
            "A message of a thread stays as it is: others may have acted on it.",
            next="Write another.",
        )
    return entry


def _store(entry: ChatEntry) -> None:
    chat_sql.change(
        entry.id,
        dumps(entry.said).decode(),
        None if entry.metadata is None else dumps(entry.metadata).decode(),
        sql.search_text(entry.said["parts"]),
        edited_at=entry.edited_at,
        deleted_at=entry.deleted_at,
    )


def absent() -> DomainError:
    """The refusal of a message that is not there, deleted, or not the actor's own."""
    return not_found("message")


# -- finding ----------------------------------------------------------------------------------------------------


def search(actor: Actor, q: str, chat: str | None, limit: int, cursor: str | None) -> Page[ChatEntry]:
    """Messages in the actor's chats (or one of them) that have every word of `q`, newest first.

    At most three statements. Raises insufficient_scope, invalid, not_found for the chat, rate_limited.
    """
    actor.need("messages:read")
    limits.hit("search", actor.identity)
    words = search_text.words(q)
    if max(map(len, words), default=0) < MIN_QUERY:
        raise invalid("q", f"Must have a word of at least {MIN_QUERY} characters.")
    scope = f"search:{actor.identity}:{chat or ''}:{' '.join(words)}"
    before = None if cursor is None else paging.position(scope, cursor, "msg")
    within = None if chat is None else chats.chat_of(actor, chat).id
    if len(words) > MAX_WORDS or any(len(word) > 1024 for word in words):
        return Page([], None)  # no message is looked through for so much
    rows = chat_sql.search(actor.identity, words, within, before, limit + 1)
    return paging.cut(
        rows, limit, scope, lambda entry: (times.show(entry.created_at), ids.show("msg", entry.id))
    )
