"""Running the service in this process: `relayger serve`."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relayger.config import Config

logger = logging.getLogger(__name__)

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  compared with, not bound to
_BACKLOG = 2048


def serve(*, host: str, port: int, agent: bool = True, app: Any = "relayger.asgi:application") -> None:
    """Serve until SIGTERM or SIGINT, with the `@relayger` agent answering when `agent` is true.

    The embedded database is migrated first; a deployment runs `manage.py migrate` itself. Raises SystemExit with
    one line when a setting cannot be used or the port is taken.
    """
    sockets = _bound(host, port)
    reached = _LOOPBACK.get(host, host)
    local = f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
    os.environ.setdefault("RELAYGER_ORIGIN", local)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relayger.settings")

    import django  # noqa: PLC0415  the environment above comes first

    django.setup()

    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    if settings.RELAYGER.embedded:
        call_command("migrate", verbosity=0)

    import uvloop  # noqa: PLC0415  not on every platform, and only here

    greeting = f"Relayger serves {settings.RELAYGER.origin} (listening on {local})"
    server = _server(app, greeting, settings.RELAYGER)
    _listen(sockets, host, port)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(server, sockets, local, agent))


def _bound(host: str, port: int) -> list[socket.socket]:
    """Sockets for every address of `host`. Raises SystemExit with one line."""
    sockets = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # "::" is not also 0.0.0.0
            one.bind(address)
            sockets.append(one)
    except OSError as error:
        raise _deaf(host, port, error) from None
    return sockets


def _listen(sockets: list[socket.socket], host: str, port: int) -> None:
    """Take the ports for good; another process may have bound the same ones meanwhile. Raises SystemExit."""
    try:
        for one in sockets:
            one.listen(_BACKLOG)
    except OSError as error:
        raise _deaf(host, port, error) from None


def _deaf(host: str, port: int, error: OSError) -> SystemExit:
    shown = f"[{host}]" if ":" in host else host
    return SystemExit(f"relayger: cannot listen on {shown}:{port}: {error.strerror or error}")


def _server(app: Any, greeting: str, periods: Config) -> Any:
    import uvicorn  # noqa: PLC0415

    from apps.core.wake import hub  # noqa: PLC0415
    from relayger.wire import FRAME_BYTES, Protocol, SocketProtocol  # noqa: PLC0415

    class Server(uvicorn.Server):
        """uvicorn's, but waits and streams end as soon as the signal comes, so that draining is quick."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            hub.drain()
            super().handle_exit(sig, frame)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print(greeting, file=sys.stderr, flush=True)

    config = uvicorn.Config(
        app,
        backlog=_BACKLOG,
        http=Protocol,
        ws=SocketProtocol,
        ws_max_size=FRAME_BYTES,
        ws_per_message_deflate=False,  # it takes memory for each socket, of which there are many
        ws_ping_interval=periods.heartbeat_seconds,
        ws_ping_timeout=periods.heartbeat_seconds,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(periods.drain_seconds),
    )
    return Server(config)


async def _run(server: Any, sockets: list[socket.socket], local: str, agent: bool) -> None:
    if not agent:
        await server.serve(sockets)
        return
    from relayger.agent import answer_questions, token  # noqa: PLC0415

    stop = asyncio.Event()
    worker = asyncio.create_task(answer_questions(local, await asyncio.to_thread(token), stop))
    worker.add_done_callback(_told)
    try:
        await server.serve(sockets)
    finally:
        stop.set()
        await asyncio.wait([worker], timeout=5)
        worker.cancel()


def _told(worker: asyncio.Task[None]) -> None:
    if not worker.cancelled() and (error := worker.exception()) is not None:
        logger.error("@relayger no longer answers", exc_info=error)
