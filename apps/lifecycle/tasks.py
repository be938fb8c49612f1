"""The schedule as Celery sees it, and the nudge that lets a ping go out before its turn."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from functools import partial

from celery import Celery
from django.conf import settings

from apps.inbox import outbox
from apps.lifecycle.jobs import SCHEDULE, SENDING, Job

logger = logging.getLogger(__name__)

_BROKER_SECONDS = 2.0  # how long a process waits for the broker
_CALM_SECONDS = 0.1  # nudges within it are one

app = Celery("relayger", broker=settings.RELAYGER.redis_url, set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    task_default_queue="relayger",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # the broker may come back at any time
    broker_transport_options={
        "socket_timeout": _BROKER_SECONDS,
        "socket_connect_timeout": _BROKER_SECONDS,
        "global_keyprefix": "relayger.celery.",
    },
)


def _task(job: Job) -> None:
    def run() -> None:  # Celery does not take a bound method
        job.run()

    # One that waited longer than its period is not needed any more: the next is there.
    app.task(name=job.name, expires=max(job.every, 1.0))(run)
    app.conf.beat_schedule[job.name] = {"task": job.name, "schedule": job.every}


for _job in SCHEDULE:
    _task(_job)


def nudges() -> AbstractAsyncContextManager[None]:
    """Ask the workers, in the background, to send what this process makes due, for as long as the block takes.

    No request waits for the broker. A nudge that is lost costs the time until the job's next turn.
    """
    return outbox.background(_nudge_for_ever)


async def _nudge_for_ever(due: asyncio.Event) -> None:
    while True:
        await due.wait()
        due.clear()
        try:
            await asyncio.to_thread(partial(app.send_task, SENDING, expires=60, retry=False))
        except Exception as error:
            # Whatever the broker's client raises: the next turn of the job comes anyway.
            logger.warning("the workers were not nudged: %s", type(error).__name__)
        await asyncio.sleep(_CALM_SECONDS)
