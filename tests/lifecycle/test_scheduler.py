"""The embedded service's clock."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from apps.core.errors import unavailable
from apps.lifecycle.jobs import Job
from apps.lifecycle.scheduler import run_jobs
from tests.harness.wait import until_async

# The threads that run jobs give their connection back, which asks the database.
pytestmark = pytest.mark.django_db(transaction=True)


async def test_jobs_run_at_once_and_again_until_stopped() -> None:
    ran: list[str] = []
    stop = asyncio.Event()
    jobs = [
        Job("often", lambda: ran.append("often"), 0.01),
        Job("seldom", lambda: ran.append("seldom"), 3600),
    ]
    async with asyncio.timeout(10):
        running = asyncio.create_task(run_jobs(stop, jobs))
        await until_async(lambda: _true(ran.count("often") >= 3))
        stop.set()
        await running
    assert ran.count("seldom") == 1


async def test_a_job_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []
    stop = asyncio.Event()

    def fail() -> None:
        tries.append(1)
        raise unavailable() if len(tries) == 1 else ValueError("broken")

    with caplog.at_level(logging.WARNING, "apps.lifecycle.scheduler"):
        async with asyncio.timeout(10):
            running = asyncio.create_task(run_jobs(stop, [Job("shaky", fail, 0.01)]))
            await until_async(lambda: _true(len(tries) >= 3))
            stop.set()
            await running
    assert [record.levelname for record in caplog.records[:2]] == ["WARNING", "ERROR"]
    assert all("shaky" in record.getMessage() for record in caplog.records)


async def test_jobs_take_turns() -> None:
    stop = asyncio.Event()
    busy = threading.Lock()
    ran: list[int] = []

    def alone() -> None:
        assert busy.acquire(blocking=False)
        threading.Event().wait(0.02)
        busy.release()
        ran.append(1)

    async with asyncio.timeout(10):
        running = asyncio.create_task(run_jobs(stop, [Job(str(n), alone, 3600) for n in range(5)]))
        await until_async(lambda: _true(len(ran) == 5))
        stop.set()
        await running


async def _true(value: bool) -> bool:
    return value
