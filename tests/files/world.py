"""What the tests of files share."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.harness.cast import Person
from tests.harness.service import Service


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def put(person: Person, chat: str, content: bytes = b"Hello", name: str = "hello.txt", **fields: Any) -> Any:
    """A new file inside JSON; returns it."""
    body = {"name": name, "content": b64(content), **fields}
    return person.call("POST", f"/v1/chats/{chat}/files", body, status=201)["file"]


def upload(
    person: Person,
    chat: str,
    content: bytes = b"Hello",
    name: str = "hello.txt",
    media_type: str = "text/plain",
    *,
    data: dict[str, str] | None = None,
) -> httpx.Response:
    """The same as a form, with more fields in `data`; returns the response as it is."""
    return person.post(f"/v1/chats/{chat}/files", files={"file": (name, content, media_type)}, data=data)


def download(person: Person, file: str, **params: Any) -> httpx.Response:
    return person.get(f"/v1/files/{file}/content", params=params)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def stored(service: Service) -> set[str]:
    """The keys of all bytes in the local folder."""
    folder = Path(service.environ["RELAYGER_VAR"]) / "files"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def rows(service: Service, sql: str) -> list[tuple[Any, ...]]:
    """Run one statement on a service's own database."""
    with _connected(service) as connection:
        cursor = connection.execute(sql)
        found = cursor.fetchall() if cursor.description else []
        connection.commit()
        return list(found)


@contextmanager
def _connected(service: Service) -> Iterator[Any]:
    if isinstance(service.database, Path):
        with closing(sqlite3.connect(service.database, timeout=20)) as lite:
            yield lite
    else:
        with psycopg.connect(service.database) as connection:
            yield connection


def used_keys(service: Service) -> set[str]:
    """The keys that versions have."""
    return {key for (key,) in rows(service, "SELECT key FROM threads_fileversion")}
