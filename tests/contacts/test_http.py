"""`/v1/contacts` as a client meets it: statuses, shapes, bad input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.cast import Cast, Person

CALLS = ("accept", "decline", "block", "unblock")


def test_the_life_of_a_contact(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    asked = alice.post("/v1/contacts", json={"to": f"@{bob.handle}", "note": "Hello\nthere"})
    assert asked.status_code == 201
    shown = asked.json()
    at = shown.pop("updated_at")
    assert at.endswith("Z")
    assert shown == {
        "identity": {
            "number": bob.number,
            "handle": bob.handle,
            "kind": "agent",
            "display_name": bob.me["display_name"],
        },
        "state": "requested",
        "note": "Hello there",
    }
    again = alice.post("/v1/contacts", json={"to": bob.number})
    assert (again.status_code, again.json()["state"]) == (200, "requested")

    accepted = bob.post(f"/v1/contacts/{alice.handle}/accept")
    assert (accepted.status_code, accepted.json()["state"]) == (200, "friend")
    assert bob.post(f"/v1/contacts/{alice.number}/accept").status_code == 200
    assert bob.refused("POST", f"/v1/contacts/{alice.number}/decline") == "already_friend"
    assert alice.contact(bob) == "friend"

    removed = bob.delete(f"/v1/contacts/{alice.number}")
    assert (removed.status_code, removed.content) == (204, b"")
    assert alice.contact(bob) == "declined"
    assert alice.refused("POST", "/v1/contacts", {"to": bob.number}) == "contact_declined"
    assert bob.refused("DELETE", f"/v1/contacts/{alice.number}") == "not_found"


def test_blocking_over_http(cast: Cast) -> None:
    bob, mallory = cast.register("bob"), cast.register("mallory")
    blocked = bob.post(f"/v1/contacts/{mallory.number}/block")
    assert blocked.status_code == 200
    assert {key: blocked.json()[key] for key in ("state", "note", "updated_at")} == {
        "state": None,
        "note": "",
        "updated_at": None,
    }
    assert mallory.call("POST", "/v1/contacts", {"to": bob.number}, status=201)["state"] == "requested"
    assert bob.contact(mallory) is None
    assert bob.inbox()["events"] == []
    assert bob.refused("POST", "/v1/contacts", {"to": mallory.number}) == "blocked_by_you"
    assert bob.call("POST", f"/v1/contacts/{mallory.number}/unblock")["state"] == "incoming"
    (event,) = bob.inbox()["events"]
    assert (event["type"], event["object"]["state"]) == ("contact.requested", "incoming")


def test_events_carry_the_contact(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    bob.call("DELETE", f"/v1/contacts/{alice.number}")
    assert [(event["type"], event["object"]["state"]) for event in alice.inbox()["events"]] == [
        ("contact.accepted", "declined"),
        ("contact.removed", "declined"),
    ]
    assert [(event["type"], event["object"]) for event in bob.inbox()["events"]] == [
        ("contact.requested", None)
    ]


def test_the_list_pages(cast: Cast) -> None:
    alice = cast.register("alice")
    others = [cast.register("other").number for _ in range(5)]
    for other in others:
        alice.call("POST", "/v1/contacts", {"to": other})
    found: list[str] = []
    cursor: dict[str, Any] | None = {}
    while cursor is not None:
        page = alice.call("GET", "/v1/contacts", limit=2, state="requested", **cursor)
        found += [item["identity"]["number"] for item in page["items"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert sorted(found) == sorted(others)
    assert alice.call("GET", "/v1/contacts", state="friend") == {"items": [], "next_cursor": None}


def test_nobody_sees_what_stands_between_others(cast: Cast) -> None:
    alice, bob = cast.friends
    assert cast.charlie.contact(alice) is None
    assert cast.charlie.refused("DELETE", f"/v1/contacts/{bob.number}") == "not_found"


@pytest.mark.parametrize("slash", ["", "/"])
def test_both_spellings_answer(cast: Cast, slash: str) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    assert alice.post(f"/v1/contacts{slash}", json={"to": bob.number}).status_code == 201
    assert bob.post(f"/v1/contacts/{alice.number}/accept{slash}").status_code == 200
    assert alice.get(f"/v1/contacts{slash}").status_code == 200
    assert alice.delete(f"/v1/contacts/{bob.number}{slash}").status_code == 204


def test_every_call_needs_a_token(cast: Cast) -> None:
    number = cast.bob.number
    for method, path in (
        ("GET", "/v1/contacts"),
        ("POST", "/v1/contacts"),
        ("DELETE", f"/v1/contacts/{number}"),
        *(("POST", f"/v1/contacts/{number}/{call}") for call in CALLS),
    ):
        answer = cast.service.http.request(method, path, json={"to": number} if method == "POST" else None)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json()["error"]["code"] == "unauthenticated"


def test_other_methods(cast: Cast) -> None:
    alice = cast.alice
    for method, path in (
        ("DELETE", "/v1/contacts"),
        ("PATCH", "/v1/contacts"),
        ("GET", f"/v1/contacts/{cast.bob.number}"),
        ("GET", f"/v1/contacts/{cast.bob.number}/accept"),
    ):
        answer = alice.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


BAD_BODIES: list[Any] = [
    [],
    "text",
    {},
    {"to": None},
    {"to": 1234567897},
    {"to": True},
    {"to": ["1234567897"]},
    {"to": ""},
    {"to": "x" * 5000},
    {"to": "1234567897", "note": None},
    {"to": "1234567897", "note": 1},
    {"to": "1234567897", "note": {"a": 1}},
    {"to": "1234567897", "note": "x" * 501},
    {"to": "1234567897", "from": "me"},
    {"to": "1234567897", "note": "x", "state": "friend"},
]
BAD_BYTES = [
    b"",
    b"{",
    b"\xff\xfe{\x00}\x00",
    b'{"to":"a","to":"b"}',
    b'{"to":"\\u0000"}',
    b'{"to":"\\ud800"}',
    b'{"to":"\x00"}',
    b'{"note":"\\udfff","to":"1234567897"}',
    b"[" * 20000,
    b'{"to":' + b"[" * 10000 + b"]" * 10000 + b"}",
    b'{"to":' + b"9" * 400 + b"}",
    b'{"to":1e400}',
    b'{"to":NaN}',
    json.dumps({"to": "1234567897", "note": "x" * (1 << 20)}).encode(),
]


@pytest.mark.parametrize("body", BAD_BODIES, ids=lambda body: repr(body)[:40])
def test_a_wrong_body_is_named(cast: Cast, body: Any) -> None:
    answer = cast.alice.post("/v1/contacts", json=body)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "invalid"
    if isinstance(body, dict):
        assert error["field"] in {"to", "note", "from", "state"}


@pytest.mark.parametrize("body", BAD_BYTES, ids=lambda body: repr(body[:30]))
def test_what_is_no_good_json_is_refused(cast: Cast, body: bytes) -> None:
    answer = cast.alice.post("/v1/contacts", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 413), answer.text
    assert answer.json()["error"]["code"] in ("invalid_json", "invalid", "too_large")


def test_other_content_types_are_refused(cast: Cast) -> None:
    answer = cast.alice.post("/v1/contacts", data={"to": cast.bob.number})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "name",
    [
        "0000000000",
        "1234567890",
        "12345",
        "no-such-handle",
        "@",
        "%00",
        "%ff",
        "%D9%A1" * 10,
        "a" * 3000,
        "\uff41dmin",
        "²",
    ],
)
def test_who_nobody_is(cast: Cast, name: str) -> None:
    alice = cast.alice
    for method, path in (
        ("DELETE", f"/v1/contacts/{name}"),
        *(("POST", f"/v1/contacts/{name}/{call}") for call in CALLS),
    ):
        answer = alice.http.request(method, path)
        assert answer.status_code in (400, 404), f"{path} {answer.status_code} {answer.text}"
        assert answer.json()["error"]["code"] in ("not_found", "invalid")


@pytest.mark.parametrize(
    "query",
    [
        "state=nope",
        "state=",
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=x",
        "limit=" + "9" * 5000,
        "limit=%D9%A1",
        "limit=%C2%B2",
        "limit=1.0",
        "limit=true",
        "cursor=x",
        "cursor=%00",
        "cursor=%ff",
        "cursor=" + "x" * 5000,
        "since=1",
    ],
)
def test_a_wrong_query_is_400(cast: Cast, query: str) -> None:
    answer = cast.alice.get(f"/v1/contacts?{query}")
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "invalid"


def test_a_cursor_of_somebody_else(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    for _ in range(2):
        alice.call("POST", "/v1/contacts", {"to": cast.register("other").number})
    cursor = alice.call("GET", "/v1/contacts", limit=1)["next_cursor"]
    assert bob.refused("GET", "/v1/contacts", cursor=cursor) == "invalid"
    assert alice.refused("GET", "/v1/contacts", cursor=cursor, state="friend") == "invalid"


def test_a_second_agent_gets_around_no_block(cast: Cast) -> None:
    """Without accounts of several identities over HTTP yet: that every door of the blocked answers alike."""
    bob, mallory = cast.register("bob"), cast.register("mallory")
    charlie = cast.register("charlie")
    bob.call("POST", f"/v1/contacts/{mallory.number}/block")

    def doors(who: Person, to: Person) -> list[Any]:
        asked = who.post("/v1/contacts", json={"to": to.number})
        thread = who.post("/v1/threads", json={"to": to.number, "text": "Psst"})
        return [
            asked.status_code,
            asked.json()["state"],
            thread.status_code,
            thread.json(),
            who.rpc_error(
                to,
                "SendMessage",
                {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}},
            ),
        ]

    assert doors(mallory, bob) == doors(mallory, charlie)
    assert bob.inbox()["events"] == []
