"""The server's connections: what uvicorn does with bytes, where this service needs it otherwise."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from apps.core.errors import Code, DomainError
from apps.core.strict_json import dumps

FRAME_BYTES = 1 << 16  # the largest frame of a socket's client

_LINGER_SECONDS = 2.0  # what a reader that is cut off has to take the reason
_UPGRADE = re.compile(rb"\nupgrade(?=:|\Z)", re.IGNORECASE)
_SOCKET = re.compile(rb"GET /ws/?(?:\?[^ \r\n]*)? HTTP/1\.1\r\n")
# What uvicorn and websockets would log of a connection holds its address with the query, whatever is in it.
_quiet = logging.getLogger("relayger.socket")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class _Patience:
    """The time that a reader has, once what it did not take yet fills the buffer."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, loop: asyncio.AbstractEventLoop, end: Any) -> None:
        """Call `end` after RELAYGER_WRITE_SECONDS."""
        self.over()
        self._timer = loop.call_later(settings.RELAYGER.write_seconds, end)

    def over(self) -> None:
        """The buffer empties, or the connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Protocol(HttpToolsProtocol):
    """uvicorn's, but an offer to upgrade is taken for `/ws` alone, and a reader that stands still is cut off.

    Another offer (HTTP/2 by curl --http2 and Java's client, with each POST) is ignored, as HTTP allows: the parser
    would end the request where it finds one, and with it the body. So the header gets another name of the same
    length before the parser sees it. A body is not touched: it may be a file that has such a line.
    """

    _tail = b""  # of the headers so far, to know a name, or their end, that comes in two pieces
    _body = False
    _socket: bool | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._patience = _Patience()

    def data_received(self, data: bytes) -> None:
        """Takes what arrived."""
        kept, whole = len(self._tail), self._tail + data
        # A client opens a socket with a connection of its own, and its first bytes.
        if self._socket is None:
            self._socket = _SOCKET.match(data) is not None
        if self._body or self._socket:
            super().data_received(data)
            return
        headers, end, body = whole.partition(b"\r\n\r\n")
        self._tail = whole[-len("\nupgrade") :]
        super().data_received((_UPGRADE.sub(b"\nx-upgrd", headers) + end + body)[kept:])

    def on_headers_complete(self) -> None:
        """What follows is the body."""
        self._body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What follows are the headers of the next request."""
        self._body, self._tail = False, b""
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The buffer is full."""
        super().pause_writing()
        self._patience.begin(self.loop, self.transport.abort)

    def resume_writing(self) -> None:
        """The buffer empties."""
        self._patience.over()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._patience.over()
        super().connection_lost(exc)


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's, but who answers no ping or does not read is told why, and logs hold no address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = self.conn.logger = _quiet
        self._patience = _Patience()

    def keepalive_timeout(self) -> None:
        """A ping was not answered."""
        self.pong_timer = None
        self.pending_ping_payload = None
        self._cut_off(4408, DomainError(Code.HEARTBEAT_TIMEOUT, "Pings were not answered."))

    def pause_writing(self) -> None:
        """The buffer is full."""
        super().pause_writing()
        self._patience.begin(
            self.loop,
            lambda: self._cut_off(
                4429,
                DomainError(
                    Code.SLOW_CONNECTION,
                    "The reader did not keep up.",
                    next="Read on with GET /v1/inbox?after=, from the last `next`.",
                ),
            ),
        )

    def resume_writing(self) -> None:
        """The buffer empties."""
        self._patience.over()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._patience.over()
        super().connection_lost(exc)

    def _cut_off(self, code: int, error: DomainError) -> None:
        """Say why past the buffer's mark, and end whether or not it is read."""
        if self.close_sent or self.transport.is_closing():
            return
        self.stop_keepalive()
        self.conn.send_text(dumps({"v": 1, "type": "error", **error.body()}))
        self.conn.send_close(code, error.code.value)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = self.disconnected = True
        # Its application hears of the end now; a send of its that waits for the buffer ends with the connection.
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": error.code.value})
        self.loop.call_later(_LINGER_SECONDS, self.transport.abort)
