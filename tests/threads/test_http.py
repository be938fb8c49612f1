"""`/v1/threads` as a client meets it: statuses, shapes, lists, repeats, and who sees what."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.harness.cast import Cast, Person, lasting

ABSENT = "thr_" + "0" * 32
CALLS = ("messages", "working", "cancel")


def ref(person: Person) -> dict[str, Any]:
    return {key: person.me[key] for key in ("number", "handle", "kind", "display_name")}


def test_a_question(cast: Cast) -> None:
    alice, bob = cast.friends
    asked = alice.post(
        "/v1/threads", json={"to": f"@{bob.handle}", "text": "How?\nReally.", "context": "tea"}
    )
    assert asked.status_code == 201
    body = asked.json()
    thread, message = body["thread"], body["message"]
    times = {key: thread.pop(key) for key in ("created_at", "state_at", "activity_at", "expires_at")}
    assert all(moment.endswith("Z") for moment in times.values())
    id, chat, generation = thread.pop("id"), thread.pop("chat"), thread.pop("generation")
    assert id.startswith("thr_")
    assert chat.startswith("con_")
    assert thread == {
        "asker": ref(alice),
        "assignee": ref(bob),
        "role": "asker",
        "state": "open",
        "context": "tea",
        "parent": None,
        "hops": 0,
        "lease": None,
        "attempt": 0,
    }
    assert message.pop("id").startswith("msg_")
    assert message.pop("created_at") == times["created_at"]
    assert message == {
        "thread": id,
        "from": alice.number,
        "role": "asker",
        "text": "How?\nReally.",
        "parts": [{"text": "How?\nReally."}],
        "state": None,
        "of": None,
        "last": None,
        "metadata": None,
        "message_id": None,
        "generation": generation,
    }
    assert body["duplicate"] is False


def test_a_lease_and_an_answer(cast: Cast) -> None:
    alice, bob = cast.friends
    id = alice.ask(bob)["id"]
    leased = bob.call("POST", f"/v1/threads/{id}/working", {"worker": "w", "seconds": 60}, status=200)
    assert leased["attempt"] == leased["thread"]["attempt"] == 1
    assert leased["thread"]["lease"] == {"worker": "w", "until": leased["until"]}
    refused = bob.post(f"/v1/threads/{id}/working", json={"worker": "v"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "leased")
    assert refused.json()["error"]["until"] == leased["until"]
    plain = bob.call("POST", f"/v1/threads/{id}/working", {}, status=200)
    assert (plain["attempt"], plain["until"]) == (None, None)

    parts = [{"text": "So."}, {"data": {"z": 1, "a": 1.0}, "media_type": "application/json"}, {"text": "!"}]
    reply = bob.call("POST", f"/v1/threads/{id}/messages", {"parts": parts, "attempt": 1}, status=201)
    assert reply["thread"]["state"] == reply["message"]["state"] == "answered"
    assert reply["thread"]["role"] == "assignee"
    assert reply["message"]["text"] == "So.\n!"
    assert list(reply["message"]["parts"][1]["data"]) == ["z", "a"]

    seen = alice.thread(id)
    assert [entry["state"] for entry in seen["messages"]] == [None, "working", "answered"]
    assert [entry["role"] for entry in seen["messages"]] == ["asker", "assignee", "assignee"]
    assert (seen["messages"][1]["parts"], seen["messages"][1]["text"]) == ([], None)
    assert seen["next"] == seen["generation"] == reply["message"]["generation"]
    assert alice.thread(id, after=seen["next"])["messages"] == []
    assert alice.refused("POST", f"/v1/threads/{id}/cancel") == "thread_closed"


def test_news_of_a_thread(cast: Cast) -> None:
    alice, bob = cast.friends
    start, mine = bob.inbox()["next"], alice.inbox()["next"]
    thread = alice.ask(bob)["id"]
    bob.call("POST", f"/v1/threads/{thread}/working", {})
    bob.reply(thread, "Which?", state="input_required")
    alice.reply(thread, "That.")
    alice.call("POST", f"/v1/threads/{thread}/cancel", status=200)
    told = [(event["type"], event["object"]["message"]["state"]) for event in bob.inbox(start)["events"]]
    assert told == [("thread.opened", None), ("thread.message", "working"), ("thread.state", "canceled")]
    told = [(event["type"], event["object"]["message"]["state"]) for event in alice.inbox(mine)["events"]]
    assert told == [("thread.state", "working"), ("thread.message", "input_required")]


def test_first_contact(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    asked = alice.post("/v1/threads", json={"to": bob.number, "text": "How?\nSecond line"})
    assert (asked.status_code, asked.json()["error"]["code"]) == (403, "contact_requested")
    (event,) = bob.inbox()["events"]
    assert (event["type"], event["object"]["note"]) == ("contact.requested", "How?")
    assert alice.refused("POST", "/v1/threads", {"to": bob.number, "text": "Again"}) == "contact_requested"
    assert len(bob.inbox()["events"]) == 1
    # Who was asked accepts by asking back.
    assert bob.ask(alice)["state"] == "open"
    assert alice.ask(bob)["state"] == "open"
    bob.call("DELETE", f"/v1/contacts/{alice.number}")
    assert alice.refused("POST", "/v1/threads", {"to": bob.number, "text": "x"}) == "contact_declined"


def test_asking_nobody(cast: Cast) -> None:
    alice = cast.alice
    for who in ("nobody-has-this", "1234567890", "12345"):
        asked = alice.post("/v1/threads", json={"to": who, "text": "How?"})
        assert (asked.status_code, asked.json()["error"]["code"]) == (404, "not_found")
    asked = alice.post("/v1/threads", json={"to": alice.number, "text": "How?"})
    assert (asked.status_code, asked.json()["error"]["field"]) == (400, "to")


def test_a_parent_counts_hops(cast: Cast) -> None:
    alice, bob = cast.friends
    above = alice.ask(bob)
    below = bob.ask(alice, parent=above["id"])
    assert (below["parent"], below["hops"]) == (above["id"], 1)
    asked = alice.post("/v1/threads", json={"to": bob.number, "text": "x", "parent": above["id"]})
    assert (asked.status_code, asked.json()["error"]["field"]) == (400, "parent")


def test_a_repeat_by_body_and_by_header(cast: Cast) -> None:
    alice, bob = cast.friends
    body = {"to": bob.number, "text": "How?", "client_id": f"k-{alice.number}"}
    first = alice.call("POST", "/v1/threads", body, status=201)
    again = alice.call("POST", "/v1/threads", body, status=200)
    assert again == {**first, "duplicate": True}
    bare = {"to": bob.handle, "text": "How?"}
    header = {"Idempotency-Key": body["client_id"]}
    assert alice.post("/v1/threads", json=bare, headers=header).json() == again
    changed = alice.post("/v1/threads", json={**bare, "text": "Why?"}, headers=header)
    assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_conflict")
    both = alice.post("/v1/threads", json=body, headers={"Idempotency-Key": "other"})
    assert (both.status_code, both.json()["error"]["field"]) == (400, "client_id")
    path = f"/v1/threads/{first['thread']['id']}/messages"
    answer = bob.call("POST", path, {"text": "So.", "client_id": "r"}, status=201)
    repeated = bob.call("POST", path, {"text": "So.", "client_id": "r"}, status=200)
    assert repeated == {**answer, "duplicate": True}
    assert len(alice.thread(first["thread"]["id"])["messages"]) == 2


async def together(person: Person, path: str, bodies: list[dict[str, Any]]) -> list[httpx.Response]:
    async with person.async_http() as http:
        return await asyncio.gather(*(http.post(path, json=body) for body in bodies))


async def test_twenty_equal_posts_at_once_are_one(cast: Cast) -> None:
    alice, bob = cast.friends
    start = bob.inbox()["next"]
    answers = await together(
        alice, "/v1/threads", [{"to": bob.number, "text": "How?", "client_id": "same"}] * 20
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    bodies = [{**answer.json(), "duplicate": None} for answer in answers]
    assert all(body == bodies[0] for body in bodies)
    assert len(bob.inbox(start)["events"]) == 1


async def test_one_key_to_two_agents_at_once(cast: Cast) -> None:
    alice, bob = cast.friends
    ada = cast.ada
    alice.befriend(ada)
    for key in range(4):
        bodies = [{"to": to.number, "text": "How?", "client_id": f"both-{key}"} for to in (bob, ada)]
        answers = await together(alice, "/v1/threads", bodies)
        assert sorted(answer.status_code for answer in answers) == [201, 409]


def test_lists(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    asked = [alice.ask(bob, context="a" if place % 2 else " b ")["id"] for place in range(5)]
    back = bob.ask(alice)["id"]
    bob.reply(asked[0])
    bob.call("POST", f"/v1/threads/{asked[1]}/working", {"worker": "w"})

    def ids(who: Person, **query: Any) -> list[str]:
        return [one["id"] for one in who.call("GET", "/v1/threads", **query)["items"]]

    newest = [asked[1], asked[0], back, *asked[:1:-1]]
    assert ids(alice) == ids(bob) == newest
    assert ids(alice, role="assignee") == ids(bob, role="asker") == [back]
    assert ids(alice, role="asker") == [one for one in newest if one != back]
    assert ids(bob, state="answered") == [asked[0]]
    assert ids(bob, context="a") == [asked[1], asked[3]]
    assert ids(bob, context=" b ") == [asked[0], asked[4], asked[2]]
    assert ids(bob, context="b") == []
    assert ids(bob, claimable="true") == [asked[4], asked[3], asked[2]]
    assert ids(cast.charlie) == []

    paged: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = alice.call("GET", "/v1/threads", limit=2, **cursor)
        paged += [one["id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert paged == newest
    foreign = alice.call("GET", "/v1/threads", limit=2)["next_cursor"]
    for who, query in ((bob, {}), (alice, {"role": "asker"})):
        assert who.refused("GET", "/v1/threads", cursor=foreign, **query) == "invalid"


def test_a_long_thread_is_read_in_pages(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob)["id"]
    for place in range(104):
        alice.reply(thread, str(place))
    first = bob.thread(thread)
    assert len(first["messages"]) == 100
    assert first["next"] < first["generation"]
    second = bob.thread(thread, after=first["next"])
    assert [one["text"] for one in first["messages"] + second["messages"]] == [
        "How?",
        *map(str, range(104)),
    ]
    assert second["next"] == second["generation"]
    waited = bob.thread(thread, after=first["next"], wait=20)
    assert waited["messages"] == second["messages"]


def test_hidden_and_absent_are_the_same(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    thread = alice.ask(bob)["id"]
    charlie, service = quiet_cast.charlie, quiet_cast.service

    def look(id: str) -> list[Any]:
        shown: list[Any] = []
        calls: list[tuple[str, str, Any]] = [
            ("GET", "", None),
            ("GET", "?wait=5", None),
            ("POST", "/messages", {"text": "x"}),
            ("POST", "/working", {"worker": "w"}),
            ("POST", "/cancel", None),
        ]
        for method, tail, body in calls:
            with service.counting() as made:
                answer = charlie.http.request(method, f"/v1/threads/{id}{tail}", json=body)
            shown.append((answer.status_code, answer.content, lasting(answer), made.sql))
        return shown

    assert look(thread) == look(ABSENT)
    assert {status for status, *_ in look(thread)} == {404}
    parent = {"to": alice.number, "text": "x", "parent": thread}
    alice.befriend(charlie)
    hidden = charlie.post("/v1/threads", json=parent)
    assert hidden.content == charlie.post("/v1/threads", json={**parent, "parent": ABSENT}).content


def test_the_cost_in_statements(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    alice.ask(bob)
    with quiet_cast.service.counting() as made:
        thread = alice.ask(bob, client_id="k")["id"]
    assert len(made) <= 11, made
    with quiet_cast.service.counting() as made:
        alice.thread(thread)
    assert len(made) <= 2, made
    with quiet_cast.service.counting() as made:
        alice.call("GET", "/v1/threads", role="asker")
    assert len(made) <= 2, made
    with quiet_cast.service.counting() as made:
        bob.call("POST", f"/v1/threads/{thread}/working", {"worker": "w"})
    assert len(made) <= 9, made
    with quiet_cast.service.counting() as made:
        bob.reply(thread, attempt=1, client_id="r")
    assert len(made) <= 10, made
    for one in made.sql:
        assert "identities_credential" not in one or one is made.sql[0]


@pytest.mark.parametrize("slash", ["", "/"])
def test_both_spellings_answer(cast: Cast, slash: str) -> None:
    alice, bob = cast.friends
    asked = alice.post(f"/v1/threads{slash}", json={"to": bob.number, "text": "How?"})
    assert asked.status_code == 201
    thread = f"/v1/threads/{asked.json()['thread']['id']}"
    assert alice.get(f"/v1/threads{slash}").status_code == 200
    assert alice.get(f"{thread}{slash}").status_code == 200
    assert bob.post(f"{thread}/working{slash}", json={}).status_code == 200
    assert bob.post(f"{thread}/messages{slash}", json={"text": "So."}).status_code == 201
    assert alice.post(f"{thread}/cancel{slash}").status_code == 409


def test_every_call_needs_a_token(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob)["id"]
    paths = ["/v1/threads", f"/v1/threads/{thread}", f"/v1/threads/{ABSENT}", "/v1/threads/nonsense"]
    for method, path in (
        *(("GET", path) for path in paths),
        ("GET", f"/v1/threads/{thread}?wait=25"),
        ("POST", "/v1/threads"),
        *(("POST", f"/v1/threads/{thread}/{call}") for call in CALLS),
    ):
        for header in ("", "Bearer", "Bearer a b", "Bearer rgt_" + "x" * 32, "Bearer " + "x" * 60_000):
            answer = cast.service.http.request(
                method, path, json={} if method == "POST" else None, headers={"Authorization": header}
            )
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), path


def test_other_methods(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = f"/v1/threads/{alice.ask(bob)['id']}"
    for method, path in (
        ("DELETE", "/v1/threads"),
        ("PUT", thread),
        ("POST", thread),
        ("PATCH", thread),
        *(("GET", f"{thread}/{call}") for call in CALLS),
    ):
        answer = alice.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    head = alice.http.head(thread)
    assert (head.status_code, head.content) == (200, b"")
    assert alice.http.options(thread).status_code == 200
