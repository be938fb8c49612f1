"""Files of a chat: made, changed and deleted by their owner, read by the chat's members.

Each act is one entry of the chat and its news. Content is stored before the transaction that makes it a version.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import IO, Any
from uuid import UUID

from django.conf import settings

from apps.contacts import sql as contacts_sql
from apps.core import db, idempotency, ids, limits, paging, times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid, not_found
from apps.core.paging import Page
from apps.inbox.actions import publish
from apps.threads import blobs, chats, entries, file_sql, guard
from apps.threads.blobs import Blob
from apps.threads.entries import ChatEntry
from apps.threads.file_sql import FileRow
from apps.threads.models import File, FileVersion

EVENTS = ("file.created", "file.updated", "file.deleted")
_AT_ONCE = 10  # versions of a deleted file whose bytes go before the call is answered

Act = Callable[[Blob | None, UUID], tuple[UUID, ChatEntry]]


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that arrived, with what was counted of them on the way."""

    file: IO[bytes]
    size: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Given:
    """What a call says of a file; None is "as it is"."""

    name: str | None
    media_type: str | None
    content: Content | None
    client_id: str | None
    expected_version: int | None = None

    def hash(self, subject: str) -> bytes:
        """What idempotency compares."""
        return idempotency.content_hash(
            subject,
            self.name,
            self.media_type,
            self.expected_version,
            self.content and self.content.sha256.hex(),
        )


@dataclass(frozen=True, slots=True)
class Made:
    """A file as it stands now, and whether an earlier call made it so."""

    file: FileRow
    duplicate: bool


def absent() -> DomainError:
    """The refusal of a file that is not there, or not for the actor to see."""
    return not_found("file")


# -- reading ------------------------------------------------------------------------------------------------------


def get(actor: Actor, id: UUID) -> dict[str, Any]:
    """A file with its versions (one statement). Raises insufficient_scope, not_found."""
    actor.need("files")
    rows = file_sql.versions(actor.identity, id)
    if not rows or rows[0].version != rows[0].newest:
        raise absent()
    return {**rows[0].show(), "versions": [row.show_version() for row in rows]}


def content(actor: Actor, id: UUID, version: int | None) -> FileRow:
    """A version to be downloaded (one statement). Raises insufficient_scope, not_found."""
    actor.need("files")
    row = file_sql.one(actor.identity, id, version)
    if row is None:
        raise absent()
    return row


def opened(actor: Actor, row: FileRow) -> IO[bytes]:
    """The bytes of a version, to read and close. Raises not_found if it was deleted meanwhile, unavailable."""
    try:
        return blobs.open_(row.key)
    except DomainError:
        content(actor, row.id, row.version)
        raise


def listed(actor: Actor, chat: str, limit: int, cursor: str | None) -> Page[FileRow]:
    """A page of a chat's files, newest first (two statements). Raises insufficient_scope, not_found, invalid."""
    actor.need("files")
    row = chats.chat_of(actor, chat)
    scope = f"files:{actor.identity}:{row.id.hex}"
    before = None if cursor is None else paging.position(scope, cursor, "fil")
    rows = file_sql.listed(actor.identity, row.id, before, limit + 1)
    return paging.cut(rows, limit, scope, lambda one: (times.show(one.created_at), ids.show("fil", one.id)))


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The inbox's loader: entries by id, with their files as the actor may see them now (two statements)."""
    found = entries.found(actor, subjects)
    return {
        entry.id.hex: {"message": entry.show(actor.identity)}
        for entry in file_sql.described(actor.identity, found)
    }


# -- making and changing --------------------------------------------------------------------------------------------


def place(actor: Actor, chat: str) -> chats.Place:
    """Where a new file goes: a chat of the actor's. Raises insufficient_scope, rate_limited, not_found."""
    actor.need("files")
    limits.hit("file", actor.identity)
    # By its id: a direct chat that is not there yet is no place for a file, it begins with a request.
    return chats.place_of(actor, ids.show("con", chats.chat_of(actor, chat).id))


def make(actor: Actor, where: chats.Place, given: Given) -> Made:
    """Store a new file of the actor's in a chat.

    Raises invalid, not_found, quota_exceeded, contact_requested and its kin where the two are not friends,
    loop_guard between agents, idempotency_conflict, unavailable.
    """
    if given.name is None or given.content is None:
        raise invalid("name" if given.name is None else "content", "Is required.")

    def act(blob: Blob | None, chat: UUID) -> tuple[UUID, ChatEntry]:
        _afford(actor, given, files=1)
        file = File.objects.create(chat_id=chat, owner_id=actor.identity)
        entry = _entry(actor, file, "file.created")
        _version(file, given, blob, entry)
        return file.pk, entry

    call = _Call(actor, "file", given, given.hash(where.key))
    if (earlier := call.earlier()) is not None:
        return earlier
    _afford(actor, given, files=1)  # before its bytes are stored, and again under the lock
    return call.do(where, given.name, act)


def to_change(actor: Actor, id: UUID) -> FileRow:
    """A file that the actor is about to change. Raises insufficient_scope, rate_limited, not_found, not_owner."""
    actor.need("files")
    limits.hit("file", actor.identity)
    return _own(actor, id)


def change(actor: Actor, row: FileRow, given: Given) -> Made:
    """Rename one's own file, or give it a new version.

    Raises what `make` raises, and version_conflict when the newest version is not the expected one.
    """
    if (given.name, given.media_type, given.content) == (None, None, None):
        raise invalid(None, "There is nothing to change.", next="Send name, media_type or content.")

    def act(blob: Blob | None, chat: UUID) -> tuple[UUID, ChatEntry]:
        now = _own(actor, row.id)
        _expect(now, given)
        if blob is not None:
            _afford(actor, given, newest=now.newest)
        file = File.objects.get(pk=row.id)
        file.version += blob is not None
        file.updated_at = times.now()
        file.save(update_fields=["version", "updated_at"])
        entry = _entry(actor, file, "file.updated")
        _version(file, given, blob, entry, now)
        return file.pk, entry

    call = _Call(actor, "file_version", given, given.hash(row.id.hex))
    if (earlier := call.earlier()) is not None:
        return earlier
    _expect(row, given)
    if given.content is not None:
        _afford(actor, given, newest=row.newest)
    where = chats.place_of(actor, ids.show("con", row.chat))
    return call.do(where, given.name or row.name, act)


def delete(actor: Actor, id: UUID) -> None:
    """Delete one's own file with all its versions, also out of a chat that the actor has left.

    Raises insufficient_scope, not_found, not_owner.
    """
    actor.need("files")
    mine = File.objects.filter(pk=id, owner=actor.identity, deleted_at=None)
    file = mine.first()
    if file is None:
        _own(actor, id)
        raise absent()
    with db.write():
        contacts_sql.lock_chat(file.chat_id)
        file = mine.first()
        if file is None:
            raise absent()
        file.deleted_at = times.now()
        file.save(update_fields=["deleted_at"])
        versions = FileVersion.objects.filter(file=file)
        keys = list(versions.values_list("key", flat=True))
        versions.delete()  # which releases their bytes
        publish(entries.news(_entry(actor, file, "file.deleted")))
    blobs.drop(keys[:_AT_ONCE])


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that makes or changes a file, once for each key of its client."""

    actor: Actor
    action: str
    given: Given
    hash: bytes

    def earlier(self) -> Made | None:
        """What an earlier call with this key made. Raises idempotency_conflict, not_found if it is gone."""
        key = self.given.client_id
        subject = key and idempotency.find(self.actor.identity, self.action, key, self.hash)
        return _now(self.actor, UUID(subject), duplicate=True) if subject else None

    def do(self, where: chats.Place, note: str, act: Act) -> Made:
        """Store the content, then do `act` in one transaction under the rules of writing in a chat."""
        content = self.given.content
        with blobs.stored(content.file) if content else nullcontext() as blob:
            made = self._once(where, note, act, blob)
        if isinstance(made, DomainError):
            raise made
        return made

    def _once(self, where: chats.Place, note: str, act: Act, blob: Blob | None) -> Made | DomainError:
        actor, key = self.actor, self.given.client_id
        with guard.told(actor), db.write():
            contacts_sql.lock_identities([actor.identity])  # whose quota is counted
            locked = chats.lock(actor, where)
            if (earlier := self.earlier()) is not None:
                return earlier
            door = chats.enter(actor, where, note, locked)
            if door.refusal is not None:
                publish(door.events)
                return door.refusal
            guard.count(actor, where.other, where.room)
            id, entry = act(blob, door.chat)
            if key is not None:
                idempotency.keep(actor.identity, self.action, key, self.hash, id.hex)
            publish([*door.events, *entries.news(entry)])
        return _now(actor, id)


def _own(actor: Actor, id: UUID) -> FileRow:
    row = content(actor, id, None)
    if row.owner.number != actor.identity:
        raise DomainError(Code.NOT_OWNER, "Only its owner changes or deletes a file.")
    return row


def _now(actor: Actor, id: UUID, *, duplicate: bool = False) -> Made:
    return Made(content(actor, id, None), duplicate)


def _expect(row: FileRow, given: Given) -> None:
    if given.expected_version not in (None, row.newest):
        raise DomainError(
            Code.VERSION_CONFLICT,
            f"The file has version {row.newest}.",
            field="expected_version",
            next="Read it, and try with its version.",
        )


def _afford(actor: Actor, given: Given, *, files: int = 0, newest: int = 0) -> None:
    """Raise quota_exceeded when the actor may not have so many files, versions or bytes."""
    config = settings.RELAYGER
    size = 0 if given.content is None else given.content.size
    have, taken = file_sql.used(actor.identity)
    refusal = None
    if have + files > config.max_files:
        refusal = f"You may have {config.max_files} files."
    elif newest >= config.max_file_versions:
        refusal = f"A file may have {config.max_file_versions} versions."
    elif taken + size > config.files_quota_bytes:
        refusal = (
            f"Your files may take {config.files_quota_bytes} bytes: {taken} are taken, this takes {size}."
        )
    if refusal is not None:
        raise DomainError(Code.QUOTA_EXCEEDED, refusal, next="Delete files that are not needed any more.")


def _entry(actor: Actor, file: File, type: str) -> ChatEntry:
    about = {"file": {"id": ids.show("fil", file.pk), "version": file.version}}
    return entries.append(file.chat_id, actor, type, about=about)


def _version(
    file: File, given: Given, blob: Blob | None, entry: ChatEntry, before: FileRow | None = None
) -> None:
    """Store a new version, or what its newest is called."""
    name = given.name or (before.name if before else "")
    media_type = given.media_type or (before.media_type if before else _guessed(name))
    if blob is None or given.content is None:
        FileVersion.objects.filter(file=file, version=file.version).update(name=name, media_type=media_type)
        return
    blob.take()
    FileVersion.objects.create(
        file=file,
        version=file.version,
        name=name,
        media_type=media_type,
        size=given.content.size,
        sha256=given.content.sha256,
        key=blob.key,
        cursor=entry.cursor,
    )


def _guessed(name: str) -> str:
    """The media type that a name tells."""
    guess, coding = mimetypes.guess_type(name)
    return guess if guess is not None and coding is None else "application/octet-stream"
