"""Running the service in this process: `relayger serve`."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)

_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  compared with, not bound to


def serve(*, host: str, port: int, agent: bool = True, app: Any = "relayger.asgi:application") -> None:
    """Serve until SIGTERM or SIGINT, with the `@relayger` agent answering when `agent` is true.

    The embedded database is migrated first; a deployment runs `manage.py migrate` itself. Raises SystemExit with
    one line when a setting cannot be used.
    """
    local = f"http://{_LOOPBACK.get(host, host)}:{port}"
    os.environ.setdefault("RELAYGER_ORIGIN", local)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relayger.settings")

    import django  # noqa: PLC0415  the environment above comes first

    django.setup()

    from django.conf import settings  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    if settings.RELAYGER.embedded:
        call_command("migrate", verbosity=0)
    token = _agent_token(settings.RELAYGER.var) if agent else None

    import uvloop  # noqa: PLC0415  not on every platform, and only here

    server = _server(app, host, port, settings.RELAYGER.drain_seconds)
    print(f"Relayger serves {settings.RELAYGER.origin} (listening on {local})", file=sys.stderr)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(server, local, token))
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


async def _run(server: Any, local: str, token: str | None) -> None:
    if token is None:
        await server.serve()
        return
    stop = asyncio.Event()
    worker = asyncio.create_task(_answer(local, token, stop))
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


def _agent_token(var: Path) -> str:
    """@relayger's token, kept beside the data: made at the first start, made anew when it is no longer good."""
    from apps.identities import seed  # noqa: PLC0415

    kept = var / "agent_token"
    before = kept.read_text().strip() if kept.exists() else None
    token: str = seed.relayger_token(before)
    if token != before:
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = kept.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(token)
        fresh.replace(kept)
    return token


async def _answer(local: str, token: str, stop: asyncio.Event) -> None:
    """Answer questions to @relayger from the docs, as any worker would: over HTTP, with a token."""
    from django.conf import settings  # noqa: PLC0415

    from relayger.answers import Answers  # noqa: PLC0415
    from relayger.client import AsyncClient  # noqa: PLC0415
    from relayger.client.worker import Question, Reply, work  # noqa: PLC0415

    answers = Answers(settings.BASE_DIR / "docs", settings.RELAYGER.origin)

    async def answer(question: Question) -> Reply:
        return Reply(answers.answer(question.text))

    handler: Callable[[Question], Awaitable[Reply]] = answer
    async with AsyncClient(local, token) as client:
        await work(client, handler, name=f"serve-{os.getpid()}", accept_contacts=True, stop=stop)
