"""Plain ASGI calls, for what waits or streams: requests, replies and errors without a thread per request."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qsl

from django.conf import settings

from apps.core import limits, wake
from apps.core.errors import Code, DomainError, invalid
from apps.core.strict_json import dumps, unstorable

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WRITE_SECONDS = 30.0  # a reader that takes nothing for this long is cut off
_DIGITS = re.compile(r"[0-9]{1,19}", re.ASCII)


class Gone(Exception):
    """The client went away, or stopped reading."""


def read_query(raw: bytes) -> dict[str, str]:
    """The fields of a query string, the last of each. Raises invalid for what is not UTF-8 or has a NUL."""
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError:
        raise invalid(None, "The query cannot be read.", next="Send UTF-8, percent-encoded.") from None
    for name, value in pairs:
        if unstorable(name) or unstorable(value):
            raise invalid(None, "The query holds a NUL.")
    return dict(pairs)


class Request:
    """One HTTP request as a plain ASGI call sees it."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._query: dict[str, str] | None = None

    @property
    def method(self) -> str:
        return str(self._scope["method"])

    @property
    def path(self) -> dict[str, Any]:
        """What the route captured from the path."""
        kwargs: dict[str, Any] = self._scope["url_route"]["kwargs"]
        return kwargs

    def headers(self, name: str) -> list[str]:
        """All values of a header, decoded as latin-1, so that no byte is an error."""
        wanted = name.lower().encode("ascii")
        return [value.decode("latin-1") for key, value in self._scope["headers"] if key == wanted]

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        values = self.headers(name)
        return values[0] if values else None

    @property
    def address(self) -> str:
        """The client's address as `core.limits` trusts it."""
        peer = self._scope.get("client")
        return limits.client_address(peer[0] if peer else None, self.headers("x-forwarded-for"))

    @property
    def query(self) -> dict[str, str]:
        """The query's fields, the last of each. Raises invalid for what is not UTF-8 or cannot be stored."""
        if self._query is None:
            self._query = read_query(self._scope["query_string"])
        return self._query

    def only(self, names: Iterable[str]) -> None:
        """Raise invalid for a query field that this call does not know."""
        for name in self.query.keys() - set(names):
            raise invalid(name, "This call has no such field.", next=f"Known: {', '.join(sorted(names))}.")

    def whole(self, name: str, default: int, *, low: int, high: int) -> int:
        """A whole number from the query, in ASCII digits. Raises invalid outside `low` to `high`."""
        text = self.query.get(name)
        if text is None:
            return default
        if not _DIGITS.fullmatch(text) or not low <= int(text) <= high:
            raise invalid(name, f"Must be a whole number from {low} to {high}.")
        return int(text)

    async def body(self, limit: int) -> bytes:
        """The body, counted while it arrives. Raises too_large past `limit` bytes, Gone when it breaks off."""
        announced = self.header("content-length")
        if announced is not None and _DIGITS.fullmatch(announced) and int(announced) > limit:
            raise too_large(limit)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            chunks.append(chunk)
            if not message.get("more_body"):
                return b"".join(chunks)

    async def gone(self) -> None:
        """Return when the client has gone away."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Reply:
    """The answer to one request; `started` once its status is on the wire."""

    def __init__(self, send: Send, headers: Iterable[tuple[str, str]] = ()) -> None:
        self._send = send
        self._headers = list(headers)
        self.started = False

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the status and headers."""
        self.started = True
        lines = [
            (name.lower().encode(), value.encode("latin-1")) for name, value in [*self._headers, *headers]
        ]
        await self._put({"type": "http.response.start", "status": status, "headers": lines})

    async def write(self, chunk: bytes) -> None:
        """Send a piece of the body. Raises Gone when the reader does not take it in time."""
        await self._put({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self, chunk: bytes = b"") -> None:
        """Send the last piece of the body."""
        await self._put({"type": "http.response.body", "body": chunk})

    async def _put(self, message: Message) -> None:
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                await self._send(message)
        except (TimeoutError, OSError):
            raise Gone from None

    async def full(self, status: int, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> None:
        """A whole answer at once."""
        length = [] if status in (204, 304) else [("Content-Length", str(len(body)))]
        await self.start(status, [*length, *headers])
        await self.end(body)

    async def json(self, status: int, value: Any, headers: Iterable[tuple[str, str]] = ()) -> None:
        """A whole answer of JSON, never cached."""
        await self.full(
            status,
            dumps(value),
            [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *headers],
        )

    async def error(self, error: DomainError) -> None:
        """A refusal as `/v1` shows it."""
        await self.json(error.status, error.body(), error.headers().items())


def endpoint(handler: Callable[[Request, Reply], Awaitable[None]]) -> App:
    """An ASGI application from a handler that raises DomainError for refusals."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reply = Reply(send)
        with suppress(Gone):
            try:
                await handler(Request(scope, receive), reply)
            except Gone:
                raise
            except DomainError as error:
                if not reply.started:
                    await reply.error(error)
            except Exception:
                logger.exception("call failed")
                if reply.started:
                    raise
                await reply.error(internal())

    return app


def internal() -> DomainError:
    """What a caller sees of a fault of ours."""
    return DomainError(Code.INTERNAL, "Something went wrong here; it has been logged.", next="Try again.")


def too_large(limit: int) -> DomainError:
    """A 413 that tells the limit in bytes."""
    return DomainError(
        Code.TOO_LARGE, f"The body is larger than {limit} bytes.", next="Send less, or a link to it."
    )


@asynccontextmanager
async def until_gone(request: Request, waiter: wake.Waiter) -> AsyncIterator[Callable[[], bool]]:
    """Wake `waiter` when the client goes away; yields a function that tells whether it has."""
    watch = asyncio.create_task(request.gone())
    watch.add_done_callback(lambda _task: waiter.wake())
    try:
        yield watch.done
    finally:
        watch.cancel()


def bounded(app: App) -> App:
    """`app` with bodies counted while they arrive; Django alone would spool a body of any size first."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        limit: int = settings.RELAYGER.body_bytes
        reply = Reply(send)
        request = Request(scope, receive)
        size = 0

        async def counting() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise too_large(limit)
            return message

        async def noting(message: Message) -> None:
            reply.started = True
            if message["type"] == "http.response.start" and scope["path"].startswith("/v1/"):
                # As the calls in front: what one caller may see is in no cache for the next.
                message = {**message, "headers": [*message["headers"], (b"cache-control", b"no-store")]}
            await send(message)

        try:
            announced = request.header("content-length")
            if announced is not None and _DIGITS.fullmatch(announced) and int(announced) > limit:
                raise too_large(limit)
            await app(scope, counting, noting)
        except DomainError as error:
            if not reply.started:
                await reply.error(error)

    return counted
