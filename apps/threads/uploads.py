"""Files as they arrive: counted piece by piece onto the disk, then read, as JSON or as multipart/form-data.

What is on its way lies in files without a name, which the system takes back when the process ends, however it ends.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from apps.core import rest, strict_json
from apps.core.asgi import Request, too_large
from apps.core.errors import Code, DomainError, invalid
from apps.core.rest import Fields
from apps.threads import blobs
from apps.threads.files import Content, Given

_AROUND = 1 << 16  # bytes that a body may have beside the file
_PIECE = 1 << 18  # bytes that are written at once


@asynccontextmanager
async def received(request: Request, inline: type[Fields], upload: type[Fields]) -> AsyncIterator[Given]:
    """What the body of a call says of a file, with its content to be read until the block ends.

    Raises too_large while it arrives, unsupported_media_type, request_timeout, invalid_json, invalid, and Gone.
    """
    kind = (request.header("content-type") or "").partition(";")[0].strip().lower()
    config = settings.RELAYGER
    if kind == "application/json":
        limit, read = config.file_inline_bytes * 4 // 3 + _AROUND, partial(_of_json, inline)
    elif kind == "multipart/form-data":
        limit, read = config.file_bytes + _AROUND, partial(_of_form, upload)
    else:
        raise DomainError(
            Code.UNSUPPORTED_MEDIA_TYPE,
            "The body must be JSON or multipart/form-data.",
            next="Send Content-Type: application/json, or a form with the field `file`.",
        )
    request.check_body(limit)  # before anything is opened
    with tempfile.TemporaryFile() as spool:
        await _spool(request, spool, limit)
        given = await blobs.run(partial(read, request, spool))
        try:
            yield given
        finally:
            if given.content is not None:
                given.content.file.close()


async def _spool(request: Request, spool: IO[bytes], limit: int) -> None:
    waiting, size = [], 0
    async for piece in request.pieces(limit, settings.RELAYGER.file_seconds):
        waiting.append(piece)
        size += len(piece)
        if size >= _PIECE:
            await blobs.run(partial(spool.write, b"".join(waiting)))
            waiting, size = [], 0
    await blobs.run(partial(spool.write, b"".join(waiting)))
    spool.seek(0)


def _given(request: Request, fields: dict[str, Any], content: Content | None) -> Given:
    return Given(
        name=fields.get("name"),
        media_type=fields.get("media_type"),
        content=content,
        client_id=rest.one_key(request.header("idempotency-key"), fields),
        expected_version=fields.get("expected_version"),
    )


# -- inside JSON ----------------------------------------------------------------------------------------------------


def _of_json(shape: type[Fields], request: Request, spool: IO[bytes]) -> Given:
    fields = rest.checked(shape, strict_json.loads(spool.read()))
    return _given(request, fields, _inline(fields["content"]) if "content" in fields else None)


def _inline(text: str) -> Content:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("content", "Must be base64 with padding.") from None
    if len(content) > settings.RELAYGER.file_inline_bytes:
        raise _too_large(settings.RELAYGER.file_inline_bytes, "Upload it as multipart/form-data.")
    return Content(BytesIO(content), len(content), hashlib.sha256(content).digest())


def _too_large(limit: int, next: str | None = None) -> DomainError:
    error = too_large(limit)
    error.message = f"The file is larger than {limit} bytes."
    error.next = next or "Send it in parts, or a link to it."
    return error


# -- as multipart/form-data -----------------------------------------------------------------------------------------


class _Handler(FileUploadHandler):
    """Takes the one file of a form, and counts and hashes it on its way to the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.file: IO[bytes] | None = None
        self.hash = hashlib.sha256()
        self.size = 0
        self.whole = False

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        if self.file is not None:
            raise invalid("file", "Send one file.")
        self.file = tempfile.TemporaryFile()  # noqa: SIM115  closed by who reads it

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.size += len(raw_data)
        if self.size > settings.RELAYGER.file_bytes:
            raise _too_large(settings.RELAYGER.file_bytes)
        self.hash.update(raw_data)
        assert self.file is not None  # noqa: S101  new_file comes first
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile[bytes]:
        self.whole = True
        # The field's own name is checked as `name`, not made fit.
        return UploadedFile(self.file, "file", size=self.size)


class _Parser(MultiPartParser):
    """Django's, but a name is judged as it was sent: without its folders, with all else that is wrong in it."""

    def sanitize_file_name(self, file_name: str) -> str | None:
        return file_name.replace("\\", "/").rpartition("/")[2] or "/"


def _of_form(shape: type[Fields], request: Request, spool: IO[bytes]) -> Given:
    handler = _Handler()
    try:
        fields = rest.checked(shape, _fields(request, spool, handler))
        if not handler.whole or handler.file is None:
            raise invalid("file", "Must be a file: a part with a filename, and the form's end after it.")
        return _given(request, fields, Content(handler.file, handler.size, handler.hash.digest()))
    except BaseException:
        if handler.file is not None:
            handler.file.close()
        raise


def _fields(request: Request, spool: Any, handler: _Handler) -> dict[str, Any]:
    """The form's fields, with what the file's own part says where the form is silent."""
    size = spool.seek(0, 2)
    spool.seek(0)
    meta = {"CONTENT_TYPE": request.header("content-type"), "CONTENT_LENGTH": size}
    try:
        texts, files = _Parser(meta, spool, [handler], "utf-8").parse()
    except RequestDataTooBig:
        raise too_large(settings.RELAYGER.body_bytes) from None
    except (MultiPartParserError, SuspiciousOperation):
        raise invalid(
            None, "The form cannot be read.", next="Send multipart/form-data with its boundary."
        ) from None
    found: dict[str, Any] = {}
    for name, values in [*texts.lists(), *files.lists()]:
        if len(values) > 1 or name in found:
            raise invalid(name[:100], "Must stand once.")
        found[name] = values[0]
    if "file" in files:
        found.setdefault("name", handler.file_name)
        if handler.content_type:
            found.setdefault("media_type", handler.content_type)
    return found
