"""A server of one's own that takes pings, and notes how they came."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

from tests.harness.wait import until

HANG = -1  # an answer that never comes
DROP = -2  # a connection that breaks
HUGE = -3  # an answer that never ends


@dataclass(frozen=True)
class Ping:
    """A ping as it came."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def seq(self) -> int:
        return int(self.json["seq"])

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verify(self, secret: str) -> Any:
        """What the official library makes of it; raises when the signature is not good."""
        return Webhook(secret).verify(self.body, self.headers)


Answer = int | tuple[int, dict[str, str]]


class Receiver:
    """Answers the pings it takes with `answer(how many came before)`: a status, with headers, or one of the above."""

    def __init__(
        self, answer: Callable[[int], Answer] = lambda _: 204, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answer = answer
        self.pings: list[Ping] = []
        self.sent = 0  # bytes of endless answers
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, address: None  # type: ignore[method-assign]  they break on purpose
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.02])

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with receiver._lock:
                    answer = receiver.answer(len(receiver.pings))
                    receiver.pings.append(Ping(self.path, headers, body))
                status, told = answer if isinstance(answer, tuple) else (answer, {})
                receiver._reply(self, status, told)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _reply(self, handler: BaseHTTPRequestHandler, status: int, told: dict[str, str]) -> None:
        handler.close_connection = True
        if status == HANG:
            self._closing.wait(60)
            return
        if status == DROP:
            return
        handler.send_response(200 if status == HUGE else status)
        for name, value in told.items():
            handler.send_header(name, value)
        if status != HUGE:
            handler.send_header("Content-Length", "0")
        handler.end_headers()
        while status == HUGE and not self._closing.is_set():
            self.sent += handler.wfile.write(b"x" * 65536)

    def wait(self, count: int, seconds: float = 10) -> list[Ping]:
        """The pings, once there are `count`."""
        until(lambda: len(self.pings) >= count, seconds, f"{count} pings; came: {len(self.pings)}")
        return self.pings

    def close(self) -> None:
        """Take no more."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    def start(self) -> Receiver:
        self._thread.start()
        return self


@contextmanager
def receiving(
    answer: Callable[[int], Answer] = lambda _: 204, tls: ssl.SSLContext | None = None
) -> Iterator[Receiver]:
    """A receiver for the block."""
    receiver = Receiver(answer, tls).start()
    try:
        yield receiver
    finally:
        receiver.close()
