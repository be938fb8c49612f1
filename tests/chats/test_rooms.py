"""Rooms over HTTP: made, found, joined, left, and who is in them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.chats.test_messages import post, texts
from tests.harness.cast import Cast, Person
from tests.harness.sealing import opened, publish, sealed_part
from tests.harness.service import Starter


def room(owner: Person, topic: str = "Engines", **fields: Any) -> str:
    """Make a room; returns its id."""
    id: str = owner.call("POST", "/v1/chats", {"topic": topic, **fields}, status=201)["chat"]["id"]
    return id


def bring(owner: Person, chat: str, *others: Person) -> None:
    for other in others:
        invite = owner.call("POST", f"/v1/chats/{chat}/invite", {"who": other.number})
        other.call("POST", f"/v1/invites/{invite['id']}/accept")


def people(person: Person, chat: str) -> dict[str, str]:
    found = person.call("GET", f"/v1/chats/{chat}")["people"]
    return {one["number"]: one["role"] for one in found}


def kinds(person: Person) -> list[str]:
    return [event["type"] for event in person.inbox()["events"]]


def test_invited_in(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    id = room(alice)
    post(alice, id, "Before")
    invite = alice.call("POST", f"/v1/chats/{id}/invite", {"who": f"@{bob.handle}", "note": "Come"})
    assert alice.call("POST", f"/v1/chats/{id}/invite", {"who": bob.number})["id"] == invite["id"]
    (waiting,) = bob.call("GET", "/v1/invites")["items"]
    assert (waiting["id"], waiting["topic"], waiting["note"]) == (invite["id"], "Engines", "Come")
    event = bob.inbox()["events"][-1]
    assert (event["type"], event["object"]["invite"]["id"]) == ("room.invited", invite["id"])
    assert bob.refused("GET", f"/v1/chats/{id}") == "not_found"
    assert cast.charlie.refused("POST", f"/v1/invites/{invite['id']}/accept") == "not_found"

    assert bob.call("POST", f"/v1/invites/{invite['id']}/accept")["state"] == "accepted"
    assert bob.refused("POST", f"/v1/invites/{invite['id']}/decline") == "invite_answered"
    assert kinds(alice)[-1] == "room.joined"
    assert people(bob, id) == {alice.number: "owner", bob.number: "member"}
    assert texts(bob, id) == []  # what was said before is not for the newcomer
    post(alice, id, "After")
    assert texts(bob, id) == ["After"]
    assert bob.call("GET", f"/v1/chats/{id}")["unread"] == 1


def test_declined_and_asked_again(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    id = room(alice, invite=[bob.number])
    (waiting,) = bob.call("GET", "/v1/invites")["items"]
    assert bob.call("POST", f"/v1/invites/{waiting['id']}/decline")["state"] == "declined"
    assert kinds(alice) == []
    assert alice.refused("POST", f"/v1/chats/{id}/invite", {"who": bob.number}) == "contact_declined"
    alice.befriend(bob)
    bring(alice, id, bob)
    assert bob.number in people(alice, id)


def test_policies_answer_for_the_invited(cast: Cast) -> None:
    alice = cast.register("alice")
    anyone, nobody = cast.register("anyone"), cast.register("nobody")
    anyone.call("PATCH", "/v1/me", {"policy": "anyone"})
    nobody.call("PATCH", "/v1/me", {"policy": "nobody"})
    id = room(alice)
    assert alice.call("POST", f"/v1/chats/{id}/invite", {"who": anyone.number})["state"] == "accepted"
    assert anyone.number in people(alice, id)
    assert alice.refused("POST", f"/v1/chats/{id}/invite", {"who": nobody.number}) == "contact_declined"
    assert alice.refused("POST", f"/v1/chats/{id}/invite", {"who": anyone.number}) == "already_member"
    response = alice.post("/v1/chats", json={"topic": "Two", "invite": [anyone.number, nobody.number]})
    assert (response.status_code, response.json()["error"]["field"]) == (403, "invite[1]")
    assert [chat["topic"] for chat in alice.call("GET", "/v1/chats", kind="room")["items"]] == ["Engines"]


def test_a_block_is_not_noticed(cast: Cast) -> None:
    mallory, bob = cast.register("mallory"), cast.register("bob")
    bob.call("POST", f"/v1/contacts/{mallory.number}/block")
    id = room(mallory)
    invite = mallory.call("POST", f"/v1/chats/{id}/invite", {"who": bob.number})
    assert invite["state"] == "pending"
    assert bob.call("GET", "/v1/invites")["items"] == []
    assert bob.inbox()["events"] == []
    assert bob.refused("POST", f"/v1/invites/{invite['id']}/accept") == "not_found"
    assert bob.refused("POST", f"/v1/chats/{room(bob)}/invite", {"who": mallory.number}) == "blocked_by_you"


def test_public_rooms(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    topic = f"Steam {alice.handle}"
    id = room(alice, topic, visibility="public")
    hidden = room(alice, f"Hidden {alice.handle}")

    def found(q: str) -> list[str]:
        response = cast.service.http.get("/v1/directory/rooms", params={"q": q})
        assert response.status_code == 200
        return [item["id"] for item in response.json()["items"]]

    assert found(f"{alice.handle} STEAM") == [id]
    assert found("%") == []
    assert bob.refused("POST", f"/v1/chats/{id}/messages", {"text": "x"}) == "not_found"
    assert bob.call("POST", f"/v1/chats/{id}/join")["members"] == 2
    assert bob.call("POST", f"/v1/chats/{id}/join")["members"] == 2
    assert bob.refused("POST", f"/v1/chats/{hidden}/join") == "not_found"
    post(bob, id)
    assert texts(alice, id) == ["Hello"]
    assert bob.refused("PATCH", f"/v1/chats/{id}", {"topic": "Mine"}) == "not_owner"
    alice.call("PATCH", f"/v1/chats/{id}", {"topic": "Closed", "visibility": "private"})
    assert kinds(bob)[-1] == "room.topic"
    assert found(alice.handle) == []


def test_leaving_hands_the_room_on(cast: Cast) -> None:
    alice, bob, charlie = (cast.register(name) for name in ("alice", "bob", "charlie"))
    id = room(alice)
    bring(alice, id, bob, charlie)
    alice.call("POST", f"/v1/chats/{id}/leave", status=204)
    assert people(bob, id) == {bob.number: "owner", charlie.number: "member"}
    assert alice.refused("GET", f"/v1/chats/{id}/messages") == "not_found"
    assert alice.refused("POST", f"/v1/chats/{id}/leave") == "not_found"
    assert kinds(charlie)[-1] == "room.left"
    for person in (bob, charlie):
        person.call("POST", f"/v1/chats/{id}/leave")
    assert alice.call("GET", "/v1/directory/rooms", q=alice.handle)["items"] == []


def test_removing(cast: Cast) -> None:
    alice, bob, charlie = (cast.register(name) for name in ("alice", "bob", "charlie"))
    id = room(alice, visibility="public")
    bob.call("POST", f"/v1/chats/{id}/join")
    charlie.call("POST", f"/v1/chats/{id}/join")
    waiting = bob.call("POST", f"/v1/chats/{id}/invite", {"who": cast.ada.number})
    sent = post(bob, id, "Mine")
    seq = bob.inbox()["next"]
    assert charlie.refused("POST", f"/v1/chats/{id}/remove", {"who": bob.number}) == "not_owner"
    assert alice.refused("POST", f"/v1/chats/{id}/remove", {"who": alice.number}) == "invalid"
    assert alice.refused("POST", f"/v1/chats/{id}/remove", {"who": cast.ada.number}) == "not_found"
    alice.call("POST", f"/v1/chats/{id}/remove", {"who": bob.number})
    post(alice, id, "Without Bob")
    assert bob.refused("GET", f"/v1/chats/{id}") == "not_found"
    assert bob.refused("PATCH", f"/v1/messages/{sent['id']}", {"text": "x"}) == "not_found"
    assert bob.refused("POST", f"/v1/chats/{id}/join") == "not_found"
    (event,) = bob.inbox(seq)["events"]
    assert (event["type"], event["object"]) == ("room.removed", {"message": None, "chat": id})
    assert kinds(charlie)[-2:] == ["room.removed", "message.created"]
    assert cast.ada.refused("POST", f"/v1/invites/{waiting['id']}/accept") == "invite_answered"
    bring(alice, id, bob)
    assert texts(bob, id) == []


def test_direct_chats_are_no_rooms(cast: Cast) -> None:
    alice, bob = cast.friends
    id = post(alice, bob.number)["chat"]
    for suffix, body in (
        ("leave", None),
        ("invite", {"who": cast.charlie.number}),
        ("remove", {"who": bob.number}),
    ):
        assert alice.refused("POST", f"/v1/chats/{id}/{suffix}", body) == "not_a_room"
    assert alice.refused("PATCH", f"/v1/chats/{id}", {"topic": "x"}) == "not_a_room"


def test_a_room_made_twice_is_one(cast: Cast) -> None:
    alice = cast.register("alice")
    made = alice.call("POST", "/v1/chats", {"topic": "T", "client_id": "r"}, status=201)
    again = alice.call("POST", "/v1/chats", {"topic": "T", "client_id": "r"}, status=200)
    assert (again["duplicate"], again["chat"]["id"]) == (True, made["chat"]["id"])
    assert alice.refused("POST", "/v1/chats", {"topic": "U", "client_id": "r"}) == "idempotency_conflict"


def test_a_topic_spoofs_nothing(cast: Cast) -> None:
    alice = cast.register("alice")
    for topic in ("", " ", "a\nb", "a\u202eb", "a\u200bb", "x" * 201, "\x00"):
        assert alice.refused("POST", "/v1/chats", {"topic": topic}) in ("invalid", "invalid_json"), topic


def test_limits_hold_whoever_comes_at_once(fresh_server: Starter) -> None:
    service = fresh_server(agent=False, RELAYGER_MAX_MEMBERS="4", RELAYGER_MAX_ROOMS="2")
    cast = Cast(service)
    alice = cast.register("alice")
    id = room(alice, visibility="public")
    others = [cast.register(f"other{n}") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda one: one.post(f"/v1/chats/{id}/join").status_code, others))
    assert sorted(codes) == [200] * 3 + [409] * 5
    assert len(people(alice, id)) == 4

    rooms = [room(cast.register(f"owner{n}"), visibility="public") for n in range(6)]
    busy = cast.register("busy")
    with ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(lambda one: busy.post(f"/v1/chats/{one}/join").status_code, rooms))
    assert sorted(codes) == [200] * 2 + [409] * 4
    cast.close()


def test_sealed_in_a_room(cast: Cast) -> None:
    alice, bob, charlie = (cast.register(name) for name in ("alice", "bob", "charlie"))
    id = room(alice)
    for other in (bob, charlie):
        alice.befriend(other)
        publish(other)
    bring(alice, id, bob)
    part = sealed_part(alice, bob, scope=id)
    alice.call("POST", f"/v1/chats/{id}/messages", {"parts": [part]})
    got = bob.call("GET", f"/v1/chats/{id}/messages")["items"][-1]["parts"][0]["data"]
    assert opened(bob, alice, got, id) == [{"text": "Hush"}]
    bring(alice, id, charlie)
    response = alice.post(f"/v1/chats/{id}/messages", json={"parts": [part]})
    assert response.json()["error"]["missing"] == [charlie.number]


def test_everybody_reads_the_same_order(cast: Cast) -> None:
    owner = cast.register("owner")
    id = room(owner, visibility="public")
    writers = [cast.register(f"writer{n}", kind="human") for n in range(4)]
    for writer in writers:
        writer.call("POST", f"/v1/chats/{id}/join")
    start = threading.Barrier(4)

    def write(writer: Person) -> None:
        start.wait()
        for n in range(10):
            post(writer, id, f"{writer.number} {n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, writers))
    order = texts(owner, id, limit=100)
    assert len(order) == 40
    for writer in writers:
        assert texts(writer, id, limit=100) == order
        mine = [text for text in order if text and text.startswith(writer.number)]
        assert mine == [f"{writer.number} {n}" for n in range(10)]
    told = [
        event["object"]["message"]["text"]
        for event in owner.inbox(0, types="message.created", limit=100)["events"]
    ]
    assert told == order
