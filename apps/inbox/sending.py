"""Sending pings to webhooks, as Standard Webhooks has it.

1. A webhook's pings go out one after another, in the order of their seq; several webhooks at once, up to a bound.
2. A ping is sent until a 2xx takes it. Any other answer, a redirect too, and none at all is tried again, first after
   seconds, then ever later. What keeps failing for RELAYGER_WEBHOOK_DAYS, or answers 410, is disabled.
3. Every try of a ping has the same `webhook-id`. A process that is killed between sending and writing it down sends
   again: at least once, never knowingly twice.
4. While something is sent, no transaction is open, and neither a thread nor a connection of the database is held.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import AbstractAsyncContextManager
from functools import partial

from standardwebhooks import Webhook as Signer

from apps.core import db, ids, outgoing, times, vault
from apps.core.addresses import Refused
from apps.core.errors import DomainError
from apps.core.strict_json import dumps
from apps.inbox import outbox, sql, tries
from apps.inbox.tries import Claimed, Outcome, Try
from relayger import __version__

logger = logging.getLogger(__name__)

AT_ONCE = 64  # webhooks that one process sends to at the same time
THREAD = "webhooks"
_PATIENCE = 1.0  # seconds that one run of the job takes at most
_END_SECONDS = 2.0  # what is on its way when the process stops


def send_due() -> None:
    """The job: see that what is due is sent.

    Where a sender runs in this process, it is told. Elsewhere one is started, on a thread of its own, and ends when
    nothing is due; the job waits for it a moment only, so that targets that hang hold up no other job.
    """
    if outbox.send_now() or not sql.any_due(times.now()):
        return
    thread = threading.Thread(target=lambda: asyncio.run(_send_until_idle()), name=THREAD, daemon=True)
    thread.start()
    thread.join(_PATIENCE)


def sender() -> AbstractAsyncContextManager[None]:
    """Send in the background of this event loop, as soon as something is due, for as long as the block takes."""
    return outbox.background(partial(_send, ever=True))


async def _send_until_idle() -> None:
    more = True
    while more:
        with outbox.listening() as due:
            await _send(due, ever=False)
        await asyncio.sleep(0)  # a nudge that came last is noted only now
        more = due.is_set()


async def _send(due: asyncio.Event, *, ever: bool) -> None:
    """Send what is due, and what comes to be due: for ever, or until nothing is."""
    running: set[asyncio.Task[None]] = set()
    try:
        while True:
            due.clear()
            await _fill(running)
            if not running and not ever:
                return
            nudged = asyncio.ensure_future(due.wait())
            # A full house is looked at again when somebody leaves, not for each nudge.
            full = len(running) >= AT_ONCE
            awaited = (set() if full else {nudged}) | (set() if ever and not full else running)
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            nudged.cancel()
    finally:
        await _end(running)


async def _end(running: set[asyncio.Task[None]]) -> None:
    """Let what is on its way arrive, for a moment."""
    if running:
        _, left = await asyncio.wait(running, timeout=_END_SECONDS)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)


async def _fill(running: set[asyncio.Task[None]]) -> None:
    """Begin to send to webhooks that are due, as many as there is room for."""
    while (room := AT_ONCE - len(running)) > 0:
        try:
            claimed = await db.run(partial(tries.claim, room))
        except DomainError as error:
            logger.warning("webhooks wait: %s", error.message)
            return
        except Exception:
            logger.exception("looking for webhooks that are due failed")
            return
        for one in claimed:
            task = asyncio.create_task(_send_to(one))
            running.add(task)
            task.add_done_callback(running.discard)
        if len(claimed) < room:
            return


async def _send_to(claimed: Claimed) -> None:
    """Send to one webhook until nothing waits or a try fails. What goes wrong here waits for its claim to end."""
    try:
        current = await db.run(partial(tries.first, claimed))
        while current is not None:
            current = await db.run(partial(tries.done, current, await _try(current)))
    except DomainError as error:
        logger.warning("a webhook waits: %s", error.message)
    except Exception:
        logger.exception("sending to a webhook failed")


async def _try(current: Try) -> Outcome:
    try:
        content, headers = message(current)
        answer = await outgoing.post(current.hook.url, content, headers)
    except vault.Lost:
        return Outcome(None, "The service cannot read the secret any more: rotate it.")
    except (Refused, outgoing.Unreachable) as error:
        return Outcome(None, str(error))
    except Exception:
        # It must not be tried at once, nor for ever.
        logger.exception("sending to a webhook failed")
        return Outcome(None, "A fault of the service, which has been logged.")
    return Outcome(answer.status, retry_after=answer.retry_after)


def message(current: Try) -> tuple[bytes, dict[str, str]]:
    """The body of a ping and its headers, signed. Raises vault.Lost."""
    hook, ping = current.hook, current.ping
    body = dumps({"type": ping.type, "number": str(hook.identity), "seq": ping.seq})
    id = ids.show("dlv", ping.id)
    kept = [hook.secret]
    if hook.old_secret is not None and hook.old_until is not None and current.at < hook.old_until:
        kept.append(hook.old_secret)
    signatures = [Signer(vault.open(one)).sign(id, current.at, body) for one in kept]
    return body, {
        "Content-Type": "application/json",
        "User-Agent": f"Relayger/{__version__}",
        "webhook-id": id,
        "webhook-timestamp": str(int(current.at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
