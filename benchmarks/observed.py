"""The service as `relayger serve` runs it, noting when each wake-up's commit was: for the delay from there.

`python -m benchmarks.observed --port N`; GET /_bench/commits tells the times, on perf_counter's clock that all
processes of a machine share, with the topics woken, and forgets them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import orjson

PATH = "/_bench/commits"


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port

    os.environ["DJANGO_SETTINGS_MODULE"] = "relayger.settings"
    from apps.core.wake import Hub  # noqa: PLC0415  reads the settings
    from relayger.asgi import application  # noqa: PLC0415  the same
    from relayger.server import serve  # noqa: PLC0415  the same

    commits: list[tuple[float, list[str]]] = []
    deliver = Hub.deliver

    def noting(hub: Hub, topics: Iterable[str]) -> None:
        """`Hub.deliver`, which is called first thing after a commit."""
        woken = list(topics)
        commits.append((perf_counter(), woken))
        deliver(hub, woken)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await application(scope, receive, send)
            return
        body = orjson.dumps(commits)
        commits.clear()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    Hub.deliver = noting  # type: ignore[method-assign, assignment]  # the one place all wake-ups pass
    serve(host="127.0.0.1", port=port, agent=False, app=app)


if __name__ == "__main__":
    main()
