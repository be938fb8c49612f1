"""`/ws`: an inbox pushed over a WebSocket, and who is live in the chats one watches.

One coroutine answers frames and pushes news, a second reads frames and wakes it; neither holds a thread or a
connection to the database while it waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, NoReturn

from django.conf import settings

from apps.core import db, limits, wake
from apps.core.actor import Actor
from apps.core.asgi import Gone, Message, Receive, Scope, Send, internal, logger, peer_address
from apps.core.errors import Code, DomainError
from apps.core.strict_json import dumps
from apps.identities.access import admit
from apps.inbox import frames, presence
from apps.inbox.feed import STREAM_PAGE, Feed, resume, start, topics
from apps.inbox.frames import Hello

_WAITING = 16  # frames read ahead; a client that sends faster is not read
_A_MINUTE = 60.0
MAX_FRAMES = 120  # a minute
_MAX_INVALID = 20  # frames of a socket that are no frames of ours

_DRAINED = 1012
_FAULTY = 1011
_LATER = 1013
_CODES = {
    Code.INVALID_FRAME: 4400,
    Code.INVALID_HELLO: 4400,
    Code.UNSUPPORTED_VERSION: 4400,
    Code.INVALID: 4400,
    Code.AUTHENTICATION_TIMEOUT: 4401,
    Code.UNAUTHENTICATED: 4401,
    Code.SUSPENDED: 4401,
    Code.INSUFFICIENT_SCOPE: 4401,
    Code.RATE_LIMITED: 4429,
    Code.TOO_MANY_WAITS: 4429,
    Code.UNAVAILABLE: _LATER,
}


async def socket(scope: Scope, receive: Receive, send: Send) -> None:
    """One connection to `/ws`, from the handshake to its end."""
    await receive()  # websocket.connect
    origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
    if any(origin != settings.RELAYGER.origin for origin in origins):
        # A page of another site; programs send no Origin. Closed before it is accepted, it reads 403.
        await send({"type": "websocket.close"})
        return
    line = _Line(receive, send)
    with suppress(Gone):
        await line.put({"type": "websocket.accept"})
        try:
            await _serve(line, peer_address(scope))
        except DomainError as error:
            await line.refuse(error)
        except Gone:
            raise
        except Exception:
            logger.exception("socket failed")
            await line.refuse(internal())


class _Line:
    """Frames out, and the closing."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.receive = receive
        self._send = send

    async def put(self, message: Message) -> None:
        """Hand one ASGI message to the server. Raises Gone; the server ends one whose reader stands still."""
        try:
            await self._send(message)
        except OSError:
            raise Gone from None

    async def push(self, kind: str, **fields: Any) -> None:
        """Send one frame."""
        text = dumps({"v": frames.VERSION, "type": kind, **fields}).decode()
        await self.put({"type": "websocket.send", "text": text})

    async def refuse(self, error: DomainError) -> None:
        """Say why, then close with the code that tells a program the same."""
        await self.push("error", **error.body())
        await self.close(_CODES.get(error.code, _FAULTY), error.code.value)

    async def close(self, code: int, reason: str) -> None:
        """Send the closing frame."""
        await self.put({"type": "websocket.close", "code": code, "reason": reason})


async def _serve(line: _Line, address: str) -> None:
    hello = await _hello(line)
    actor = await db.run(partial(admit, f"Bearer {hello.token}", address, "read"))
    async with AsyncExitStack() as held:
        held.enter_context(limits.slot("socket", actor.identity, settings.RELAYGER.max_sockets))
        waiter = await held.enter_async_context(wake.wait(topics(actor)))
        reader = _Reader(line, waiter)
        after = await start(actor, hello.after)
        feed = Feed(
            actor, waiter, after=after, types=hello.types, limit=STREAM_PAGE, ended=lambda: reader.due
        )
        gap = await resume(feed)
        await held.enter_async_context(presence.held(actor.identity))
        await line.push("ready", identity=actor.ref.show())
        if gap is not None:
            await line.push("gap", oldest=gap)
        reading = asyncio.create_task(reader.read())
        held.callback(reading.cancel)
        await _Session(line, actor, feed, reader).run()


async def _hello(line: _Line) -> Hello:
    try:
        async with asyncio.timeout(settings.RELAYGER.hello_seconds):
            message = await line.receive()
    except TimeoutError:
        raise DomainError(
            Code.AUTHENTICATION_TIMEOUT,
            "The first frame did not come in time.",
            next='Send {"v": 1, "token": "rgt_…"} as soon as the socket is open.',
        ) from None
    if message["type"] == "websocket.disconnect":
        raise Gone
    return frames.hello(message.get("text"))


class _Reader:
    """What the client sends, a few frames ahead."""

    def __init__(self, line: _Line, waiter: wake.Waiter) -> None:
        self._line = line
        self._waiter = waiter
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue(_WAITING)
        self._gone = False

    @property
    def due(self) -> bool:
        """Whether there is a frame to answer, or the client has gone."""
        return self._gone or not self._waiting.empty()

    async def read(self) -> None:
        """Read until the client goes; it is heard of even when no frame is taken any more."""
        while True:
            message = await self._line.receive()
            if message["type"] == "websocket.disconnect":
                self._gone = True
                self._waiter.wake()
                return
            await self._waiting.put(message.get("text"))
            self._waiter.wake()

    def take(self) -> list[str | None]:
        """The frames that wait; None for one that is not text. Raises Gone."""
        if self._gone:
            raise Gone
        taken = []
        while not self._waiting.empty():
            taken.append(self._waiting.get_nowait())
        return taken


class _Session:
    """A socket that said who it is."""

    def __init__(self, line: _Line, actor: Actor, feed: Feed, reader: _Reader) -> None:
        self._line = line
        self._actor = actor
        self._feed = feed
        self._reader = reader
        self._watched = presence.Watch(actor)
        self._times: deque[float] = deque(maxlen=MAX_FRAMES)
        self._invalid = 0

    async def run(self) -> NoReturn:
        """Answer and push until something raises: Gone, or what ends the socket."""
        clock = asyncio.get_running_loop().time
        beat: float = settings.RELAYGER.heartbeat_seconds
        while True:
            for text in self._reader.take():
                self._count(clock())
                await self._answer(text)
            if wake.hub.draining:
                await self._line.close(_DRAINED, "the service restarts")
                raise Gone
            news = await self._feed.news(clock() + beat)
            if news.events:
                await self._line.push("inbox", **news.show())
                for event in news.events:
                    if event["type"] == "thread.state" and event["object"] is not None:
                        await self._line.push("status", thread=event["object"]["thread"])
            await self._look()

    def _count(self, now: float) -> None:
        if len(self._times) == MAX_FRAMES and now - self._times[0] < _A_MINUTE:
            raise DomainError(
                Code.RATE_LIMITED,
                f"More than {MAX_FRAMES} frames a minute.",
                next="Connect again, and send less.",
                retry_after=int(_A_MINUTE),
            )
        self._times.append(now)

    async def _answer(self, text: str | None) -> None:
        request: str | None = None
        try:
            frame = frames.read(text)
            request = frame.id
            await self._do(frame)
        except DomainError as error:
            if error.code in (Code.UNAUTHENTICATED, Code.SUSPENDED, Code.UNAVAILABLE):
                raise
            if error.code is Code.INVALID_FRAME:
                self._invalid += 1
                if self._invalid > _MAX_INVALID:
                    raise
            await self._line.push("error", id=request, **error.body())

    async def _do(self, frame: frames.Frame) -> None:
        if frame.type == "call":
            raise DomainError(
                Code.UNKNOWN_TOOL, "There is no such tool.", field="tool", next="Use the calls of /v1."
            )
        if frame.type == "watch":
            live = await db.run(partial(self._watched.add, frame.chat))
            await self._line.push("presence", id=frame.id, chat=frame.chat, live=live)
        else:
            self._watched.drop(frame.chat)
            await self._line.push("unwatched", id=frame.id, chat=frame.chat)

    async def _look(self) -> None:
        """Tell who came and went where one watches, and which chats one may no longer see."""
        if not self._watched:
            return
        changed, lost = await db.run(self._watched.look)
        for chat in lost:
            await self._line.push("connection_closed", chat=chat)
        for chat, live in changed.items():
            await self._line.push("presence", chat=chat, live=live)
