"""The statements of files: what one may see of them, and what their owner has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.core import db, ids, times
from apps.core.actor import Ref
from apps.threads.entries import BLOCKED, ChatEntry
from apps.threads.parts import content_url


@dataclass(frozen=True, slots=True)
class FileRow:
    """One version of a file, as it is shown to who may see it; `newest` is the file's newest version."""

    id: UUID
    chat: UUID
    owner: Ref
    newest: int
    created_at: datetime
    updated_at: datetime
    version: int
    name: str
    media_type: str
    size: int
    sha256: bytes
    key: str
    made_at: datetime

    def show(self) -> dict[str, Any]:
        """The JSON of the file with this version as its content."""
        return {
            "id": ids.show("fil", self.id),
            "chat": ids.show("con", self.chat),
            "owner": self.owner.show(),
            **self.show_version(),
            "created_at": times.show(self.created_at),
            "updated_at": times.show(self.updated_at),
        }

    def show_version(self) -> dict[str, Any]:
        """The JSON of the version alone."""
        return {
            "version": self.version,
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "sha256": self.sha256.hex(),
            "content_url": content_url(ids.show("fil", self.id), self.version),
            "created_at": times.show(self.made_at),
        }


# What a member may see: its own files, and of the others' what came after it joined, unless one of the two blocks the
# other. So whoever leaves, is removed or is blocked has nothing more of a file from that commit on.
_SEEN = (
    "m.state = 'member' AND f.deleted_at IS NULL AND o.deleted_at IS NULL AND (f.owner_id = m.identity_id"
    " OR (v.cursor > m.joined_cursor"
    f" AND NOT EXISTS ({BLOCKED.format(owner='m.identity_id', other='f.owner_id')})"
    f" AND NOT EXISTS ({BLOCKED.format(owner='f.owner_id', other='m.identity_id')})))"
)
_FILE = (
    "SELECT f.id, f.chat_id, o.number, o.handle, o.kind, o.display_name, f.version, f.created_at, f.updated_at,"
    " v.version, v.name, v.media_type, v.size, v.sha256, v.key, v.created_at FROM threads_file f"
    " JOIN threads_fileversion v ON v.file_id = f.id JOIN contacts_member m ON m.chat_id = f.chat_id"
    f" JOIN identities_identity o ON o.number = f.owner_id WHERE m.identity_id = %s AND {_SEEN}"
)


def _file(row: tuple[Any, ...]) -> FileRow:
    return FileRow(
        id=db.uuid(row[0]),
        chat=db.uuid(row[1]),
        owner=Ref(*row[2:6]),
        newest=row[6],
        created_at=db.time(row[7]),
        updated_at=db.time(row[8]),
        version=row[9],
        name=row[10],
        media_type=row[11],
        size=row[12],
        sha256=bytes(row[13]),
        key=row[14],
        made_at=db.time(row[15]),
    )


def one(me: int, id: UUID, version: int | None = None) -> FileRow | None:
    """A version of a file that `me` may see, the newest by default."""
    found = db.row(f"{_FILE} AND f.id = %s AND v.version = COALESCE(%s, f.version)", [me, id, version])
    return None if found is None else _file(found)


def versions(me: int, id: UUID) -> list[FileRow]:
    """The versions of a file that `me` may see, newest first."""
    return [_file(row) for row in db.rows(f"{_FILE} AND f.id = %s ORDER BY v.version DESC", [me, id])]


def listed(me: int, chat: UUID, before: tuple[datetime, UUID] | None, limit: int) -> list[FileRow]:
    """The files of a chat that `me` may see, newest first."""
    sql, params = f"{_FILE} AND f.chat_id = %s AND v.version = f.version", [me, chat]
    if before is not None:
        at, id = before
        sql = f"{sql} AND (f.created_at < %s OR (f.created_at = %s AND f.id < %s))"
        params = [*params, at, at, id]
    found = db.rows(f"{sql} ORDER BY f.created_at DESC, f.id DESC LIMIT %s", [*params, limit])
    return [_file(row) for row in found]


def those(me: int, wanted: Sequence[tuple[UUID, int]]) -> dict[tuple[UUID, int], FileRow]:
    """Of some versions those that `me` may see (one statement)."""
    places = ", ".join(["(%s, %s)"] * len(wanted))
    found = db.rows(
        f"{_FILE} AND (f.id, v.version) IN (VALUES {places})",
        [me, *(value for pair in wanted for value in pair)],
    )
    rows = [_file(row) for row in found]
    return {(row.id, row.version): row for row in rows}


def used(owner: int) -> tuple[int, int]:
    """How many files somebody has, and the bytes of all their versions."""
    found = db.row(
        "SELECT COUNT(DISTINCT f.id), COALESCE(SUM(v.size), 0) FROM threads_file f"
        " JOIN threads_fileversion v ON v.file_id = f.id WHERE f.owner_id = %s AND f.deleted_at IS NULL",
        [owner],
    )
    return (int(found[0]), int(found[1])) if found else (0, 0)


def described(me: int, entries: Sequence[ChatEntry]) -> list[ChatEntry]:
    """Entries with what their files are now; of one that is deleted, or hidden from `me`, only the id is told.

    No statement where no entry tells of a file, else one: an entry keeps a file's id and version, no more.
    """
    told = {entry.id: about for entry in entries if (about := _about(entry)) is not None}
    if not told:
        return list(entries)
    seen = those(me, sorted(set(told.values())))
    described = []
    for entry in entries:
        row = seen.get(told[entry.id]) if entry.id in told else None
        described.append(
            entry if row is None else replace(entry, said={**entry.said, "about": {"file": row.show()}})
        )
    return described


def _about(entry: ChatEntry) -> tuple[UUID, int] | None:
    if not entry.type.startswith("file."):
        return None
    file = entry.said["about"]["file"]
    id = ids.read("fil", file["id"])
    return None if id is None else (id, file["version"])
