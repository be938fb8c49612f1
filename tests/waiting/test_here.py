"""What ends a wait, on the application in this process, where the sweep never comes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from django.conf import settings

from apps.core import db, times
from apps.core.wake import hub
from apps.identities.models import Credential
from apps.inbox import queries as inbox
from apps.inbox.models import InboxHead
from apps.threads import actions
from apps.threads import queries as threads
from tests.threads.world import ask, friends, say
from tests.waiting.world import Token, application, call, revoke, token, waiting

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 3.0  # far less than the 25 s that are asked for, far more than a busy machine needs


@pytest.fixture(autouse=True)
def _no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "sweep_seconds", 86400)


@pytest.fixture
def pair() -> tuple[Token, Token]:
    """An asker and an assignee whose inboxes begin at 1."""
    asker, assignee = friends()
    InboxHead.objects.all().delete()
    return token(asker), token(assignee)


async def test_news_ends_a_wait(pair: tuple[Token, Token]) -> None:
    asker, assignee = pair
    async with application() as client:
        poll = asyncio.create_task(client.get("/v1/inbox?after=0&wait=25", headers=assignee.headers))
        await waiting(2)
        thread = await call(ask, asker.actor, assignee.actor)
        start = time.monotonic()
        answer = (await poll).json()
        assert time.monotonic() - start < SOON
        assert [event["type"] for event in answer["events"]] == ["thread.opened"]

        path = f"/v1/threads/{answer['events'][0]['object']['thread']['id']}"
        look = asyncio.create_task(
            client.get(f"{path}?after={thread.generation}&wait=25", headers=asker.headers)
        )
        await waiting(2)
        await call(say, assignee.actor, thread.id)
        start = time.monotonic()
        shown = (await look).json()
        assert time.monotonic() - start < SOON
        assert (shown["state"], len(shown["messages"])) == ("answered", 1)
        assert hub.waiting == 0


async def test_unwanted_news_ends_no_wait_but_moves_next(pair: tuple[Token, Token]) -> None:
    asker, assignee = pair
    async with application() as client:
        poll = asyncio.create_task(
            client.get("/v1/inbox?after=0&wait=25&limit=1&types=thread.state", headers=assignee.headers)
        )
        await waiting(2)
        threads = [await call(ask, asker.actor, assignee.actor) for _ in range(3)]
        assert not poll.done()
        await call(actions.cancel, asker.actor, threads[0].id)
        answer = (await asyncio.wait_for(poll, SOON)).json()
        assert ([event["seq"] for event in answer["events"]], answer["next"]) == ([4], 4)


async def test_what_falls_between_reading_and_waiting_is_delivered(
    pair: tuple[Token, Token], monkeypatch: pytest.MonkeyPatch
) -> None:
    asker, assignee = pair
    thread: Any = await call(ask, asker.actor, assignee.actor)
    real_news, real_watch = inbox.news, threads.watch
    reads: list[str] = []

    def news(*given: Any) -> Any:
        found = real_news(*given)
        reads.append("inbox")
        if reads == ["inbox"]:  # the read is over, the wait has not begun
            say(asker.actor, thread.id, "More")
        return found

    def watch(*given: Any) -> Any:
        found = real_watch(*given)
        reads.append("thread")
        if reads.count("thread") == 1:
            say(assignee.actor, thread.id)
        return found

    monkeypatch.setattr(inbox, "news", news)
    monkeypatch.setattr(threads, "watch", watch)
    async with application() as client:
        start = time.monotonic()
        answer = (await client.get("/v1/inbox?after=1&wait=25", headers=assignee.headers)).json()
        assert [event["object"]["message"]["text"] for event in answer["events"]] == ["More"]
        path = f"/v1/threads/thr_{thread.id.hex}?wait=25&after={answer['events'][0]['object']['thread']['generation']}"
        shown = (await client.get(path, headers=asker.headers)).json()
        assert [message["text"] for message in shown["messages"]] == ["So."]
        assert time.monotonic() - start < SOON
    assert reads == ["inbox", "inbox", "thread", "thread"]


async def test_a_revoked_token_ends_its_waits_and_delivers_nothing(pair: tuple[Token, Token]) -> None:
    asker, assignee = pair
    thread: Any = await call(ask, asker.actor, assignee.actor)
    other: Token = await call(token, assignee.actor)
    paths = [
        "/v1/inbox?after=1&wait=25",
        f"/v1/threads/thr_{thread.id.hex}?wait=25&after={thread.generation}",
    ]
    async with application() as client:
        polls = [asyncio.create_task(client.get(path, headers=assignee.headers)) for path in paths]
        kept = [asyncio.create_task(client.get(path, headers=other.headers)) for path in paths]
        await waiting(8)
        start = time.monotonic()
        await call(revoke, assignee.actor.credential)
        for answer in await asyncio.gather(*polls):
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
        assert time.monotonic() - start < 1
        assert not any(poll.done() for poll in kept)
        await call(say, asker.actor, thread.id)
        for answer in await asyncio.gather(*kept):
            assert answer.status_code == 200
        assert (await client.get(paths[0], headers=assignee.headers)).status_code == 401


async def test_a_token_revoked_unheard_delivers_nothing(pair: tuple[Token, Token]) -> None:
    """The news itself re-checks who reads it, whether or not the waiter heard of the revocation."""
    asker, assignee = pair
    thread: Any = await call(ask, asker.actor, assignee.actor)
    paths = [
        "/v1/inbox?after=1&wait=25",
        f"/v1/threads/thr_{thread.id.hex}?wait=25&after={thread.generation}",
    ]
    async with application() as client:
        polls = [asyncio.create_task(client.get(path, headers=assignee.headers)) for path in paths]
        await waiting(4)
        await call(revoke_in_silence, assignee.actor.credential)
        await call(say, asker.actor, thread.id)
        for answer in await asyncio.wait_for(asyncio.gather(*polls), SOON):
            assert answer.status_code == 401


def revoke_in_silence(credential: Any) -> None:
    with db.write():
        Credential.objects.filter(id=credential).update(revoked_at=times.now())


async def test_draining_answers_every_wait_and_begins_none(pair: tuple[Token, Token]) -> None:
    asker, assignee = pair
    thread: Any = await call(ask, asker.actor, assignee.actor)
    paths = [
        "/v1/inbox?after=1&wait=25",
        f"/v1/threads/thr_{thread.id.hex}?wait=25&after={thread.generation}",
    ]
    async with application() as client:
        polls = [asyncio.create_task(client.get(path, headers=assignee.headers)) for path in paths]
        await waiting(4)
        hub.drain()
        late = [asyncio.create_task(client.get(path, headers=assignee.headers)) for path in paths]
        answers = [answer.json() for answer in await asyncio.wait_for(asyncio.gather(*polls, *late), SOON)]
        assert answers[0] == answers[2] == {"events": [], "next": 1}
        assert answers[1] == answers[3]
        assert answers[1]["messages"] == []


async def test_the_sweep_finds_what_no_wake_up_told(
    pair: tuple[Token, Token], monkeypatch: pytest.MonkeyPatch
) -> None:
    asker, assignee = pair
    thread: Any = await call(ask, asker.actor, assignee.actor)
    paths = [
        "/v1/inbox?after=1&wait=25",
        f"/v1/threads/thr_{thread.id.hex}?wait=25&after={thread.generation}",
    ]
    monkeypatch.setattr(hub, "deliver", lambda topics: None)
    async with application() as client:
        polls = [asyncio.create_task(client.get(path, headers=assignee.headers)) for path in paths]
        await waiting(4)
        await call(say, asker.actor, thread.id)
        await hub.sweep()
        for answer in await asyncio.wait_for(asyncio.gather(*polls), SOON):
            assert answer.status_code == 200
            assert answer.json().get("events") or answer.json()["messages"]

        last = await call(say, asker.actor, thread.id)
        after = last.thread.generation
        paths = ["/v1/inbox?after=3&wait=25", f"/v1/threads/thr_{thread.id.hex}?wait=25&after={after}"]
        polls = [asyncio.create_task(client.get(path, headers=assignee.headers)) for path in paths]
        await waiting(4)
        await call(revoke, assignee.actor.credential)
        await hub.sweep()
        for answer in await asyncio.wait_for(asyncio.gather(*polls), SOON):
            assert answer.status_code == 401
