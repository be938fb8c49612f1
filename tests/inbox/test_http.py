"""`GET /v1/inbox` as a client meets it."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.harness.cast import Cast, Person
from tests.harness.service import Service


def sql(service: Service, statement: str, *given: Any) -> None:
    """Change the data behind a running service."""
    if service.setup == "embedded":
        with closing(sqlite3.connect(service.database, timeout=20)) as file, file:
            file.execute(statement.replace("%s", "?"), given)
    else:
        with psycopg.connect(str(service.database)) as connection:
            connection.execute(statement.encode(), given)


def test_an_event(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    thread = alice.ask(bob)
    page = bob.inbox(1)
    assert page["next"] == 2
    (event,) = page["events"]
    assert (event["seq"], event["type"]) == (2, "thread.opened")
    assert event["at"].endswith("Z")
    seen = bob.thread(thread["id"])
    (message,) = seen.pop("messages")
    del seen["next"]
    assert event["object"] == {"thread": seen, "message": message}


def test_objects_are_as_they_stand_now(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    thread = alice.ask(bob)
    bob.reply(thread["id"])
    (event,) = bob.inbox(1)["events"]
    assert event["object"]["thread"]["state"] == "answered"


def test_own_acts_make_no_event(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    start = {person: person.inbox()["next"] for person in (alice, bob)}
    thread = alice.ask(bob)["id"]
    alice.reply(thread)
    assert alice.inbox(start[alice])["events"] == []
    bob.call("POST", f"/v1/threads/{thread}/working", {"worker": "w"})
    bob.reply(thread)
    assert [event["type"] for event in bob.inbox(start[bob])["events"]] == ["thread.opened", "thread.message"]


def test_filters_and_pages(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)  # seq 1 of Bob's
    for _ in range(4):
        alice.ask(bob)
    assert bob.inbox(limit=2)["next"] == 2
    page = bob.inbox(types="contact.requested")
    assert ([event["seq"] for event in page["events"]], page["next"]) == ([1], 5)
    page = bob.inbox(1, types="contact.requested,contact.accepted", limit=2)
    assert page == {"events": [], "next": 3}
    page = bob.call("GET", "/v1/inbox", types="thread.opened", limit=100)
    assert [event["seq"] for event in page["events"]] == [2, 3, 4, 5]


def test_below_the_floor_and_above_the_head(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    for _ in range(4):
        alice.ask(bob)
    number = int(bob.number)
    sql(cast.service, "DELETE FROM inbox_inboxevent WHERE identity_id = %s AND seq <= 3", number)
    sql(cast.service, "UPDATE inbox_inboxhead SET floor = 3 WHERE identity_id = %s", number)
    for wait in (0, 20):
        gone = bob.get("/v1/inbox", params={"after": 2, "wait": wait})
        error = gone.json()["error"]
        assert (gone.status_code, error["code"], error["field"], error["oldest"]) == (
            410,
            "cursor_expired",
            "after",
            3,
        )
        above = bob.get("/v1/inbox", params={"after": 6, "wait": wait})
        assert (above.status_code, above.json()["error"]["field"]) == (400, "after")
    assert [event["seq"] for event in bob.inbox(3)["events"]] == [4, 5]
    assert [event["seq"] for event in bob.call("GET", "/v1/inbox")["events"]] == [4, 5]


QUERIES = [
    "after=-1",
    "after=x",
    "after=",
    "after=1.0",
    "after=%D9%A1",
    "after=%C2%B2",
    "after=+1",
    "after=%201",
    "after=1_0",
    "after=" + "9" * 5000,
    "after=99999999999999999999",
    "after=9223372036854775807",
    "after=9223372036854775808",
    "after=%00",
    "after=%ff",
    "after=0x1",
    "after=1&after=-1",
    "wait=26",
    "wait=-1",
    "wait=1.5",
    "wait=",
    "wait=true",
    "wait=%D9%A1",
    "wait=1e1",
    "wait=" + "9" * 5000,
    "limit=0",
    "limit=101",
    "limit=-1",
    "limit=",
    "limit=x",
    "limit=%D9%A1",
    "limit=99999999999999999999",
    "types=nonsense",
    "types=thread.opened,",
    "types=,",
    "types=thread.opened,nonsense",
    "types=thread.opened%20",
    "types=%00",
    "types=%ff",
    "types=" + "x" * 10_000,
    "types=THREAD.OPENED",
    "types[]=thread.opened",
    "since=0",
    "cursor=0",
    "a%00=1",
    "%ff=1",
    "=1",
    "&".join(f"a{place}=1" for place in range(1001)),
]


def test_bad_queries(cast: Cast) -> None:
    alice = cast.alice
    for query in QUERIES:
        answer = alice.get(f"/v1/inbox?{query}")
        shown = f"{query[:60]}: {answer.status_code} {answer.text[:200]}"
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid"), shown


def raw_target(person: Person, target: bytes) -> bytes:
    """The status line that a request target gets which no client library would send."""
    with socket.create_connection(("127.0.0.1", person.service.port), timeout=10) as wire:
        token = person.headers["Authorization"].encode()
        wire.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nAuthorization: " + token + b"\r\n\r\n")
        return wire.recv(100).split(b"\r\n")[0]


@pytest.mark.parametrize("target", [b"/v1/inbox?types=\xff", b"/v1/inbox?after=\xc2\xb2", b"/v1/inbox\xff"])
def test_bytes_that_are_not_ascii(cast: Cast, target: bytes) -> None:
    assert raw_target(cast.alice, target)[9:10] == b"4"


def test_who_may_read(cast: Cast) -> None:
    for header in (None, "", "Bearer", "Bearer a b", "Basic eDp5", "Bearer rgt_" + "x" * 32):
        answer = cast.service.http.get(
            "/v1/inbox?wait=25", headers={} if header is None else {"Authorization": header}
        )
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_methods_and_spellings(cast: Cast) -> None:
    alice = cast.alice
    assert alice.get("/v1/inbox/").json() == alice.get("/v1/inbox").json() == {"events": [], "next": 0}
    head = alice.http.head("/v1/inbox")
    assert (head.status_code, head.content) == (200, b"")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = alice.http.request(method, "/v1/inbox")
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert alice.http.options("/v1/inbox").status_code == 200


def test_the_cost_in_statements(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    alice.ask(bob)
    for wait in (0, 20):
        with quiet_cast.service.counting() as made:
            assert len(bob.call("GET", "/v1/inbox", after=1, wait=wait)["events"]) == 1
        assert len(made) <= 3, made
        assert sum("hash" in one for one in made.sql) == 1
