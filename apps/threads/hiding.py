"""Messages that an operator hides: they keep their place and say nothing any more, on every surface."""

from __future__ import annotations

from uuid import UUID

from apps.contacts.sql import lock_chat
from apps.core import audit, db, ids, times
from apps.inbox.actions import publish
from apps.threads import chat_sql, entries, messages


def hide(id: UUID) -> None:
    """Show a message without its content from now on; again changes nothing.

    The chat's members are told as of a deleted one, its author by the audit log. Raises not_found.
    """
    with db.write():
        entry = _locked(id)
        if not chat_sql.hide(id, times.now()):
            return
        if entry.actor is not None:
            audit.record_for(entry.actor.number, "message.hidden", message=ids.show("msg", id))
        publish(entries.news(entry, "message.deleted"))


def show(id: UUID) -> None:
    """Show a hidden message again; one that is not hidden stays as it is. Raises not_found."""
    with db.write():
        entry = _locked(id)
        if not chat_sql.hide(id, None):
            return
        if entry.actor is not None:
            audit.record_for(entry.actor.number, "message.shown", message=ids.show("msg", id))
        publish(entries.news(entry, "message.edited"))


def _locked(id: UUID) -> entries.ChatEntry:
    """A message, under its chat's lock."""
    found = chat_sql.any_one(id)
    if found is None or found.kind != "message" or lock_chat(found.chat) is None:
        raise messages.absent()
    return found
