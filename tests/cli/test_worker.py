"""The worker's loop against a running service: everything is answered once, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx
import pytest

from relayger.client import APIError, AsyncClient, NetworkError, Retry
from relayger.client.calls import Call
from relayger.client.worker import Answer, Question, Reply, work
from tests.harness.cast import Cast, Person
from tests.harness.service import Starter
from tests.harness.wait import until_async

T = TypeVar("T")


class Worker:
    """A running worker: what it logged, and how far it read."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.lines: list[str] = []
        self.seq: int | None = None

    def read(self, seq: int) -> None:
        self.seq = seq

    def told(self, word: str) -> list[str]:
        return [line for line in self.lines if word in line]


@asynccontextmanager
async def working(
    person: Person, answer: Answer, client: AsyncClient | None = None, **options: Any
) -> AsyncIterator[Worker]:
    """Let `person` answer by `answer` until the block ends."""
    worker = Worker()
    settings = {"name": "test", "scan_seconds": 1.0, "grace_seconds": 10.0, **options}
    async with client or AsyncClient(person.service.origin, person.token) as service:
        task = asyncio.create_task(
            work(service, answer, stop=worker.stop, log=worker.lines.append, on_seq=worker.read, **settings)
        )
        try:
            yield worker
        finally:
            worker.stop.set()
            async with asyncio.timeout(20):
                await task


async def shout(question: Question) -> Reply:
    return Reply(question.text.upper())


async def state_of(person: Person, thread: str) -> dict[str, Any]:
    return await asyncio.to_thread(person.thread, thread)


async def ended(person: Person, thread: str, state: str = "answered") -> list[str]:
    """Wait for a thread's state; returns what its assignee said."""

    async def there() -> dict[str, Any] | None:
        page = await state_of(person, thread)
        return page if page["state"] == state else None

    page = await until_async(there, 20, f"{thread} {state}")
    assert page is not None
    return [
        message["text"] for message in page["messages"] if message["role"] == "assignee" and message["parts"]
    ]


async def true(condition: Callable[[], Any]) -> None:
    async def holds() -> bool:
        return bool(condition())

    await until_async(holds, 20)


async def test_it_answers_what_comes(cast: Cast) -> None:
    alice, bob = cast.friends
    async with working(bob, shout) as worker:
        await true(lambda: worker.seq)
        threads = [(alice.ask(bob, text)["id"], text) for text in ("one", "two", "three")]
        for thread, text in threads:
            assert await ended(alice, thread) == [text.upper()]
    assert len(worker.told("answered")) == 3
    assert f"from @{alice.handle}" in worker.lines[0]


async def test_it_answers_what_it_missed(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob, "while you slept")["id"]
    head = bob.inbox()["next"]
    async with working(bob, shout, after=head):
        assert await ended(alice, thread) == ["WHILE YOU SLEPT"]


async def test_it_reads_on_where_it_was(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob)["id"]
    async with working(bob, shout) as worker:
        await ended(alice, thread)
        await true(lambda: worker.seq == bob.inbox()["next"])


@pytest.mark.parametrize("before", [True, False], ids=["asked before it starts", "asked while it runs"])
async def test_it_accepts_contacts_when_told(before: bool, cast: Cast) -> None:
    alice, bob = cast.alice, cast.bob
    if before:
        alice.call("POST", "/v1/contacts", {"to": bob.number})
    async with working(bob, shout, accept_contacts=True) as worker:
        await true(lambda: worker.seq is not None or before)
        if not before:
            alice.call("POST", "/v1/contacts", {"to": bob.number})
        await true(lambda: alice.contact(bob) == "friend")
        assert await ended(alice, alice.ask(bob, "hello")["id"]) == ["HELLO"]
    assert worker.told(f"accepted @{alice.handle}")


async def test_it_accepts_nobody_unless_told(cast: Cast) -> None:
    alice, bob = cast.friends
    cast.charlie.call("POST", "/v1/contacts", {"to": bob.number})
    async with working(bob, shout):
        await ended(alice, alice.ask(bob)["id"])
    assert bob.contact(cast.charlie) == "incoming"


async def test_it_answers_so_many_at_a_time(cast: Cast) -> None:
    alice, bob = cast.friends
    running: set[str] = set()
    most = 0
    go_on = asyncio.Event()

    async def hold(question: Question) -> Reply:
        nonlocal most
        running.add(question.thread["id"])
        most = max(most, len(running))
        await go_on.wait()
        running.discard(question.thread["id"])
        return Reply("done")

    threads = [alice.ask(bob, str(number))["id"] for number in range(5)]
    async with working(bob, hold, concurrency=2):
        await true(lambda: len(running) == 2)
        assert running == set(threads[:2])  # who waits longest comes first
        go_on.set()
        for thread in threads:
            await ended(alice, thread)
    assert most == 2


async def test_two_workers_share_and_never_answer_twice(cast: Cast) -> None:
    alice, bob = cast.friends
    answered: list[str] = []

    async def once(question: Question) -> Reply:
        answered.append(question.thread["id"])
        return Reply("done")

    async with working(bob, once, name="one"), working(bob, once, name="two"):
        threads = [alice.ask(bob, str(number))["id"] for number in range(12)]
        for thread in threads:
            assert await ended(alice, thread) == ["done"]
    assert sorted(answered) == sorted(threads)


async def test_a_follow_up_is_a_question_again(cast: Cast) -> None:
    alice, bob = cast.friends
    seen: list[str] = []

    async def ask_back(question: Question) -> Reply:
        seen.append(question.text)
        return Reply("Which?", "input_required") if len(seen) == 1 else Reply("That one.")

    async with working(bob, ask_back):
        thread = alice.ask(bob, "Take it.")["id"]
        assert await ended(alice, thread, "input_required") == ["Which?"]
        alice.reply(thread, "The red one.")
        assert await ended(alice, thread) == ["Which?", "That one."]
    assert seen == ["Take it.", "The red one."]


async def test_what_is_added_meanwhile_is_answered_too(cast: Cast) -> None:
    alice, bob = cast.friends
    seen: list[str] = []
    go_on = asyncio.Event()

    async def slow(question: Question) -> Reply:
        seen.append(question.text)
        if len(seen) == 1:
            await go_on.wait()
        return Reply(f"answer {len(seen)}")

    async with working(bob, slow) as worker:
        thread = alice.ask(bob, "first")["id"]
        await true(lambda: seen)
        alice.reply(thread, "second")
        head = bob.inbox()["next"]
        await true(lambda: worker.seq == head)
        go_on.set()
        assert await ended(alice, thread) == ["answer 1", "answer 2"]
    assert seen == ["first", "second"]


async def test_a_part_is_not_answered_again(cast: Cast) -> None:
    alice, bob = cast.friends
    seen: list[str] = []

    async def part(question: Question) -> Reply:
        seen.append(question.text)
        return Reply("More will come.", "working")

    async with working(bob, part, lease_seconds=1, scan_seconds=1.0) as worker:
        thread = alice.ask(bob, "first")["id"]
        await true(lambda: worker.told("working"))
        await true(lambda: bob.call("GET", "/v1/threads", claimable="true")["items"])
        other = alice.ask(bob, "second")["id"]
        await ended(alice, other, "working")
        alice.reply(thread, "third")
        await true(lambda: len(seen) == 3)
    assert seen == ["first", "second", "third"]


async def test_a_canceled_question_is_dropped(cast: Cast) -> None:
    alice, bob = cast.friends
    dropped = asyncio.Event()
    begun = asyncio.Event()

    async def forever(_: Question) -> Reply:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()
        raise AssertionError

    async with working(bob, forever) as worker:
        thread = alice.ask(bob)["id"]
        async with asyncio.timeout(20):
            await begun.wait()
            alice.call("POST", f"/v1/threads/{thread}/cancel")
            await dropped.wait()
        await true(lambda: worker.told("it is canceled"))


class Unlucky(AsyncClient):
    """A client that cannot renew a lease while `out` is set."""

    out = True

    async def send(self, call: Call[T], *, retry: Retry | None = None) -> T:
        if self.out and call.body is not None and call.path.endswith("/working") and "attempt" in call.body:
            raise NetworkError("out")
        return await super().send(call, retry=retry)


async def test_a_lost_lease_drops_the_answer(cast: Cast) -> None:
    alice, bob = cast.friends
    begun = asyncio.Event()
    client = Unlucky(bob.service.origin, bob.token)

    async def forever(_: Question) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with working(bob, forever, client, lease_seconds=1) as worker:
        thread = alice.ask(bob)["id"]
        async with asyncio.timeout(20):
            await begun.wait()
        await true(lambda: bob.call("GET", "/v1/threads", claimable="true")["items"])
        bob.call("POST", f"/v1/threads/{thread}/working", {"worker": "other", "seconds": 60})
        client.out = False
        await true(lambda: worker.told("lease_lost"))
    assert alice.thread(thread)["lease"]["worker"] == "other"


async def test_a_lease_is_renewed_while_the_answer_takes_long(cast: Cast) -> None:
    alice, bob = cast.friends
    go_on = asyncio.Event()

    async def slow(_: Question) -> Reply:
        await go_on.wait()
        return Reply("done")

    async with working(bob, slow, lease_seconds=1):
        thread = alice.ask(bob)["id"]
        await true(lambda: alice.thread(thread)["lease"])
        first = alice.thread(thread)["lease"]["until"]
        await true(lambda: alice.thread(thread)["lease"]["until"] > first)
        assert alice.thread(thread)["attempt"] == 1
        go_on.set()
        assert await ended(alice, thread) == ["done"]


class Lossy(httpx.AsyncHTTPTransport):
    """A network that loses the response to the first call of a kind, after the service did what it asked."""

    def __init__(self, call: str) -> None:
        super().__init__()
        self.call = call
        self.lost = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if request.url.path.endswith(self.call) and not self.lost:
            self.lost += 1
            await response.aread()
            raise httpx.ReadError("lost", request=request)
        return response


async def test_a_reply_whose_receipt_was_lost_is_stored_once(cast: Cast) -> None:
    alice, bob = cast.friends
    network = Lossy("/messages")
    client = AsyncClient(bob.service.origin, bob.token, transport=network)
    async with working(bob, shout, client) as worker:
        thread = alice.ask(bob, "once")["id"]
        assert await ended(alice, thread) == ["ONCE"]
        await true(lambda: worker.told(f"answered {thread}"))
    assert network.lost == 1
    assert not worker.told("dropped")


async def test_a_claim_whose_receipt_was_lost_is_gone_on_with(cast: Cast) -> None:
    alice, bob = cast.friends
    network = Lossy("/working")
    client = AsyncClient(bob.service.origin, bob.token, transport=network)
    async with working(bob, shout, client, lease_seconds=3600):
        thread = alice.ask(bob, "mine already")["id"]
        assert await ended(alice, thread) == ["MINE ALREADY"]
    assert network.lost == 1
    assert alice.thread(thread)["attempt"] == 1


async def test_another_run_that_says_it_in_other_words_changes_nothing(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob)["id"]
    question = alice.thread(thread)["messages"][0]["generation"]
    bob.reply(thread, "The first.", state="working", client_id=f"{thread}:{question}")
    async with working(bob, shout) as worker:
        await true(lambda: worker.told(thread))
    page = alice.thread(thread)
    said = [
        message["text"] for message in page["messages"] if message["role"] == "assignee" and message["parts"]
    ]
    assert said == ["The first."]


async def test_an_answer_that_breaks_fails_the_question(cast: Cast) -> None:
    alice, bob = cast.friends

    async def broken(_: Question) -> Reply:
        raise RuntimeError("secret detail")

    async with working(bob, broken):
        said = await ended(alice, alice.ask(bob)["id"], "failed")
    assert len(said) == 1
    assert "secret" not in said[0]


async def test_an_answer_that_cannot_be_sent_fails_the_question(cast: Cast) -> None:
    alice, bob = cast.friends

    async def too_long(_: Question) -> Reply:
        return Reply("x" * 40_000)

    async with working(bob, too_long) as worker:
        await ended(alice, alice.ask(bob)["id"], "failed")
        await true(lambda: worker.told("was refused"))


async def test_stopping_finishes_what_runs_and_starts_nothing(cast: Cast) -> None:
    alice, bob = cast.friends
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(question: Question) -> Reply:
        begun.set()
        await go_on.wait()
        return Reply(question.text)

    async with working(bob, slow, concurrency=1) as worker:
        first, second = alice.ask(bob, "first")["id"], alice.ask(bob, "second")["id"]
        async with asyncio.timeout(20):
            await begun.wait()
        worker.stop.set()
        await true(lambda: worker.told("stopping"))
        go_on.set()
    assert alice.thread(first)["state"] == "answered"
    assert alice.thread(second)["state"] == "open"


async def test_stopping_does_not_wait_for_ever(cast: Cast) -> None:
    alice, bob = cast.friends
    begun = asyncio.Event()

    async def forever(_: Question) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with working(bob, forever, grace_seconds=0.2):
        alice.ask(bob)
        async with asyncio.timeout(20):
            await begun.wait()


async def test_a_refused_token_ends_it(cast: Cast) -> None:
    async with AsyncClient(cast.bob.service.origin, "rgt_wrong") as client, asyncio.timeout(20):
        with pytest.raises(APIError) as refused:
            await work(client, shout, name="test", stop=asyncio.Event())
    assert refused.value.status == 401


async def test_a_place_beyond_the_inbox_is_given_up(cast: Cast) -> None:
    alice, bob = cast.friends
    async with working(bob, shout, after=10**9) as worker:
        await true(lambda: worker.seq == bob.inbox()["next"])
        assert await ended(alice, alice.ask(bob, "still here")["id"]) == ["STILL HERE"]


@pytest.mark.faults
async def test_it_outlives_a_service_that_is_killed(fresh_server: Starter) -> None:
    service = fresh_server()
    cast = Cast(service)
    alice, bob = cast.friends
    go_on = asyncio.Event()

    async def slow(question: Question) -> Reply:
        await go_on.wait()
        return Reply(question.text)

    async with working(bob, slow) as worker:
        during = alice.ask(bob, "during")["id"]
        await true(lambda: alice.thread(during)["lease"])
        await asyncio.to_thread(service.kill)
        go_on.set()
        await true(lambda: worker.told("waiting for the service"))
        await asyncio.to_thread(service.start)
        assert await ended(alice, during) == ["during"]
        assert await ended(alice, alice.ask(bob, "after")["id"]) == ["after"]
    cast.close()
