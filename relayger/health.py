"""Whether this process lives, and whether it should get traffic."""

from __future__ import annotations

import asyncio
from functools import partial

from django.core.cache import caches
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.core import db, times
from apps.core.asgi import Reply, Request
from apps.core.errors import Code, DomainError
from apps.core.wake import hub
from apps.lifecycle.jobs import late

_SECONDS = 3.0
_started = times.now()

# Reading the plan takes a tenth of a second of this process; once applied, migrations stay applied.
_migrated = False


async def alive(request: Request, reply: Reply) -> None:
    """GET /healthz: the loop turns."""
    _only_read(request)
    await reply.json(200, {"status": "ok"})


async def ready(request: Request, reply: Reply) -> None:
    """GET /readyz: 503 without a database, with migrations to apply or while draining.

    A cache, a layer or jobs that fail only degrade it.
    """
    _only_read(request)
    checks = {"database": "ok", "draining": "yes" if hub.draining else "no", "cache": "ok", "wake": "ok"}
    try:
        async with asyncio.timeout(_SECONDS):
            checks["migrations"] = await db.run(_migrations)
    except (DomainError, TimeoutError):
        checks["database"] = "unreachable"
    try:
        async with asyncio.timeout(_SECONDS):
            await caches["limits"].aset("readyz", "ok", 10)
    except Exception:
        # Whatever the cache's client raises means the same here.
        checks["cache"] = "unreachable"
    if not await hub.reachable():
        checks["wake"] = "unreachable"
    if checks.get("migrations") == "ok":
        checks["jobs"] = await _jobs()
    unready = checks["database"] != "ok" or checks.get("migrations") != "ok" or hub.draining
    degraded = any(checks.get(name, "ok") != "ok" for name in ("cache", "wake", "jobs"))
    status = "unavailable" if unready else "degraded" if degraded else "ok"
    await reply.json(503 if unready else 200, {"status": status, "checks": checks})


async def _jobs() -> str:
    try:
        async with asyncio.timeout(_SECONDS):
            found = await db.run(partial(late, _started))
    except (DomainError, TimeoutError):
        return "unknown"
    return f"late: {', '.join(found)}" if found else "ok"


def _only_read(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise DomainError(Code.METHOD_NOT_ALLOWED, "Health is read with GET.", told={"Allow": "GET, HEAD"})


def _migrations() -> str:
    global _migrated
    if _migrated:
        db.row("SELECT 1")
    else:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "ok" if _migrated else "unapplied"
