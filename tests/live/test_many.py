"""Rooms at their fullest, read three ways at once; and many who stay, gone at once."""

from __future__ import annotations

import asyncio
import json
import socket as sockets
import struct
from typing import Any

import websockets

from tests.chats.test_rooms import room
from tests.harness.cast import Cast, Person
from tests.harness.service import Starter
from tests.harness.wait import until
from tests.waiting.test_live import MOST_CONNECTIONS

MEMBERS, WRITERS, EACH = 64, 10, 6
READERS = 12  # of each kind: the machine has two processors
CROWD = 60


async def by_poll(person: Person, after: int, most: int) -> list[str]:
    found: list[str] = []
    async with person.async_http() as http:
        while len(found) < most:
            answer = (await http.get("/v1/inbox", params={"after": after, "wait": 20})).json()
            after = answer["next"]
            found += said(answer["events"])
    return found


async def by_stream(person: Person, after: int, most: int) -> list[str]:
    found: list[str] = []
    async with (
        person.async_http(60) as http,
        http.stream("GET", "/v1/inbox/stream", params={"after": after}) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                found += said([json.loads(line.removeprefix("data: "))])
            if len(found) >= most:
                break
    return found


async def by_socket(person: Person, after: int, most: int) -> list[str]:
    found: list[str] = []
    async with websockets.connect(f"ws://127.0.0.1:{person.service.port}/ws") as line:
        await line.send(json.dumps({"v": 1, "token": person.token, "after": after}))
        while len(found) < most:
            frame = json.loads(await line.recv())
            found += said(frame.get("events", []))
    return found


def said(events: list[dict[str, Any]]) -> list[str]:
    return [event["object"]["message"]["text"] for event in events if event["type"] == "message.created"]


async def test_a_full_room_reads_the_same_whichever_way(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_MAX_MEMBERS=str(MEMBERS)))
    people, id = await asyncio.to_thread(filled, cast)
    readers = people[WRITERS : WRITERS + 3 * READERS]
    heads = {one.number: (await asyncio.to_thread(one.inbox, "latest"))["next"] for one in readers}
    kinds = [by_poll, by_stream, by_socket]
    reads = [
        asyncio.create_task(kinds[at % 3](one, heads[one.number], WRITERS * EACH))
        for at, one in enumerate(readers)
    ]
    await asyncio.gather(*(write(one, id, str(at)) for at, one in enumerate(people[:WRITERS])))
    found = await asyncio.wait_for(asyncio.gather(*reads), 120)
    (order,) = {tuple(one) for one in found}
    assert len(order) == len(set(order)) == WRITERS * EACH
    history = await asyncio.to_thread(people[0].call, "GET", f"/v1/chats/{id}/messages", limit=100)
    assert [one["text"] for one in history["items"] if one["kind"] == "message"] == list(order)
    cast.close()


def filled(cast: Cast) -> tuple[list[Person], str]:
    people = [cast.register(f"m{at}") for at in range(MEMBERS)]
    id = room(people[0], visibility="public")
    for one in people[1:]:
        one.call("POST", f"/v1/chats/{id}/join")
    return people, id


async def write(person: Person, chat: str, name: str) -> None:
    async with person.async_http(60) as http:
        for number in range(EACH):
            answer = await http.post(f"/v1/chats/{chat}/messages", json={"text": f"{name}.{number}"})
            assert answer.status_code == 201, answer.text


# -- a crowd that is gone at once --------------------------------------------------------------------------------


async def test_a_crowd_that_is_reset_leaves_nothing(fresh_server: Starter) -> None:
    service = fresh_server(
        RELAYGER_MAX_LONG_POLLS="100", RELAYGER_MAX_SOCKETS="200", RELAYGER_JOB_SECONDS="86400"
    )
    cast = Cast(service)
    bob = cast.bob
    before = service.vitals()
    lines = [line for _ in range(CROWD) for line in (poll(bob), streaming(bob), shaken(bob))]
    await asyncio.to_thread(until, lambda: service.vitals()["tasks"] >= before["tasks"] + 3 * CROWD, 30)
    assert service.vitals()["connections"] <= MOST_CONNECTIONS
    for line in lines:
        line.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
        line.close()  # RST, no FIN
    await asyncio.to_thread(until, lambda: service.vitals()["tasks"] <= before["tasks"] + 5, 30)
    assert service.vitals()["connections"] <= MOST_CONNECTIONS
    # Nothing is held for them: as many may come again.
    for _ in range(3):
        assert bob.call("GET", "/v1/inbox", after="latest", wait=0)["events"] == []
    cast.close()


def dialed(person: Person, request: str) -> sockets.socket:
    line = sockets.create_connection(("127.0.0.1", person.service.port), timeout=20)
    line.sendall(
        f"{request}Host: 127.0.0.1:{person.service.port}\r\nAuthorization: Bearer {person.token}\r\n\r\n".encode()
    )
    return line


def poll(person: Person) -> sockets.socket:
    return dialed(person, "GET /v1/inbox?after=latest&wait=25 HTTP/1.1\r\n")


def streaming(person: Person) -> sockets.socket:
    return dialed(person, "GET /v1/inbox/stream?after=latest HTTP/1.1\r\n")


def shaken(person: Person) -> sockets.socket:
    line = dialed(
        person,
        "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
    )
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += line.recv(1)
    hello = json.dumps({"v": 1, "token": person.token, "after": "latest"}).encode()
    line.sendall(bytes([0x81, 0x80 | 126]) + len(hello).to_bytes(2, "big") + bytes(4) + hello)
    return line
