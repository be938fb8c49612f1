"""The calls of files that take as long as their bytes take: no thread and no connection waits for a slow client."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import IO, TypeVar
from uuid import UUID

from django.conf import settings
from django.utils.http import content_disposition_header, parse_etags

from apps.core import db, ids, limits
from apps.core.actor import Actor
from apps.core.asgi import Gone, Reply, Request, endpoint
from apps.identities.access import admit
from apps.identities.queries import authenticate
from apps.threads import blobs, files, uploads
from apps.threads import file_serializers as shapes
from apps.threads.chats import NOBODY
from apps.threads.file_sql import FileRow
from apps.threads.files import Made

T = TypeVar("T")

_CHUNK = 1 << 17
_LOOK_SECONDS = 1.0  # how often a download under way is checked against membership and credential
# What a browser would run, or unpack and run, is told as plain bytes; the file's own JSON has the declared type.
_ACTIVE = re.compile(r"text/(html|xml|xsl)|.*(script|wasm|flash)|.*[/+]xml(-.*)?|(multipart|message)/.*")
_PLAIN = "application/octet-stream"


def file_id(text: str) -> UUID:
    """The id in an address; for what is none, one that no file has: it is looked up all the same."""
    return ids.read("fil", text) or NOBODY


# -- up -------------------------------------------------------------------------------------------------------------


async def _make(request: Request, reply: Reply) -> None:
    actor, where = await _admitted(request, lambda actor: files.place(actor, request.path["id"]))
    with limits.slot("transfer", actor.identity, settings.RELAYGER.max_transfers):
        async with uploads.received(request, shapes.NewFile, shapes.UploadFields) as given:
            made = await blobs.run(partial(files.make, actor, where, given))
    await _answer(reply, made, 201)


async def _change(request: Request, reply: Reply) -> None:
    actor, row = await _admitted(request, lambda actor: files.to_change(actor, file_id(request.path["id"])))
    with limits.slot("transfer", actor.identity, settings.RELAYGER.max_transfers):
        async with uploads.received(request, shapes.ChangeFile, shapes.ChangeUpload) as given:
            made = await blobs.run(partial(files.change, actor, row, given))
    await _answer(reply, made, 200)


async def _admitted(request: Request, look: Callable[[Actor], T]) -> tuple[Actor, T]:
    header, address = request.header("authorization"), request.address

    def admitted() -> tuple[Actor, T]:
        actor = admit(header, address, "write")
        return actor, look(actor)

    return await db.run(admitted)


async def _answer(reply: Reply, made: Made, status: int) -> None:
    body = {"file": made.file.show(), "duplicate": made.duplicate}
    await reply.json(200 if made.duplicate else status, body)


# -- down -----------------------------------------------------------------------------------------------------------


async def _download(request: Request, reply: Reply) -> None:
    header, address = request.header("authorization"), request.address
    request.only(("version",))
    version = request.whole("version", 0, low=1, high=2**31 - 1) or None
    id = file_id(request.path["id"])

    def found() -> tuple[Actor, FileRow]:
        actor = admit(header, address, "read")
        return actor, files.content(actor, id, version)

    actor, row = await db.run(found)
    if _known(request, row):
        await reply.full(304, b"", _validators(row))
    elif request.method == "HEAD":
        await reply.start(200, _headers(row))
        await reply.end()
    else:
        with limits.slot("transfer", actor.identity, settings.RELAYGER.max_transfers):
            source = await blobs.run(partial(files.opened, actor, row))
            try:
                await _send(
                    reply, row, source, lambda: files.content(authenticate(header, address), id, row.version)
                )
            finally:
                source.close()


async def _send(reply: Reply, row: FileRow, source: IO[bytes], look: Callable[[], FileRow]) -> None:
    """Send the bytes to who may have them, as fast as they are taken. Raises Gone when that is over before the end."""
    started = looked = time.monotonic()
    await reply.start(200, _headers(row))
    left = row.size
    while left > 0:
        chunk = await blobs.run(partial(source.read, min(_CHUNK, left)))
        now = time.monotonic()
        if not chunk or now - started > settings.RELAYGER.file_seconds:
            raise Gone
        if now - looked > _LOOK_SECONDS:
            await db.run(look)
            looked = now
        left -= len(chunk)
        await reply.write(chunk)
    await reply.end()


def _known(request: Request, row: FileRow) -> bool:
    given = request.header("if-none-match")
    return given is not None and (given.strip() == "*" or _etag(row) in parse_etags(given.replace("W/", "")))


def _etag(row: FileRow) -> str:
    return f'"{row.sha256.hex()}"'


def _validators(row: FileRow) -> list[tuple[str, str]]:
    # Whoever keeps a copy asks each time whether it still may have it.
    return [("ETag", _etag(row)), ("Cache-Control", "private, no-cache"), ("Vary", "Authorization")]


def _headers(row: FileRow) -> list[tuple[str, str]]:
    return [
        ("Content-Type", _PLAIN if _ACTIVE.fullmatch(row.media_type) else row.media_type),
        ("Content-Length", str(row.size)),
        ("Content-Disposition", content_disposition_header(True, row.name) or "attachment"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "sandbox; default-src 'none'"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Accept-Ranges", "none"),
        *_validators(row),
    ]


make, change, download = endpoint(_make), endpoint(_change), endpoint(_download)
