"""GET /v1/me/export: complete, bounded, and ended with the access."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import httpx
import pytest

from apps.lifecycle import export as exports
from tests.chats.test_messages import post
from tests.contacts.world import befriend, person, statements
from tests.harness.cast import Cast, Person
from tests.harness.service import Service, Starter
from tests.harness.wait import until
from tests.lifecycle.world import busy, rows

Line = dict[str, Any]
MESSAGES = 100  # of 120 kB: more than the buffers on the way take


def export(person: Person) -> list[Line]:
    answer = person.get("/v1/me/export")
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def of(lines: list[Line], type: str) -> list[dict[str, Any]]:
    return [line["data"] for line in lines if line["type"] == type]


def test_it_is_complete(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_PRIVATE_TARGETS="true")
    cast = Cast(service)
    alice, bob, made = busy(cast)
    left = bob.call("POST", "/v1/chats", {"topic": "Left", "visibility": "public"})["chat"]["id"]
    alice.call("POST", f"/v1/chats/{left}/join")
    post(alice, left, "What I wrote")
    post(bob, left, "What he wrote")
    alice.call("POST", f"/v1/chats/{left}/leave")
    lines = export(alice)
    assert (lines[0]["type"], lines[-1]["type"]) == ("export", "end")
    assert lines[-1]["data"] == Counter(line["type"] for line in lines[1:-1])
    assert all(lines[-1]["data"].values()), "something of every kind"

    assert of(lines, "profile") == [alice.call("GET", "/v1/me")]
    for type, path in (
        ("token", "tokens"),
        ("key", "keys"),
        ("webhook", "webhooks"),
        ("contact", "contacts"),
    ):
        listed = alice.call("GET", f"/v1/{path}")["items"]
        shown = of(lines, type)
        if type == "token":  # their last use goes on
            listed, shown = ([{**one, "last_used_at": None} for one in some] for some in (listed, shown))
        assert sorted(map(str, shown)) == sorted(map(str, listed)), type
    assert of(lines, "audit") == alice.call("GET", "/v1/me/audit")["items"]
    chats = alice.call("GET", "/v1/chats")["items"]
    assert {one["id"] for one in of(lines, "chat")} >= {one["id"] for one in chats}
    assert {one["id"] for one in of(lines, "thread")} == {made["thread"], made["asked"]}
    texts = {one["text"] for one in of(lines, "message")}
    assert texts >= {"A question", "An answer", "Another", "A message", "What I wrote"}
    assert "What he wrote" not in texts
    for chat in chats:
        history = alice.call("GET", f"/v1/chats/{chat['id']}/messages")["items"]
        ids = {one["id"] for one in of(lines, "message") if one["chat"] == chat["id"]}
        assert ids == {one["id"] for one in history}
    assert [one["identity"]["number"] for one in of(lines, "block")] == [cast.mallory.number]
    assert [one["id"] for one in of(lines, "report")] == [made["report"]]
    assert [one["id"] for one in of(lines, "file")] == [made["file"]]
    assert made["invite"] in {one["id"] for one in of(lines, "invite")}
    whole = json.dumps(lines)
    assert alice.token not in whole
    assert "secret" not in Counter(key for line in lines for key in line["data"])
    cast.close()


def test_it_is_a_download_that_only_a_whole_token_gets(cast: Cast) -> None:
    alice = cast.register("alice")
    answer = alice.get("/v1/me/export")
    headers = answer.headers
    assert headers["content-type"] == "application/x-ndjson"
    assert headers["content-disposition"] == f'attachment; filename="relayger-{alice.number}.ndjson"'
    assert headers["cache-control"] == "no-store"
    assert alice.http.head("/v1/me/export").status_code == 200
    assert alice.http.post("/v1/me/export").status_code == 405
    assert alice.refused("GET", "/v1/me/export", nonsense=1) == "invalid"
    assert cast.service.http.get("/v1/me/export").status_code == 401
    narrow = alice.call("POST", "/v1/tokens", {"name": "n", "scopes": ["profile", "messages:read"]})
    refused = cast.service.http.get("/v1/me/export", headers={"Authorization": f"Bearer {narrow['token']}"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "insufficient_scope")


def test_it_is_counted_against_a_rate(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_RATE_EXPORT="2/h"))
    alice = cast.register("alice")
    export(alice), export(alice)
    answer = alice.get("/v1/me/export")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) > 0
    cast.close()


def test_nothing_is_skipped_at_the_pages(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    sent = [post(alice, bob.number, str(number))["id"] for number in range(45)]
    shown = [one["id"] for one in of(export(alice), "message") if one["kind"] == "message"]
    assert shown == sent
    threads = {bob.ask(alice)["id"] for _ in range(3)} | {alice.ask(bob)["id"] for _ in range(3)}
    assert {one["id"] for one in of(export(alice), "thread")} == threads


def test_others_content_shows_as_it_does_elsewhere(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    room = alice.call("POST", "/v1/chats", {"topic": "R", "visibility": "public"})["chat"]["id"]
    bob.call("POST", f"/v1/chats/{room}/join")
    post(bob, room, "Before the block")
    alice.call("POST", f"/v1/contacts/{bob.number}/block")
    assert "Before the block" not in json.dumps(export(alice))


class Slow:
    """A reader of an export that reads only when it is told to, with a small buffer."""

    def __init__(self, person: Person) -> None:
        self.line = socket.socket()
        self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.line.settimeout(20)
        self.line.connect(("127.0.0.1", person.service.port))
        request = (
            f"GET /v1/me/export HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {person.token}\r\n\r\n"
        )
        self.line.sendall(request.encode())
        self.head = self.line.recv(512)
        assert self.head.startswith(b"HTTP/1.1 200")

    def rest(self) -> str:
        """All that comes until the end."""
        whole = self.head
        with self.line, suppress(OSError):
            while piece := self.line.recv(1 << 16):
                whole += piece
                if whole.endswith(b"0\r\n\r\n"):
                    break
        return whole.decode(errors="replace")


def write_notes(person: Person, many: int) -> None:
    """Write many large notes to oneself."""
    for _ in range(many):
        note = {"parts": [{"data": {"note": "x" * 120_000}}]}
        person.call("POST", f"/v1/chats/{person.number}/messages", note)


@pytest.fixture
def full(fresh_server: Starter) -> Person:
    # With one thread for the database, none is started only now.
    cast = Cast(
        fresh_server(RELAYGER_SWEEP_SECONDS="86400", RELAYGER_JOB_SECONDS="86400", RELAYGER_DB_THREADS="1")
    )
    alice = cast.register("alice")
    write_notes(alice, MESSAGES)
    return alice


def _still(service: Service) -> None:
    """Until the service makes no more statements for it: what it may hold is full."""
    seen = [-1]

    def same() -> bool:
        count = len(service.http.get("/_test/statements").json())
        before, seen[0] = seen[0], count
        return count == before

    until(same, 20, "the export to stand still")


def test_a_slow_reader_holds_neither_thread_nor_connection_nor_memory(full: Person) -> None:
    service = full.service
    write_notes(full, 2 * MESSAGES)  # more than what a few pages take in memory, too
    export(full)
    before = service.vitals()
    slow = Slow(full)
    _still(service)
    held = service.vitals()
    assert held["threads"] <= before["threads"]
    assert held["connections"] <= before["connections"]
    assert held["rss_kib"] - before["rss_kib"] < 18_000, "not the half of it"
    assert full.refused("GET", "/v1/me/export") == "too_many_waits"
    assert '"type":"end"' in slow.rest()
    until(lambda: full.get("/v1/me/export").status_code == 200)
    full.service.close()


@pytest.mark.parametrize("end", ["revoke", "delete", "stop"])
def test_it_ends_with_the_access(full: Person, end: str) -> None:
    service = full.service
    slow = Slow(full)
    _still(service)
    if end == "revoke":
        current = next(one for one in full.call("GET", "/v1/tokens")["items"] if one["current"])
        full.call("DELETE", f"/v1/tokens/{current['id']}")
    elif end == "delete":
        full.call("DELETE", "/v1/me")
    else:
        threading.Thread(target=service.terminate).start()
    until(lambda: not service.running or service.vitals()["tasks"] < 40)
    text = slow.rest()
    assert '"type":"end"' not in text
    assert text.count('"type":"message"') < MESSAGES, "what was on its way, no more"
    code = "connection_closed" if end == "stop" else "unauthenticated"
    assert f'"code":"{code}"' in text or '"type":"error"' not in text
    until(lambda: not service.running or end != "stop")


def test_a_reader_that_keeps_up_is_told_why_it_ended(full: Person) -> None:
    token = full.call("POST", "/v1/tokens", {"name": "other"})
    headers = {"Authorization": f"Bearer {token['token']}"}
    got: list[Line] = []
    with httpx.stream("GET", f"{full.service.origin}/v1/me/export", headers=headers) as answer:
        for line in answer.iter_lines():
            got.append(json.loads(line))
            if len(got) == 5:
                full.call("DELETE", f"/v1/tokens/{token['id']}")
    assert got[-1]["type"] == "error"
    assert got[-1]["data"]["code"] == "unauthenticated"
    assert rows(full.service, "SELECT 1") == [(1,)]


@pytest.mark.django_db
def test_the_statements_of_a_page_do_not_grow_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "check", lambda actor: None)

    def costs(friends: int) -> dict[str, int]:
        alice = person()
        for _ in range(friends):
            befriend(alice, person())
        found = {}
        for name in exports.SECTIONS:
            with statements() as made:
                exports.read(alice, name, None)
            found[name] = len(made)
        return found

    assert costs(1) == costs(4)
