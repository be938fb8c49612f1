"""The service as it is, started with an eye on its SQL: the process that `tests.harness.service` starts.

Statements are recorded by Django's own hook and read at `/_test/statements` (GET lists those since the last
DELETE); `/_test/vitals` tells threads, database connections, tasks and memory. The product has neither path.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from weakref import WeakSet

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

# What opens, closes or tunes a transaction or connection is not a statement in the design's sense.
NOT_COUNTED = {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA"}


class Recorder:
    """Every counted statement of this process, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statements: list[dict[str, Any]] = []
        self._wrappers: WeakSet[BaseDatabaseWrapper] = WeakSet()

    def connected(self, connection: BaseDatabaseWrapper, **_: Any) -> None:
        """Receives connection_created, which a pooled wrapper sends each time it takes a connection."""
        with self._lock:
            self._wrappers.add(connection)
        if self.execute not in connection.execute_wrappers:
            connection.execute_wrappers.append(self.execute)

    def execute(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Django's execute_wrapper: notes the statement and runs it."""
        started = time.time()
        try:
            return execute(sql, params, many, context)
        finally:
            text = str(sql)
            if text.split(None, 1)[0].upper().rstrip(";") not in NOT_COUNTED:
                entry = {
                    "sql": text,
                    "at": started,
                    "seconds": time.time() - started,
                    "thread": threading.current_thread().name,
                }
                with self._lock:
                    self._statements.append(entry)

    def statements(self) -> list[dict[str, Any]]:
        """All statements since the last reset."""
        with self._lock:
            return list(self._statements)

    def reset(self) -> None:
        """Forget all statements so far."""
        with self._lock:
            self._statements.clear()

    def connections(self) -> int:
        """How many database connections this process holds, in use or idle in the pool."""
        with self._lock:
            wrappers = list(self._wrappers)
        for wrapper in wrappers:
            pool = getattr(wrapper, "pool", None)
            if pool is not None:
                return int(pool.get_stats()["pool_size"])
        return sum(wrapper.connection is not None for wrapper in wrappers)


def watched(app: App, recorder: Recorder) -> App:
    """`app` with the two test paths in front."""

    async def front(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/_test/"):
            await app(scope, receive, send)
        elif scope["path"] == "/_test/statements" and scope["method"] == "DELETE":
            recorder.reset()
            await _json(send, None)
        elif scope["path"] == "/_test/statements":
            await _json(send, recorder.statements())
        else:
            await _json(send, _vitals(recorder))

    return front


def _vitals(recorder: Recorder) -> dict[str, int]:
    gc.collect()  # a thread that ended holds nothing, but Python may not have noticed yet
    with open("/proc/self/status") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return {
        "threads": threading.active_count(),
        "connections": recorder.connections(),
        "tasks": len(asyncio.all_tasks()),
        "rss_kib": rss,
    }


def _end_with_parent() -> None:
    """Ask Linux to kill this process when the test process dies: a killed run leaves no service behind."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)


async def _json(send: Send, value: Any) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--no-agent", action="store_true")
    arguments = parser.parse_args()

    _end_with_parent()
    os.environ["DJANGO_SETTINGS_MODULE"] = "relayger.settings"
    recorder = Recorder()
    connection_created.connect(recorder.connected)
    from relayger.asgi import application  # noqa: PLC0415  reads the settings
    from relayger.server import serve  # noqa: PLC0415  the same

    serve(
        host="127.0.0.1",
        port=arguments.port,
        agent=not arguments.no_agent,
        app=watched(application, recorder),
    )


if __name__ == "__main__":
    main()
