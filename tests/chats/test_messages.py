"""Plain messages over HTTP: written, read both ways, counted, edited, taken back, found."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.harness.cast import Cast, Person
from tests.harness.sealing import opened, sealed_part


def post(person: Person, chat: str, text: str = "Hello", **fields: Any) -> dict[str, Any]:
    """Write a message; returns it."""
    answer = person.call("POST", f"/v1/chats/{chat}/messages", {"text": text, **fields})
    message: dict[str, Any] = answer["message"]
    return message


def texts(person: Person, chat: str, **params: Any) -> list[str | None]:
    items = person.call("GET", f"/v1/chats/{chat}/messages", **params)["items"]
    return [item["text"] for item in items if item["kind"] == "message"]


def test_friends_write_and_read(cast: Cast) -> None:
    alice, bob = cast.friends
    sent = post(alice, bob.number, metadata={"mood": 1.0})
    assert sent["from"]["number"] == alice.number
    assert sent["parts"] == [{"text": "Hello"}]
    assert sent["thread"] is None
    assert sent["metadata"] == {"mood": 1.0}
    for chat in (alice.number, f"@{alice.handle}", sent["chat"]):
        assert bob.call("GET", f"/v1/chats/{chat}/messages")["items"][-1]["id"] == sent["id"]
    event = bob.inbox()["events"][-1]
    assert event["type"] == "message.created"
    assert event["object"]["message"]["text"] == "Hello"
    assert all(event["type"] != "message.created" for event in alice.inbox()["events"])


def test_a_stranger_is_asked_first(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    assert alice.refused("POST", f"/v1/chats/{bob.number}/messages", {"text": "Hi there\nmore"}) == (
        "contact_requested"
    )
    (contact,) = bob.call("GET", "/v1/contacts", state="incoming")["items"]
    assert contact["note"] == "Hi there"
    assert bob.call("GET", "/v1/chats")["items"] == []
    bob.call("POST", f"/v1/contacts/{alice.number}/accept")
    post(alice, bob.number)
    assert texts(bob, alice.number) == ["Hello"]


def test_to_oneself(cast: Cast) -> None:
    alice = cast.register("alice")
    post(alice, alice.number, "A note")
    (chat,) = alice.call("GET", "/v1/chats")["items"]
    assert chat["with"]["number"] == alice.number
    assert chat["unread"] == 0
    assert texts(alice, chat["id"]) == ["A note"]


def test_history_both_ways(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    for n in range(7):
        post(alice, bob.number, str(n))
    newest = bob.call("GET", f"/v1/chats/{alice.number}/messages", limit=3)
    assert [item["text"] for item in newest["items"]] == ["4", "5", "6"]
    assert newest["head"] == newest["items"][-1]["cursor"]
    seen: list[str] = ["4", "5", "6"]
    before = newest["next_cursor"]
    while before is not None:
        page = bob.call("GET", f"/v1/chats/{alice.number}/messages", limit=3, before=before)
        seen = [item["text"] for item in page["items"]] + seen
        before = page["next_cursor"]
    assert seen == [str(n) for n in range(7)]
    forwards: list[str] = []
    after: int | None = 0
    while after is not None:
        page = bob.call("GET", f"/v1/chats/{alice.number}/messages", limit=2, after=after)
        forwards += [item["text"] for item in page["items"]]
        after = page["next_cursor"]
    assert forwards == seen


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"after": 1, "before": 2}, "before"),
        ({"after": 10**6}, "after"),
        ({"after": "x"}, "after"),
        ({"after": "١"}, "after"),
        ({"before": "99999999999999999999"}, "before"),
        ({"limit": 101}, "limit"),
        ({"limit": 0}, "limit"),
        ({"since": 1}, "since"),
    ],
)
def test_wrong_history(cast: Cast, params: dict[str, Any], field: str) -> None:
    alice, bob = cast.friends
    response = alice.get(f"/v1/chats/{bob.number}/messages", params=params)
    assert (response.status_code, response.json()["error"]["field"]) == (400, field)


def test_unread_and_read(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    sent = [post(alice, bob.number, str(n)) for n in range(3)]
    (chat,) = bob.call("GET", "/v1/chats")["items"]
    assert (chat["unread"], chat["read"], chat["head"]) == (3, 0, sent[-1]["cursor"])
    assert alice.call("GET", f"/v1/chats/{bob.number}")["unread"] == 0
    read = f"/v1/chats/{alice.number}/read"
    assert bob.call("POST", read, {"cursor": sent[1]["cursor"]})["unread"] == 1
    assert bob.call("POST", read, {"cursor": 0})["read"] == sent[1]["cursor"]
    assert bob.refused("POST", read, {"cursor": sent[-1]["cursor"] + 1}) == "invalid"
    people = alice.call("GET", f"/v1/chats/{bob.number}")["people"]
    assert {one["number"]: one["read"] for one in people}[bob.number] == sent[1]["cursor"]


def test_a_repeat_is_one_message(cast: Cast) -> None:
    alice, bob = cast.friends
    path = f"/v1/chats/{bob.number}/messages"

    def once(_: int) -> Any:
        return alice.call("POST", path, {"text": "Once", "client_id": "same"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(once, range(8)))
    assert len({answer["message"]["id"] for answer in answers}) == 1
    assert [answer["duplicate"] for answer in answers].count(False) == 1
    assert texts(bob, alice.number).count("Once") == 1
    by_id = f"/v1/chats/{answers[0]['message']['chat']}/messages"
    again = alice.call("POST", by_id, {"text": "Once", "client_id": "same"}, status=200)
    assert again["duplicate"] is True
    assert alice.refused("POST", path, {"text": "Other", "client_id": "same"}) == "idempotency_conflict"
    assert bob.call(
        "POST", f"/v1/chats/{alice.number}/messages", {"text": "x", "client_id": "same"}, status=201
    )


def test_edit_and_delete(cast: Cast) -> None:
    alice, bob = cast.friends
    sent = post(alice, bob.number, "Befroe")
    edited = alice.call("PATCH", f"/v1/messages/{sent['id']}", {"text": "Before"})
    assert edited["text"] == "Before"
    assert edited["edited_at"] is not None
    assert (edited["cursor"], edited["created_at"]) == (sent["cursor"], sent["created_at"])
    assert bob.inbox()["events"][-1]["type"] == "message.edited"
    assert texts(bob, alice.number)[-1] == "Before"
    for person, method in ((bob, "PATCH"), (bob, "DELETE"), (cast.charlie, "DELETE")):
        body = {"text": "Mine"} if method == "PATCH" else None
        assert person.refused(method, f"/v1/messages/{sent['id']}", body) == "not_found"
    alice.call("DELETE", f"/v1/messages/{sent['id']}", status=204)
    event = bob.inbox()["events"][-1]
    assert event["type"] == "message.deleted"
    assert event["object"]["message"]["parts"] == []
    last = bob.call("GET", f"/v1/chats/{alice.number}/messages")["items"][-1]
    assert (last["id"], last["text"], last["deleted_at"] is not None) == (sent["id"], None, True)
    assert alice.refused("DELETE", f"/v1/messages/{sent['id']}") == "not_found"
    assert alice.refused("PATCH", f"/v1/messages/{sent['id']}", {"text": "x"}) == "not_found"


def test_what_a_thread_handed_out_stays(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob)
    message = alice.thread(thread["id"])["messages"][0]["id"]
    assert alice.refused("PATCH", f"/v1/messages/{message}", {"text": "x"}) == "thread_message"
    assert alice.refused("DELETE", f"/v1/messages/{message}") == "thread_message"
    shown = bob.call("GET", f"/v1/chats/{alice.number}/messages")["items"]
    assert (message, thread["id"]) in [(item["id"], item["thread"]) for item in shown]


def test_a_block_ends_writing_and_hides_what_was_written(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    sent = post(alice, bob.number, "Secret words")
    bob.call("POST", f"/v1/contacts/{alice.number}/block")
    assert alice.refused("POST", f"/v1/chats/{bob.number}/messages", {"text": "x"}) == "contact_declined"
    assert "Secret words" not in texts(bob, alice.number)
    assert bob.call("GET", "/v1/search", q="secret")["items"] == []
    alice.call("PATCH", f"/v1/messages/{sent['id']}", {"text": "Still here?"})
    assert all(
        event["object"] is None or event["type"] != "message.edited" for event in bob.inbox()["events"]
    )


def test_search(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    first = post(alice, bob.number, "Straße to the Engine room, 100% sure")
    second = post(bob, alice.number, "engine ENGINE")
    alice.ask(bob, "An engine in a thread?")

    def found(person: Person, **params: Any) -> list[str]:
        return [item["id"] for item in person.call("GET", "/v1/search", **params)["items"]]

    assert found(alice, q="STRASSE engine") == [first["id"]]
    assert found(alice, q="engine")[1:] == [second["id"], first["id"]]
    assert found(alice, q="100%") == [first["id"]]
    assert found(alice, q="%%") == []
    assert found(alice, q="__") == []
    assert found(alice, q="' & | ! \\ \"ab") == []
    assert found(alice, q="engine", chat=bob.number)[-1] == first["id"]
    assert found(cast.charlie, q="engine") == []
    assert cast.charlie.refused("GET", "/v1/search", q="engine", chat=first["chat"]) == "not_found"
    assert alice.refused("GET", "/v1/search", q="a") == "invalid"
    page = alice.call("GET", "/v1/search", q="engine", limit=2)
    rest = alice.call("GET", "/v1/search", q="engine", limit=2, cursor=page["next_cursor"])
    assert [item["id"] for item in page["items"] + rest["items"]] == found(alice, q="engine")
    assert alice.refused("GET", "/v1/search", q="other", cursor=page["next_cursor"]) == "invalid"
    alice.call("DELETE", f"/v1/messages/{first['id']}")
    assert first["id"] not in found(bob, q="engine")


def test_absent_and_hidden_are_the_same_bytes(cast: Cast) -> None:
    alice, bob = cast.friends
    sent = post(alice, bob.number)
    charlie = cast.charlie
    nowhere = "con_" + "0" * 32
    for suffix in ("", "/messages"):
        hidden = charlie.get(f"/v1/chats/{sent['chat']}{suffix}")
        absent = charlie.get(f"/v1/chats/{nowhere}{suffix}")
        assert (hidden.status_code, hidden.content) == (404, absent.content)
    for suffix, body in (
        ("/messages", {"text": "x"}),
        ("/join", None),
        ("/leave", None),
        ("/invite", {"who": bob.number}),
        ("/remove", {"who": bob.number}),
        ("/read", {"cursor": 0}),
    ):
        hidden = charlie.post(f"/v1/chats/{sent['chat']}{suffix}", json=body)
        absent = charlie.post(f"/v1/chats/{nowhere}{suffix}", json=body)
        assert (hidden.status_code, hidden.content) == (404, absent.content), suffix


def test_sealed_messages(cast: Cast) -> None:
    alice, bob = cast.friends
    part = sealed_part(alice, bob)
    alice.call("POST", f"/v1/chats/{bob.number}/messages", {"parts": [part]})
    got = bob.call("GET", f"/v1/chats/{alice.number}/messages")["items"][-1]["parts"][0]["data"]
    scope = ":".join(sorted([alice.number, bob.number]))
    assert opened(bob, alice, got, scope) == [{"text": "Hush"}]

    few = {**part["data"], "keys": part["data"]["keys"][:1]}
    response = alice.post(
        f"/v1/chats/{bob.number}/messages", json={"parts": [{"data": few, "media_type": part["media_type"]}]}
    )
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (409, "sealed_members")
    left = {entry["to"] for entry in few["keys"]}
    assert error["missing"] == sorted({alice.number, bob.number} - left)


def test_statements_do_not_grow_with_the_list(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    counting = quiet_cast.service.counting

    def cost(path: str) -> int:
        with counting() as count:
            assert alice.get(path).status_code == 200
        return len(count)

    post(bob, alice.number)
    paths = ["/v1/chats", f"/v1/chats/{bob.number}", f"/v1/chats/{bob.number}/messages", "/v1/search?q=hello"]
    before = [cost(path) for path in paths]
    for n in range(20):
        post(bob, alice.number, f"Hello {n}")
    for n in range(5):
        other = quiet_cast.register(f"other{n}")
        alice.befriend(other)
        alice.call("POST", "/v1/chats", {"topic": f"Room {n}"})
    assert [cost(path) for path in paths] == before
