"""Access that is taken away is gone from what is open, too: within a second, on each surface."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chats.test_messages import post
from tests.chats.test_rooms import bring, room
from tests.harness.cast import Cast, Person
from tests.live.world import WITHIN, opened, socket, stream
from tests.waiting.test_live import park

SLACK = 1.5  # what a busy machine adds


def another_token(person: Person) -> tuple[Person, str]:
    """The same person with a token of its own, and that token's id."""
    made = person.call("POST", "/v1/tokens", {"name": "other"}, status=201)
    return Person(person.service, person.me, made["token"]), made["id"]


def timed(ended: Any, act: Any) -> float:
    """Act while somebody waits for the end of something; the seconds between both."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ended)
        act()
        start = time.monotonic()
        waiting.result(20)
        return time.monotonic() - start


def test_a_revoked_token_ends_a_stream(quiet_cast: Cast) -> None:
    bob = quiet_cast.bob
    other, id = another_token(bob)
    with stream(other, after="latest") as live:
        took = timed(lambda: live.rest(20), lambda: bob.call("DELETE", f"/v1/tokens/{id}"))
        assert took < WITHIN + SLACK
    other.close()


def test_a_revoked_token_is_told_on_a_stream(quiet_cast: Cast) -> None:
    bob = quiet_cast.bob
    other, id = another_token(bob)
    with stream(other, after="latest") as live:
        bob.call("DELETE", f"/v1/tokens/{id}")
        (last,) = live.rest(20)
        assert last["event"] == "error"
        assert "unauthenticated" in last["data"]
    other.close()


def test_a_revoked_token_ends_a_socket(quiet_cast: Cast) -> None:
    bob = quiet_cast.bob
    other, id = another_token(bob)
    with socket(other) as live:
        told: list[Any] = []
        took = timed(lambda: told.append(live.ended(20)), lambda: bob.call("DELETE", f"/v1/tokens/{id}"))
        assert told == [("unauthenticated", 4401)]
        assert took < WITHIN + SLACK
    with opened(other.service) as line:
        line.send(token=other.token)
        assert line.ended() == ("unauthenticated", 4401)
    other.close()


async def test_a_revoked_token_ends_a_long_poll(quiet_cast: Cast) -> None:
    bob = quiet_cast.bob
    other, id = await asyncio.to_thread(another_token, bob)
    async with other.async_http() as http:
        (poll,) = await park(http, quiet_cast.service, ["/v1/inbox?after=latest&wait=25"])
        await asyncio.to_thread(bob.call, "DELETE", f"/v1/tokens/{id}")
        start = time.monotonic()
        assert (await poll).status_code == 401
        assert time.monotonic() - start < WITHIN + SLACK
    other.close()


def ends_friendship(alice: Person, bob: Person) -> None:
    alice.call("DELETE", f"/v1/contacts/{bob.number}")


def blocks(alice: Person, bob: Person) -> None:
    alice.call("POST", f"/v1/contacts/{bob.number}/block")


@pytest.mark.parametrize("act", [ends_friendship, blocks])
def test_who_is_no_contact_any_more_hears_nothing(quiet_cast: Cast, act: Any) -> None:
    """What was open goes on, for what else it may see; and the chat's presence is gone within a second."""
    alice, bob = quiet_cast.friends
    charlie = quiet_cast.charlie
    charlie.befriend(bob)
    chat = alice.call("GET", f"/v1/chats/{bob.number}")["id"]
    with stream(bob, after="latest") as streaming, socket(bob) as live, socket(alice):
        live.send(type="watch", chat=chat)
        assert live.until("presence")["chat"] == chat
        act(alice, bob)
        start = time.monotonic()
        assert live.until("connection_closed")["chat"] == chat
        assert time.monotonic() - start < WITHIN + SLACK
        assert alice.refused("POST", f"/v1/chats/{chat}/messages", {"text": "x"}) != ""
        post(charlie, bob.number, "Hello")
        texts = []
        while not texts:
            event = streaming.event()
            if event["data"]["type"] == "message.created":
                texts.append(event["data"]["object"]["message"]["text"])
        assert texts == ["Hello"]


def test_who_is_removed_from_a_room_hears_nothing_more(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    id = room(alice)
    bring(alice, id, bob)
    with stream(bob, after="latest") as streaming, socket(bob) as live:
        live.send(type="watch", chat=id)
        live.until("presence")
        post(alice, id, "Before")
        assert streaming.event()["data"]["object"]["message"]["text"] == "Before"
        assert live.events()[0]["object"]["message"]["text"] == "Before"
        alice.call("POST", f"/v1/chats/{id}/remove", {"who": bob.number})
        start = time.monotonic()
        assert live.until("connection_closed")["chat"] == id
        assert time.monotonic() - start < WITHIN + SLACK
        post(alice, id, "After")
        mark = post(alice, bob.number, "Only you")
        seen = []
        while not seen or seen[-1]["type"] != "message.created":
            seen.append(streaming.event()["data"])
        assert [event["type"] for event in seen] == ["room.removed", "message.created"]
        assert seen[-1]["object"]["message"]["id"] == mark["id"]


def test_an_event_of_a_lost_room_shows_nothing(quiet_cast: Cast) -> None:
    """What was delivered late is checked where it is loaded."""
    alice, bob = quiet_cast.friends
    id = room(alice)
    bring(alice, id, bob)
    before = bob.inbox("latest")["next"]
    post(alice, id, "Secret by now")
    alice.call("POST", f"/v1/chats/{id}/remove", {"who": bob.number})
    with stream(bob, after=str(before)) as live:
        events = [live.event()["data"] for _ in range(2)]
    assert [(event["type"], event["object"] is None) for event in events] == [
        ("message.created", True),
        ("room.removed", False),
    ]
