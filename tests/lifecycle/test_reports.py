"""POST /v1/reports: about what one may see, once, and for nobody but the operators."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chats.test_messages import post
from tests.harness.cast import Cast, Person
from tests.harness.service import Starter
from tests.lifecycle.world import rows

NOBODY = "1000000008"
NOTHING = "msg_" + "0" * 32


def report(person: Person, status: int = 201, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = person.call("POST", "/v1/reports", {"reason": "spam", **fields}, status=status)
    return made


def refused(person: Person, **fields: Any) -> str:
    return person.refused("POST", "/v1/reports", {"reason": "spam", **fields})


def test_an_identity_is_reported(cast: Cast) -> None:
    alice, ada = cast.alice, cast.ada
    made = report(alice, about=f"@{ada.handle}", reason="impersonation", text="That is\nme")
    assert made["id"].startswith("rep_")
    assert made["about"]["number"] == ada.number
    assert {key: made[key] for key in ("message", "reason", "text", "duplicate")} == {
        "message": None,
        "reason": "impersonation",
        "text": "That is\nme",
        "duplicate": False,
    }


def test_a_message_is_reported_with_its_author(cast: Cast) -> None:
    alice, bob = cast.friends
    message = post(bob, alice.number, "Vile")
    made = report(alice, message=message["id"])
    assert (made["message"], made["about"]["number"]) == (message["id"], bob.number)
    thread = bob.ask(alice, "Vile")
    asked = alice.thread(thread["id"])["messages"][0]["id"]
    assert report(alice, message=asked)["about"]["number"] == bob.number


def test_a_repeat_makes_no_second(cast: Cast) -> None:
    alice, ada = cast.alice, cast.ada
    first = report(alice, about=ada.number, client_id="r1")
    assert report(alice, 200, about=ada.number, client_id="r1") == {**first, "duplicate": True}
    assert refused(alice, about=ada.number, client_id="r1", text="more") == "idempotency_conflict"
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(
                lambda _: alice.post(
                    "/v1/reports",
                    json={"about": ada.number, "reason": "spam"},
                    headers={"Idempotency-Key": "r2"},
                ).json(),
                range(4),
            )
        )
    assert len({one["id"] for one in made}) == 1
    assert [one["duplicate"] for one in made].count(False) == 1


def test_hidden_and_absent_read_the_same(quiet_cast: Cast) -> None:
    """The same bytes, and the same statements."""
    alice, bob = quiet_cast.friends
    mallory, charlie = quiet_cast.mallory, quiet_cast.charlie
    bob.befriend(charlie)
    secret = post(bob, charlie.number, "Between us")["id"]
    service = quiet_cast.service
    for absent, hidden in (
        ({"about": NOBODY}, {"about": charlie.number}),
        ({"message": NOTHING}, {"message": secret}),
    ):
        answers, made = [], []
        for what in (absent, hidden):
            with service.counting() as statements:
                answer = mallory.post("/v1/reports", json={"reason": "spam", **what})
            answers.append((answer.status_code, answer.content))
            made.append(statements.sql)
        assert answers[0] == answers[1]
        assert answers[0][0] == 404
        assert made[0] == made[1]
    bob.call("DELETE", "/v1/me")
    assert refused(alice, about=bob.number) == "not_found"


def test_who_asks_to_be_a_contact_may_be_reported(cast: Cast) -> None:
    alice, mallory = cast.alice, cast.mallory
    assert refused(alice, about=mallory.number) == "not_found"
    mallory.call("POST", "/v1/contacts", {"to": alice.number, "note": "Buy this"})
    report(alice, about=mallory.number)
    alice.call("POST", f"/v1/contacts/{mallory.number}/decline")
    report(alice, about=mallory.number)
    alice.call("POST", f"/v1/contacts/{mallory.number}/block")
    report(alice, about=mallory.number)


def test_who_shares_a_room_may_be_reported(cast: Cast) -> None:
    alice, mallory = cast.alice, cast.mallory
    room = alice.call("POST", "/v1/chats", {"topic": "R", "visibility": "public"})["chat"]["id"]
    mallory.call("POST", f"/v1/chats/{room}/join")
    report(alice, about=mallory.number)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "about"),
        ({"about": NOBODY, "message": NOTHING}, "about"),
        ({"about": NOBODY, "reason": "dislike"}, "reason"),
        ({"about": NOBODY, "text": "x" * 2001}, "text"),
        ({"about": NOBODY, "text": 1}, "text"),
        ({"about": NOBODY, "nonsense": 1}, "nonsense"),
        ({"about": 1}, "about"),
    ],
)
def test_bad_input_names_its_field(cast: Cast, fields: dict[str, Any], field: str) -> None:
    answer = cast.alice.post("/v1/reports", json={"reason": "spam", **fields})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


def test_nobody_reports_itself_or_what_is_gone(cast: Cast) -> None:
    alice, bob = cast.friends
    assert refused(alice, about=alice.number) == "invalid"
    own = post(alice, bob.number)
    assert refused(alice, message=own["id"]) == "invalid"
    theirs = post(bob, alice.number)
    bob.call("DELETE", f"/v1/messages/{theirs['id']}")
    assert refused(alice, message=theirs["id"]) == "not_found"
    assert refused(alice, message="msg_nonsense") == "not_found"


def test_nobody_else_can_tell(cast: Cast) -> None:
    alice, bob = cast.friends
    before = bob.inbox()
    report(alice, about=bob.number)
    assert bob.inbox() == before
    assert bob.get("/v1/reports").status_code == 405
    log = bob.call("GET", "/v1/me/audit")["items"]
    assert all("report" not in note["action"] for note in log)


def test_it_needs_the_scope_by_which_one_sees(cast: Cast) -> None:
    alice, ada = cast.alice, cast.ada
    made = alice.call("POST", "/v1/tokens", {"name": "n", "scopes": ["messages:write"]})
    for what, scope in (({"about": ada.number}, "contacts"), ({"message": NOTHING}, "messages:read")):
        answer = cast.service.http.post(
            "/v1/reports",
            json={"reason": "spam", **what},
            headers={"Authorization": f"Bearer {made['token']}"},
        )
        assert (answer.status_code, answer.json()["error"]["scope"]) == (403, scope)


def test_each_identity_reports_only_so_often(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_REPORT="2/h")
    cast = Cast(service)
    alice, ada = cast.alice, cast.ada
    for number in range(2):
        report(alice, about=ada.number, client_id=str(number))
    answer = alice.post("/v1/reports", json={"about": ada.number, "reason": "spam"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert report(alice, 200, about=ada.number, client_id="1")["duplicate"]
    assert rows(service, "SELECT COUNT(*) FROM lifecycle_report") == [(2,)]
    cast.close()
