"""The clock of a process that serves: one loop per job.

The embedded service runs all of them. In a deployment Celery's workers do (`tasks`), but for what each process holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress

from django.conf import settings

from apps.core import db
from apps.core.errors import DomainError
from apps.lifecycle.jobs import SCHEDULE, Job

logger = logging.getLogger(__name__)


def here() -> list[Job]:
    """The jobs of this process."""
    return [job for job in SCHEDULE if job.everywhere or settings.RELAYGER.embedded]


async def run_jobs(stop: asyncio.Event, jobs: Sequence[Job]) -> None:
    """Run every job at once and then on its period until `stop` is set; one that fails is tried again then.

    They take turns, so that they never hold more than one of the few threads that serve requests too.
    """
    turn = asyncio.Lock()
    async with asyncio.TaskGroup() as loops:
        for job in jobs:
            loops.create_task(_repeat(job, stop, turn))


async def _repeat(job: Job, stop: asyncio.Event, turn: asyncio.Lock) -> None:
    while not stop.is_set():
        try:
            async with turn:
                await db.run(job.run)
        except DomainError as error:
            logger.warning("job %s waits: %s", job.name, error.message)
        except Exception:
            logger.exception("job %s failed", job.name)
        with suppress(TimeoutError):
            async with asyncio.timeout(job.every):
                await stop.wait()
