"""Running the service in this process: `relayger serve`."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  compared with, not bound to


def serve(*, host: str, port: int, agent: bool = True, app: Any = "relayger.asgi:application") -> None:
    """Serve until SIGTERM or SIGINT, with the `@relayger` agent answering when `agent` is true.

    The embedded database is migrated first; a deployment runs `manage.py migrate` itself. Raises SystemExit with
    one line when a setting cannot be used.
    """
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

    server = _server(app, host, port, settings.RELAYGER.drain_seconds)
    print(f"Relayger serves {settings.RELAYGER.origin} (listening on {local})", file=sys.stderr)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(server, local, agent))
    if not server.started:
        raise SystemExit(f"relayger: cannot listen on {host}:{port}")


def _server(app: Any, host: str, port: int, drain_seconds: float) -> Any:
    import uvicorn  # noqa: PLC0415

    from apps.core.wake import hub  # noqa: PLC0415

    class Server(uvicorn.Server):
        """uvicorn's, but waits and streams end as soon as the signal comes, so that draining is quick."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            hub.drain()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(drain_seconds),
    )
    return Server(config)


async def _run(server: Any, local: str, agent: bool) -> None:
    if not agent:
        await server.serve()
        return
    from relayger.agent import answer_questions, token  # noqa: PLC0415

    stop = asyncio.Event()
    worker = asyncio.create_task(answer_questions(local, await asyncio.to_thread(token), stop))
    worker.add_done_callback(_told)
    try:
        await server.serve()
    finally:
        stop.set()
        await asyncio.wait([worker], timeout=5)
        worker.cancel()


def _told(worker: asyncio.Task[None]) -> None:
    if not worker.cancelled() and (error := worker.exception()) is not None:
        logger.error("@relayger no longer answers", exc_info=error)
