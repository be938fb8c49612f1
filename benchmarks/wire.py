"""The smallest HTTP/1.1 client that will do: a general one costs as much processor time as the servers measured."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import orjson

REST = 2.0  # seconds; servers hang up on connections idle for longer than 5


class BenchmarkError(RuntimeError):
    """What makes the figures worthless: a refused call, a wrong body, a server that went away."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer; `first` and `last` are when its first and last bytes came, on perf_counter's clock."""

    status: int
    body: bytes
    first: float
    last: float


def request(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """A request's bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def bearer(token: str | None) -> dict[str, str]:
    """The header that authenticates, none without a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


class Connection:
    """One client's connection to this machine, kept alive, with one request under way at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._line = _Line()

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect to `port`. Raises OSError."""
        connection = cls(port)
        await connection._connect()
        return connection

    async def _connect(self) -> None:
        _, self._line = await asyncio.get_running_loop().create_connection(_Line, "127.0.0.1", self._port)

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def start(self, data: bytes) -> asyncio.Future[Reply]:
        """Send a request; the future brings its whole answer. Raises BenchmarkError when hung up."""
        return self._line.start(data)

    async def call(self, data: bytes) -> Reply:
        """Send a request and return its answer, after a rest over a new connection. Raises BenchmarkError."""
        if not self._line.fresh:
            self._line.close()
            await self._connect()
        return await self._line.start(data)


class _Line(asyncio.Protocol):
    """The connection itself.

    It reads answers with a Content-Length and chunked ones; nothing else is HTTP enough to be measured here.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Reply] | None = None
        self._buffer = bytearray()
        self._used = perf_counter()
        self._reset()

    def _reset(self) -> None:
        self._status = 0
        self._chunked = False
        self._missing = 0  # bytes of the body still to come
        self._body = bytearray()
        self._first = 0.0

    @property
    def fresh(self) -> bool:
        """Whether the server can be relied upon not to hang up just now."""
        return self._transport is not None and perf_counter() - self._used < REST

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # TCP's is always a Transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(BenchmarkError("the server closed a connection without an answer"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def start(self, data: bytes) -> asyncio.Future[Reply]:
        if self._transport is None:
            raise BenchmarkError("the server closed a connection")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        now = perf_counter()
        self._buffer += data
        if self._status == 0 and not self._head(now):
            return
        if self._chunks() if self._chunked else self._plain():
            self._used = now
            reply = Reply(self._status, bytes(self._body), self._first, now)
            self._reset()
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(reply)

    def _head(self, now: float) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        del self._buffer[: end + 4]
        self._status = int(head[9:12])
        self._first = now
        length = head.find(b"\r\ncontent-length:")
        if length >= 0:
            self._missing = int(head[length + 17 :].split(b"\r\n", 1)[0])
        elif b"\r\ntransfer-encoding: chunked" in head:
            self._chunked = True
        else:
            raise BenchmarkError("an answer without a length")
        return True

    def _plain(self) -> bool:
        if len(self._buffer) < self._missing:
            return False
        self._body = self._buffer[: self._missing]
        del self._buffer[: self._missing]
        return True

    def _chunks(self) -> bool:
        """Take what chunks there are; True when the last one was among them."""
        while True:
            end = self._buffer.find(b"\r\n")
            if end < 0:
                return False
            size = int(self._buffer[:end], 16)
            after = end + 2 + size + 2
            if len(self._buffer) < after:
                return False
            self._body += self._buffer[end + 2 : after - 2]
            del self._buffer[:after]
            if size == 0:
                return True


async def fetch(
    connection: Connection, method: str, path: str, token: str | None = None, body: Any = None
) -> Any:
    """One JSON call of our HTTP API, checked; returns the decoded body. Raises BenchmarkError."""
    data = b"" if body is None else orjson.dumps(body)
    reply = await connection.call(request(method, path, bearer(token), data))
    if reply.status >= 300:
        raise BenchmarkError(f"{method} {path}: {reply.status} {reply.body[:500].decode(errors='replace')}")
    return orjson.loads(reply.body) if reply.body else None
