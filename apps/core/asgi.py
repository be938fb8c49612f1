"""Plain ASGI calls, for what waits or streams: requests, replies and errors without a thread per request."""

from __future__ import annotations

import asyncio
import logging
import re
import time
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

_LOOK_SECONDS = 0.25  # how often who waits for a body looks whether the process is draining
_DRAIN_SECONDS = 0.5  # what a body may still take then
_LINGER_SECONDS = 1.0  # how long a client may go on sending after it was refused
_DIGITS = re.compile(r"[0-9]{1,19}", re.ASCII)


SSE_HEADERS = [
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
]


def sse(value: Any, *, id: int | None = None, event: str | None = None) -> bytes:
    """One Server-Sent Event with JSON as its data."""
    head = ("" if id is None else f"id: {id}\n") + ("" if event is None else f"event: {event}\n")
    return head.encode() + b"data: " + dumps(value) + b"\n\n"


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


class _Patience:
    """The time that one body has to arrive whole; little once the process drains."""

    def __init__(self, receive: Receive, seconds: float | None = None) -> None:
        self._receive = receive
        self._until = time.monotonic() + (seconds or settings.RELAYGER.body_seconds)

    async def __call__(self) -> Message:
        """The next piece. Raises request_timeout."""
        while True:
            now = time.monotonic()
            if wake.hub.draining:
                self._until = min(self._until, now + _DRAIN_SECONDS)
            if now >= self._until:
                raise DomainError(
                    Code.REQUEST_TIMEOUT,
                    "The body did not arrive whole in time.",
                    next="Send it again, on a new connection.",
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(min(_LOOK_SECONDS, self._until - now)):
                    return await self._receive()


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
        """The value of a header; one sent more than once reads as a list, as HTTP has it."""
        values = self.headers(name)
        return ", ".join(values) if values else None

    @property
    def address(self) -> str:
        """The client's address as `core.limits` trusts it."""
        return peer_address(self._scope)

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

    @property
    def has_body(self) -> bool:
        """Whether a body is announced."""
        return self.header("transfer-encoding") is not None or self.header("content-length") not in (
            None,
            "0",
        )

    def check_body(self, limit: int) -> None:
        """Raise too_large or unsupported_media_type for what the headers say of a body."""
        announced = self.header("content-length")
        if announced is not None and _DIGITS.fullmatch(announced) and int(announced) > limit:
            raise too_large(limit)
        if self.has_body and (
            self._codings("content-encoding") - {"identity"}
            or self._codings("transfer-encoding") - {"chunked"}
        ):
            raise DomainError(
                Code.UNSUPPORTED_MEDIA_TYPE,
                "An encoded body is not read here.",
                next="Send it plain, without Content-Encoding.",
                told={"Accept-Encoding": "identity"},
            )

    def _codings(self, name: str) -> set[str]:
        return {one.strip().lower() for one in (self.header(name) or "").split(",")} - {""}

    async def body(self, limit: int) -> bytes:
        """The body, counted while it arrives. Raises what `pieces` raises."""
        return b"".join([chunk async for chunk in self.pieces(limit)])

    async def pieces(self, limit: int, seconds: float | None = None) -> AsyncIterator[bytes]:
        """The body piece by piece, counted, within `seconds` or what a setting gives every body.

        Raises too_large past `limit` bytes, request_timeout, unsupported_media_type for one that is encoded, and
        Gone when it breaks off.
        """
        self.check_body(limit)
        receive = _Patience(self._receive, seconds)
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            yield chunk
            if not message.get("more_body"):
                return

    async def gone(self) -> None:
        """Return when the client has gone away."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def peer_address(scope: Scope) -> str:
    """The address of the client of a request or a socket, as `core.limits` trusts it."""
    peer = scope.get("client")
    forwarded = [value.decode("latin-1") for key, value in scope["headers"] if key == b"x-forwarded-for"]
    return limits.client_address(peer[0] if peer else None, forwarded)


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
            async with asyncio.timeout(settings.RELAYGER.write_seconds):
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
    """`app` with bodies counted and timed while they arrive; Django alone would spool one of any size first."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        limit: int = settings.RELAYGER.body_bytes
        reply = Reply(send)
        request = Request(scope, receive)
        arriving = _Patience(receive)
        size = 0
        whole = False

        async def counting() -> Message:
            nonlocal size, whole
            message = await (receive() if whole else arriving())
            whole = not message.get("more_body")
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
            request.check_body(limit)
            await app(scope, counting, noting)
        except DomainError as error:
            if not reply.started:
                await reply.error(error)

    return counted


def told(app: App) -> App:
    """`app`, whose answers tell what their calls counted and what is left, as RateLimit headers."""

    async def telling(scope: Scope, receive: Receive, send: Send) -> None:
        headers = limits.counting()

        async def writing(message: Message) -> None:
            if message["type"] == "http.response.start" and (found := headers()):
                lines = [(name.lower().encode(), value.encode()) for name, value in found]
                message = {**message, "headers": [*message["headers"], *lines]}
            await send(message)

        await app(scope, receive, writing)

    return telling


def unread(app: App) -> App:
    """`app`, whose answers to a body they did not wait for leave the connection in good order.

    Who expects "100 Continue" and hears an answer instead may send the body or not: the connection ends. And one
    that ends does so once the client has stopped sending: closed at once, it could lose the answer.
    """

    async def settled(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if not request.has_body:
            await app(scope, receive, send)
            return
        expecting = (request.header("expect") or "").lower() == "100-continue"
        whole = closing = False

        async def reading() -> Message:
            nonlocal whole
            message = await receive()
            whole = not message.get("more_body")
            return message

        async def writing(message: Message) -> None:
            nonlocal closing
            if message["type"] == "http.response.start" and not whole:
                closing = any(name.lower() == b"connection" for name, _ in message["headers"])
                if expecting and not closing:
                    closing = True
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            elif closing and not message.get("more_body"):
                await send({**message, "more_body": True})
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LINGER_SECONDS):
                        while not wake.hub.draining and (await receive()).get("more_body"):
                            pass
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        await app(scope, reading, writing)

    return settled
