"""Parts of a message that show a file of its chat."""

from __future__ import annotations

from uuid import UUID

from apps.core import ids
from apps.core.actor import Actor
from apps.core.errors import invalid
from apps.threads import file_sql
from apps.threads.parts import Part


def filled(actor: Actor, chat: UUID, parts: list[Part]) -> list[Part]:
    """Parts as they are stored in `chat`: one with a file gets its version, and what that is called, unless it says so.

    No statement when no part has a file, else one for each of them. Call it in the transaction that writes, under
    the chat's lock. Raises invalid, naming `parts[i].file`, for a file that is not in this chat, or that the actor
    may not see.
    """
    if not any("file" in part for part in parts):
        return parts
    return [_filled(actor, chat, part, place) if "file" in part else part for place, part in enumerate(parts)]


def _filled(actor: Actor, chat: UUID, part: Part, place: int) -> Part:
    id = ids.read("fil", part["file"])
    row = None if id is None else file_sql.one(actor.identity, id, part.get("version"))
    if row is None or row.chat != chat:
        raise invalid(
            f"parts[{place}].file",
            "There is no such file or version in this chat.",
            next="Upload it to this chat.",
        )
    return {"media_type": row.media_type, "filename": row.name, **part, "version": row.version}
