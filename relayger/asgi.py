"""The service's one ASGI application: calls that wait or stream in front, Django's handler behind."""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relayger.settings")

from django.core.asgi import get_asgi_application

_django = get_asgi_application()  # loads the apps, which everything below needs

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from apps.a2a import asgi as a2a  # noqa: E402
from apps.core.asgi import App, Receive, Scope, Send, bounded, endpoint, told, unread  # noqa: E402
from apps.core.wake import hub  # noqa: E402
from apps.inbox import asgi as inbox  # noqa: E402
from apps.inbox.sending import sender  # noqa: E402
from apps.inbox.socket import socket  # noqa: E402
from apps.lifecycle import asgi as lifecycle  # noqa: E402
from apps.lifecycle.scheduler import here, run_jobs  # noqa: E402
from apps.threads import asgi as threads  # noqa: E402
from apps.threads import file_asgi as files  # noqa: E402
from relayger import health, urls  # noqa: E402

assert urls.urlpatterns  # noqa: S101  loaded now: a fault in them stops the start, not the first call
_behind = bounded(cast(App, _django))


def _reading(front: App) -> App:
    """`front` for GET and HEAD; Django answers the other methods of the same address."""
    return _for(("GET", "HEAD"), front)


def _for(methods: tuple[str, ...], front: App) -> App:
    """`front` for some methods; Django answers the others of the same address."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (front if scope["method"] in methods else _behind)(scope, receive, send)

    return app


def _at(route: str, app: App) -> Any:
    """An ASGI application at an address; Channels takes them where Django takes views."""
    return path(route, cast(Any, app))


_http = URLRouter(
    [
        _at("a2a/.well-known/agent-card.json", a2a.misplaced),
        _at("a2a/<str:who>", a2a.rpc),
        _at("a2a/<str:who>/.well-known/agent-card.json", a2a.card),
        _at("a2a/<str:who>/.well-known/agent.json", a2a.card),
        re_path(r"^a2a(?:/|$)", cast(Any, a2a.elsewhere)),
        _at("v1/inbox", _reading(inbox.inbox)),
        _at("v1/inbox/stream", _reading(inbox.stream)),
        _at("ws", inbox.not_a_socket),
        _at("v1/me/export", _reading(lifecycle.export_me)),
        _at("v1/threads/<str:id>", _reading(threads.thread)),
        _at("v1/chats/<str:id>/files", _for(("POST",), files.make)),
        _at("v1/files/<str:id>", _for(("PATCH",), files.change)),
        _at("v1/files/<str:id>/content", _reading(files.download)),
        _at("healthz", endpoint(health.alive)),
        _at("readyz", endpoint(health.ready)),
        re_path("", cast(Any, _behind)),
    ]
)


def _sending() -> AbstractAsyncContextManager[None]:
    """Who sends to webhooks: this process, or in a deployment Celery's workers, which it nudges."""
    if settings.RELAYGER.embedded:
        return sender()
    from apps.lifecycle.tasks import nudges  # noqa: PLC0415  only a deployment needs Celery

    return nudges()


class _Life:
    """What lives as long as the process: the waiters' hub, the jobs, and who sends to webhooks."""

    def __init__(self) -> None:
        self._stop = asyncio.Event()
        self._jobs: asyncio.Task[None] | None = None
        self._sender = AsyncExitStack()

    async def begin(self) -> None:
        """Start it, unless it was: a server without lifespan, such as Daphne, begins with the first call."""
        if self._jobs is None:
            self._jobs = asyncio.create_task(run_jobs(self._stop, here()))
            await self._sender.enter_async_context(_sending())
            await hub.start()

    async def end(self) -> None:
        """Stop it."""
        self._stop.set()
        if self._jobs is not None:
            await asyncio.gather(self._jobs, return_exceptions=True)
        await self._sender.aclose()
        await hub.stop()


_life = _Life()


async def _call(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer `/v1/x/` as `/v1/x`: a redirect would lose a POST's body."""
    await _life.begin()
    path: str = scope["path"]
    if path.endswith("/") and path.startswith(("/v1/", "/a2a/")):
        scope = {**scope, "path": path.rstrip("/"), "raw_path": scope.get("raw_path", b"").rstrip(b"/")}
    await _http(scope, receive, send)


async def _socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Open `/ws`; any other address reads 403 before the handshake is done."""
    await _life.begin()
    if scope["path"].rstrip("/") == "/ws":
        await socket(scope, receive, send)
    else:
        await receive()
        await send({"type": "websocket.close"})


async def _lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["type"] == "lifespan.startup":
        await _life.begin()
        await send({"type": "lifespan.startup.complete"})
    await _life.end()
    await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter({"http": unread(told(_call)), "websocket": _socket, "lifespan": _lifespan})
