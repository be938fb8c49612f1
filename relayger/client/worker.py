"""The loop of a worker: it waits for questions to one identity and answers each once.

What it relies on: the inbox brings news at once, the list of claimable threads brings what was missed, a
lease keeps other workers off a thread, and a `client_id` made of the thread and the question's generation
makes an answer that is sent twice, even by two runs of a worker, stored once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from relayger.client import calls
from relayger.client.calls import Call
from relayger.client.errors import APIError, NetworkError, RelaygerError
from relayger.client.http import AsyncClient
from relayger.client.questions import Answer, Question, Reply, is_question, pick
from relayger.client.retry import ONCE, Retry, backoff, passes
from relayger.client.shapes import FINAL, Event, Message, Ref

__all__ = ["Answer", "Question", "Reply", "work"]

logger = logging.getLogger(__name__)

Log = Callable[[str], None]

POLL_SECONDS = 25
SCAN_SECONDS = 25.0
GRACE_SECONDS = 30.0
TYPES = ("contact.requested", "thread.opened", "thread.message", "thread.state")
# The thread is not this worker's to answer (any more).
LOST = frozenset({"leased", "lease_lost", "thread_closed", "thread_full", "not_found", "not_assignee"})
# The token cannot do this work; waiting does not change that.
FATAL = frozenset({401, 403})
# An answer that was worked for outlives a restart of the service.
PATIENT = Retry(tries=120, cap=5.0, patience=120.0)
# Short enough that a worker is back soon after the service is; jitter keeps many from coming at once.
RECOVERY_CAP = 8.0
# There is no request of theirs to answer any more.
UNASKED = frozenset({"not_incoming", "already_friend", "not_found"})
MAX_PAGES = 20
REMEMBERED = 10_000


async def work(
    client: AsyncClient,
    answer: Answer,
    *,
    name: str,
    concurrency: int = 4,
    accept_contacts: bool = False,
    lease_seconds: int = 60,
    stop: asyncio.Event,
    log: Log = logger.info,
    after: int | None = None,
    on_seq: Callable[[int], None] | None = None,
    scan_seconds: float = SCAN_SECONDS,
    grace_seconds: float = GRACE_SECONDS,
) -> None:
    """Answer questions with `answer` until `stop` is set; then finish what runs, `grace_seconds` at most.

    `name` is shown as the owner of leases. The inbox is read after the seq `after` (None: from the oldest
    kept), and `on_seq` is told how far: keep it and give it back next time, and old news is not read again.
    `log` gets one line per thread and contact. Raises APIError when the token is refused; outages are waited
    out.
    """
    worker = _Worker(client, answer, name, concurrency, accept_contacts, lease_seconds, log)
    worker.after, worker.on_seq, worker.scan_seconds = after, on_seq, scan_seconds
    await worker.run(stop, grace_seconds)


class _Worker:
    def __init__(
        self,
        client: AsyncClient,
        answer: Answer,
        name: str,
        concurrency: int,
        accept_contacts: bool,
        lease_seconds: int,
        log: Log,
    ) -> None:
        self.client = client
        self.answer = answer
        self.name = name
        self.concurrency = concurrency
        self.accept_contacts = accept_contacts
        self.lease_seconds = lease_seconds
        self.log = log
        self.after: int | None = None
        self.on_seq: Callable[[int], None] | None = None
        self.scan_seconds = SCAN_SECONDS
        self.stopping = False
        self.scanned = float("-inf")
        self.waiting: dict[str, None] = {}  # threads to claim once there is room, in order
        self.running: dict[str, asyncio.Task[None]] = {}
        self.newest: dict[str, int] = {}  # of a running thread: its newest question's generation
        self.answered: dict[str, int] = {}
        self.unsure: set[str] = set()  # lost sight of in an outage: the lease may be this worker's own
        self.accepting: dict[str, asyncio.Task[None]] = {}
        self.greeters = asyncio.Semaphore(8)

    async def run(self, stop: asyncio.Event, grace_seconds: float) -> None:
        listener = asyncio.create_task(self._listen())
        stopper = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({listener, stopper}, return_when=asyncio.FIRST_COMPLETED)
            self.stopping = True
            if not listener.done() and self.running:
                self.log(f"stopping; {len(self.running)} still running")
                await asyncio.wait(self.running.values(), timeout=grace_seconds)
        finally:
            self.stopping = True
            tasks = [listener, stopper, *self.running.values(), *self.accepting.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not listener.cancelled() and (error := listener.exception()) is not None:
            raise error

    # -- what is new ----------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        wait = max(1, min(POLL_SECONDS, int(self.scan_seconds)))
        failed = 0
        while not self.stopping:
            try:
                if time.monotonic() - self.scanned >= self.scan_seconds:
                    await self._scan()
                    self.scanned = time.monotonic()
                page = await self.client.send(
                    calls.inbox(after=self.after, wait=wait, types=TYPES), retry=ONCE
                )
            except RelaygerError as error:
                failed += 1
                await self._recover(error, failed)
                continue
            failed = 0
            for event in page["events"]:
                self._see(event)
            self._reached(page["next"])

    def _reached(self, seq: int) -> None:
        if seq != self.after:
            self.after = seq
            if self.on_seq is not None:
                self.on_seq(seq)

    async def _recover(self, error: RelaygerError, failed: int) -> None:
        """Pause after a failure; raise it when waiting does not help."""
        if isinstance(error, APIError):
            if error.status in FATAL:
                raise error
            if error.code == "cursor_expired":
                oldest = error.data.get("oldest")
                self.after = oldest if isinstance(oldest, int) else None
            elif error.code == "invalid" and error.field == "after":
                self.after = None  # the service was set back to an earlier day
        if failed == 1:
            self.log(f"waiting for the service: {error}")
        self.scanned = float("-inf")  # what happened meanwhile is looked for
        asked = error.retry_after if isinstance(error, APIError) and error.retry_after else 0.0
        await asyncio.sleep(max(backoff(failed, cap=RECOVERY_CAP), min(asked, 60.0)))

    async def _scan(self) -> None:
        """Find what no event brought: what came before, and threads whose worker went away."""
        if self.accept_contacts:
            async for contact in self._pages(lambda cursor: calls.contacts(state="incoming", cursor=cursor)):
                self._greet(contact["identity"])
        claimable = partial(calls.threads, role="assignee", claimable=True, limit=100)
        found = [thread["id"] async for thread in self._pages(lambda cursor: claimable(cursor=cursor))]
        for thread in [*self.unsure, *reversed(found)]:  # who waits longest comes first
            if thread not in self.running:
                self.waiting.setdefault(thread)
        self._fill()

    async def _pages(self, page: Callable[[str | None], Call[Any]]) -> AsyncIterator[Any]:
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            found = await self.client.send(page(cursor))
            for item in found["items"]:
                yield item
            if (cursor := found["next_cursor"]) is None:
                return

    def _see(self, event: Event) -> None:
        """Act on one event; what it shows is how things stand now, not how they stood then."""
        subject = event["object"]
        if subject is None:
            return
        if event["type"] == "contact.requested":
            if self.accept_contacts and subject["state"] == "incoming":
                self._greet(subject["identity"])
            return
        thread, message = subject["thread"], subject["message"]
        if thread["role"] != "assignee":
            return
        if thread["state"] in FINAL:
            self._close(thread["id"], thread["state"])
        elif thread["id"] in self.running:
            if is_question(message):
                self.newest[thread["id"]] = message["generation"]
        elif is_question(message) and thread["state"] in ("open", "working") and thread["lease"] is None:
            self.waiting.setdefault(thread["id"])
            self._fill()

    def _close(self, thread: str, state: str) -> None:
        self.waiting.pop(thread, None)
        if (task := self.running.get(thread)) is not None:
            self.log(f"dropped {thread}: it is {state}")
            task.cancel()

    # -- contacts -------------------------------------------------------------------------------------------

    def _greet(self, who: Ref) -> None:
        number = who["number"]
        if number not in self.accepting and not self.stopping:
            task = asyncio.create_task(self._accept(who))
            self.accepting[number] = task
            task.add_done_callback(lambda _: self.accepting.pop(number, None))

    async def _accept(self, who: Ref) -> None:
        async with self.greeters:
            try:
                await self.client.send(calls.accept(who["number"]))
            except RelaygerError as error:
                # Answered elsewhere or taken back; a failure that may pass is mended by the next scan.
                if not (isinstance(error, APIError) and error.code in UNASKED):
                    self.log(f"could not accept @{who['handle']}: {error}")
            else:
                self.log(f"accepted @{who['handle']}")

    # -- questions ------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Start on waiting threads as far as there is room."""
        while self.waiting and len(self.running) < self.concurrency and not self.stopping:
            thread = next(iter(self.waiting))
            del self.waiting[thread]
            task = asyncio.create_task(self._serve(thread))
            self.running[thread] = task
            task.add_done_callback(partial(self._ended, thread))

    def _ended(self, thread: str, task: asyncio.Task[None]) -> None:
        del self.running[thread]
        self.newest.pop(thread, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log(f"dropped {thread}: {type(error).__name__}: {error}")
        self._fill()

    async def _serve(self, thread: str) -> None:
        """Claim a thread, answer what is open on it, and let go when it is lost."""
        claimed = False
        try:
            if thread in self.answered and not await self._asked_since(thread, self.answered[thread]):
                return
            attempt = await self._claim(thread)
            claimed = True
            await self._hold(thread, attempt)
        except RelaygerError as error:
            if passes(error):
                self.unsure.add(thread)
                self.log(f"dropped {thread} for now: {error}")
            elif claimed or not (isinstance(error, APIError) and error.code in LOST):
                self.log(f"dropped {thread}: {error}")

    async def _claim(self, thread: str) -> int | None:
        """Take a thread's lease, or go on with this worker's own; returns the attempt."""
        attempt: int | None = None
        if thread in self.unsure:
            page = await self.client.send(calls.thread(thread))
            if page["lease"] is not None and page["lease"]["worker"] == self.name:
                attempt = page["attempt"]
            self.unsure.discard(thread)
        call = calls.claim(thread, worker=self.name, seconds=self.lease_seconds, attempt=attempt)
        return (await self.client.send(call, retry=ONCE))["attempt"]

    async def _asked_since(self, thread: str, generation: int) -> bool:
        page = await self.client.send(calls.thread(thread, after=generation))
        return any(is_question(message) for message in page["messages"])

    async def _hold(self, thread: str, attempt: int | None) -> None:
        """Answer while the lease is kept. Raises what took it away."""
        answering = asyncio.create_task(self._answer(thread, attempt))
        keeping = asyncio.create_task(self._keep(thread, attempt))
        try:
            done, _ = await asyncio.wait({answering, keeping}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            answering.cancel()
            keeping.cancel()
            await asyncio.gather(answering, keeping, return_exceptions=True)

    async def _keep(self, thread: str, attempt: int | None) -> None:
        """Renew the lease for ever. Raises when it is lost; after an outage the next try may be in time."""
        renewal = calls.claim(thread, worker=self.name, seconds=self.lease_seconds, attempt=attempt)
        while True:
            await asyncio.sleep(self.lease_seconds / 3)
            try:
                await self.client.send(renewal)
            except APIError as error:
                if error.code in LOST or error.status in FATAL:
                    raise
            except NetworkError:
                continue

    async def _answer(self, thread: str, attempt: int | None) -> None:
        """Answer what is open on a thread, and what its asker adds meanwhile."""
        while True:
            question = await self._question(thread)
            if question is None:
                return
            began = time.monotonic()
            reply = await self._ask(question)
            # An answer would close the thread over what was added, so it is given as a part of more to come.
            more = reply.state is None and self.newest.get(thread, 0) > question.generation
            stored = await self._say(question, Reply(reply.text, "working" if more else reply.state), attempt)
            self._remember(thread, question.generation)
            spent = time.monotonic() - began
            self.log(f"{stored.state or 'answered'} {thread} from {question.asker} in {spent:.1f} s")
            if not more:
                return

    async def _question(self, thread: str) -> Question | None:
        messages: list[Message] = []
        after = 0
        while True:
            page = await self.client.send(calls.thread(thread, after=after))
            messages += page["messages"]
            if not page["messages"] or page["next"] >= page["generation"]:
                return pick(page, messages, self.answered.get(thread, 0))
            after = page["next"]

    async def _ask(self, question: Question) -> Reply:
        try:
            return await self.answer(question)
        except Exception as error:  # whatever it is made of: its asker must not wait for ever
            self.log(f"the answer to {question.thread['id']} failed: {type(error).__name__}")
            return Reply("Something went wrong while this was answered.", "failed")

    async def _say(self, question: Question, reply: Reply, attempt: int | None) -> Reply:
        """Store a reply, once per question; returns what was stored."""
        thread, generation = question.thread["id"], question.generation
        key = f"{thread}:{generation}"
        call = calls.reply(thread, text=reply.text, state=reply.state, attempt=attempt, client_id=key)
        try:
            await self.client.send(call, retry=PATIENT)
        except APIError as error:
            if error.code == "idempotency_conflict":
                return reply  # another run of this worker answered this question already, in other words
            if error.status not in (400, 413):
                raise
            self.log(f"the answer to {thread} was refused: {error}")
            instead = Reply("The answer was not one that can be sent.", "failed")
            call = calls.reply(
                thread, text=instead.text, state=instead.state, attempt=attempt, client_id=key + ":refused"
            )
            await self.client.send(call, retry=PATIENT)
            return instead
        return reply

    def _remember(self, thread: str, generation: int) -> None:
        self.answered.pop(thread, None)
        self.answered[thread] = generation
        if len(self.answered) > REMEMBERED:
            del self.answered[next(iter(self.answered))]
