"""Long-polls over HTTP, on a service where no sweep helps: times, limits, statements."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from tests.harness.cast import Cast, Person
from tests.harness.environment import SETUP
from tests.harness.service import Service, Starter
from tests.harness.wait import until, until_async

SOON = 5.0
# What serving may hold, however few wait: the pool's bound, or one per thread for the database (4) and for files (4),
# and the one that migrated.
MOST_CONNECTIONS = 12 if SETUP == "deployment" else 9


def reads(service: Service) -> int:
    """How often a waiter has read what it waits for: each does so once before it waits."""
    return sum("WHERE c.id = " in one["sql"] for one in service.http.get("/_test/statements").json())


async def park(
    http: httpx.AsyncClient, service: Service, paths: list[str]
) -> list[asyncio.Task[httpx.Response]]:
    """Begin a long-poll of each path, and return once all have joined and read: from then on they wait."""
    before = await asyncio.to_thread(reads, service)
    polls = [asyncio.create_task(http.get(path)) for path in paths]

    async def there() -> bool:
        return await asyncio.to_thread(reads, service) >= before + len(paths)

    await until_async(there, 20, what=f"{len(paths)} waits")
    return polls


def head(person: Person) -> int:
    following: int = person.inbox()["next"]
    return following


async def test_news_is_delivered_at_once(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    after = head(bob)
    async with bob.async_http() as http:
        (poll,) = await park(http, quiet_cast.service, [f"/v1/inbox?after={after}&wait=25"])
        thread = await asyncio.to_thread(alice.ask, bob)
        start = time.monotonic()
        answer = (await poll).json()
        assert time.monotonic() - start < SOON
    assert [event["object"]["thread"]["id"] for event in answer["events"]] == [thread["id"]]
    assert answer["next"] == after + 1


async def test_an_answer_reaches_who_waits_for_it(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    thread = alice.ask(bob)
    path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
    async with alice.async_http() as http:
        polls = await park(http, quiet_cast.service, [path] * 5)
        await asyncio.to_thread(bob.reply, thread["id"])
        start = time.monotonic()
        answers = [answer.json() for answer in await asyncio.gather(*polls)]
        assert time.monotonic() - start < SOON
    assert answers == [answers[0]] * 5
    assert [message["text"] for message in answers[0]["messages"]] == ["So."]
    assert answers[0]["state"] == "answered"


def test_what_is_there_already_is_not_waited_for(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    thread = alice.ask(bob)
    start = time.monotonic()
    assert alice.thread(thread["id"], wait=25)["next"] == thread["generation"]
    assert bob.inbox(head(bob) - 1, wait=25)["events"]
    assert alice.thread(thread["id"], wait=0, after=thread["generation"])["messages"] == []
    assert bob.inbox(head(bob), wait=0)["events"] == []
    assert time.monotonic() - start < SOON


def test_without_news_a_wait_ends_on_time(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    thread = alice.ask(bob)
    after = head(bob)
    calls: list[Callable[[], Any]] = [
        partial(alice.thread, thread["id"], after=thread["generation"], wait=1),
        partial(bob.inbox, after, wait=1),
    ]
    for call in calls:
        start = time.monotonic()
        answer = call()
        assert 1 <= time.monotonic() - start < 1 + SOON
        assert answer["next"] in (thread["generation"], after)
        assert not answer.get("events")
        assert not answer.get("messages")


async def test_the_cost_of_a_wait_with_news(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    service = quiet_cast.service
    for _ in range(2):  # the second time around everything is warm
        after = head(bob)
        with service.counting() as made:
            async with bob.async_http() as http:
                (poll,) = await park(http, service, [f"/v1/inbox?after={after}&wait=25"])
                thread = await asyncio.to_thread(alice.ask, bob)
                assert (await poll).json()["events"]
    mine = [one["sql"] for one in made if one["thread"].startswith("db_")]
    assert len(mine) <= 4, made
    assert sum("c.hash" in one for one in mine) == 1, made

    with service.counting() as made:
        async with alice.async_http() as http:
            path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
            (poll,) = await park(http, service, [path])
            await asyncio.to_thread(bob.reply, thread["id"])
            assert (await poll).json()["messages"]
    mine = [one["sql"] for one in made if one["thread"].startswith("db_")]
    assert len(mine) <= 3, made
    assert sum("c.hash" in one for one in mine) == 1, made


async def test_each_identity_has_so_many_waits(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_MAX_LONG_POLLS="3")
    cast = Cast(service)
    alice, bob = cast.friends
    thread = alice.ask(bob)
    path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
    async with alice.async_http() as http:
        polls = await park(http, service, [path, path, f"/v1/inbox?after={head(alice)}&wait=25"])
        for refused in (await http.get(path), await http.get("/v1/inbox?wait=25")):
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_waits")
            assert int(refused.headers["retry-after"]) >= 1
        assert (await http.get("/v1/inbox")).status_code == 200
        assert (await asyncio.to_thread(bob.inbox, 0, wait=25))["events"], "others have their own"
        await asyncio.to_thread(bob.reply, thread["id"])
        assert {answer.status_code for answer in await asyncio.gather(*polls)} == {200}
        # The slots are free again.
        again = await http.get(path)
        assert (again.status_code, again.json()["state"]) == (200, "answered")
    cast.close()


@pytest.mark.parametrize("kind", ["inbox", "thread"])
async def test_clients_that_go_away_leave_nothing(quiet_cast: Cast, kind: str) -> None:
    alice, bob = quiet_cast.friends
    service = quiet_cast.service
    thread = alice.ask(bob)
    path = (
        f"/v1/inbox?after={head(alice)}&wait=25"
        if kind == "inbox"
        else f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
    )
    before = service.vitals()
    for _ in range(2):  # 80 in all: more than one identity may hold at once
        wires = await asyncio.gather(*(reset_later(service, alice, path) for _ in range(40)))
        await asyncio.to_thread(
            until, lambda: service.vitals()["tasks"] >= before["tasks"] + 40, 20, "forty waits"
        )
        for wire in wires:
            wire.transport.abort()  # RST, not FIN: nothing was read to its end
        await asyncio.to_thread(
            until, lambda: service.vitals()["tasks"] <= before["tasks"] + 2, 20, "the tasks of before"
        )
    until(lambda: service.vitals()["connections"] <= MOST_CONNECTIONS, 10, "connections given back")
    assert alice.inbox()["next"] == head(alice)


async def reset_later(service: Service, person: Person, path: str) -> asyncio.StreamWriter:
    """A connection that has sent a long-poll and reads nothing."""
    _, writer = await asyncio.open_connection("127.0.0.1", service.port)
    wire: Any = writer.get_extra_info("socket")
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {person.headers['Authorization']}\r\n\r\n".encode()
    )
    await writer.drain()
    return writer


async def test_connections_are_given_back(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    body = {"to": bob.number, "text": "How?"}
    async with alice.async_http() as http:
        for _ in range(3):
            asked = await asyncio.gather(*(http.post("/v1/threads", json=body) for _ in range(20)))
            assert {answer.status_code for answer in asked} == {201}
    service = quiet_cast.service
    until(lambda: service.vitals()["connections"] <= MOST_CONNECTIONS, 10, "connections given back")
