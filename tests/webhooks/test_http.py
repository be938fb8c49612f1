"""The calls under `/v1/webhooks`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.harness.cast import Cast
from tests.harness.service import Service, Starter
from tests.identities.test_access import using
from tests.webhooks.world import make

URL = "https://1.1.1.1/hook"
NOBODY = "whk_" + "0" * 32


def test_a_webhook_is_made_read_changed_and_deleted(cast: Cast) -> None:
    alice = cast.register("alice")
    made = make(alice, URL, name=" laptop ")
    shown = {key: value for key, value in made.items() if key not in ("secret", "duplicate", "next")}
    assert shown["id"].startswith("whk_")
    assert (shown["url"], shown["name"], shown["state"]) == (URL, "laptop", "active")
    assert shown["reason"] is shown["failing_since"] is shown["old_secret_until"] is None
    assert made["secret"].startswith("whsec_")
    assert alice.call("GET", f"/v1/webhooks/{made['id']}") == shown
    assert alice.call("GET", "/v1/webhooks") == {"items": [shown], "next_cursor": None}

    changed = alice.call("PATCH", f"/v1/webhooks/{made['id']}", {"url": f"{URL}/2", "name": ""})
    assert changed == {**shown, "url": f"{URL}/2", "name": ""}
    assert alice.call("PATCH", f"/v1/webhooks/{made['id']}", {}) == changed
    assert alice.call("PATCH", f"/v1/webhooks/{made['id']}", {"state": "active"}) == changed

    alice.call("DELETE", f"/v1/webhooks/{made['id']}", status=204)
    assert alice.refused("DELETE", f"/v1/webhooks/{made['id']}") == "not_found"
    assert alice.call("GET", "/v1/webhooks")["items"] == []
    log = alice.call("GET", "/v1/me/audit")
    assert [note["action"] for note in log["items"]][:2] == ["webhook.deleted", "webhook.changed"]
    assert made["secret"] not in str(log)
    assert URL not in str(log)


def test_a_secret_is_shown_once(cast: Cast) -> None:
    alice = cast.register("alice")
    body = {"url": URL, "name": "a", "client_id": "c-1"}
    first = alice.call("POST", "/v1/webhooks", body, status=201)
    again = alice.call("POST", "/v1/webhooks", body, status=200)
    assert again == {**first, "secret": None, "duplicate": True, "next": "rotate"}
    assert alice.refused("POST", "/v1/webhooks", {**body, "name": "b"}) == "idempotency_conflict"
    header = alice.post("/v1/webhooks", json={"url": URL, "name": "a"}, headers={"Idempotency-Key": "c-1"})
    assert header.json() == again
    assert len(alice.call("GET", "/v1/webhooks")["items"]) == 1

    path = f"/v1/webhooks/{first['id']}/rotate"
    rotated = alice.call("POST", path, {"client_id": "r-1", "overlap_hours": 1}, status=201)
    assert rotated["secret"] not in (None, first["secret"])
    repeated = alice.call("POST", path, {"client_id": "r-1", "overlap_hours": 1}, status=200)
    assert repeated == {**rotated, "secret": None, "duplicate": True, "next": "rotate"}
    assert rotated["old_secret_until"] is not None
    assert alice.call("POST", path, {"overlap_hours": 0}, status=201)["old_secret_until"] is None
    assert alice.call("POST", path, status=201)["old_secret_until"] is not None


def test_the_same_call_at_once_makes_one(cast: Cast) -> None:
    alice = cast.register("alice")

    def call(_: int) -> Any:
        return alice.post("/v1/webhooks", json={"url": URL, "client_id": "c"}).json()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(call, range(6)))
    assert len({answer["id"] for answer in answers}) == 1
    assert sum(answer["secret"] is not None for answer in answers) == 1


def test_webhooks_are_bounded(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_MAX_WEBHOOKS="2", RELAYGER_RATE_PING="2/h"))
    alice = cast.alice
    first, _ = make(alice, URL), make(alice, URL)
    assert alice.refused("POST", "/v1/webhooks", {"url": URL}) == "quota_exceeded"

    def more(_: int) -> str:
        return cast.bob.post("/v1/webhooks", json={"url": URL}).json().get("state", "refused")

    cast.bob.call("GET", "/v1/me")
    with ThreadPoolExecutor(5) as pool:
        assert sorted(pool.map(more, range(5))) == ["active"] * 2 + ["refused"] * 3

    alice.call("POST", f"/v1/webhooks/{first['id']}/test", status=201)
    alice.call("POST", f"/v1/webhooks/{first['id']}/replay", status=201)
    limited = alice.post(f"/v1/webhooks/{first['id']}/test")
    assert limited.json()["error"]["code"] == "rate_limited"
    assert int(limited.headers["Retry-After"]) > 0
    alice.call("DELETE", f"/v1/webhooks/{first['id']}")
    make(alice, URL)


def test_anothers_webhook_is_absent(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, mallory = quiet_cast.alice, quiet_cast.mallory
    made = make(alice, URL)
    calls: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("PATCH", "", {"name": "x"}),
        ("PATCH", "", {"url": "http://127.0.0.1/"}),
        ("DELETE", "", None),
        ("GET", "/deliveries", None),
        ("POST", "/test", None),
        ("POST", "/rotate", None),
        ("POST", "/replay", {"after": 0}),
    ]
    for method, tail, body in calls:
        seen = []
        for id in (made["id"], NOBODY):
            with quiet_server.counting() as statements:
                answer = mallory.http.request(method, f"/v1/webhooks/{id}{tail}", json=body)
            seen.append((answer.status_code, answer.content, statements.sql))
        assert seen[0] == seen[1]
        assert seen[0][0] == 404
        assert mallory.http.request(method, f"/v1/webhooks/nonsense{tail}", json=body).status_code == 404
    assert mallory.call("GET", "/v1/webhooks")["items"] == []
    assert alice.call("GET", f"/v1/webhooks/{made['id']}")["name"] == ""


def test_webhooks_need_their_scope(cast: Cast) -> None:
    alice = cast.register("alice")
    made = make(alice, URL)
    scopes = ["profile", "contacts", "messages:read", "messages:write", "files", "tokens"]
    narrow = using(alice, alice.call("POST", "/v1/tokens", {"name": "n", "scopes": scopes})["token"])
    for method, path in (
        ("GET", ""),
        ("POST", ""),
        ("GET", f"/{made['id']}"),
        ("PATCH", f"/{made['id']}"),
        ("DELETE", f"/{made['id']}"),
        ("GET", f"/{made['id']}/deliveries"),
        ("POST", f"/{made['id']}/test"),
        ("POST", f"/{made['id']}/rotate"),
        ("POST", f"/{made['id']}/replay"),
    ):
        body = {"url": URL} if (method, path) == ("POST", "") else {} if method in ("POST", "PATCH") else None
        answer = narrow.request(method, f"/v1/webhooks{path}", json=body)
        assert (answer.status_code, answer.json()["error"].get("scope")) == (403, "webhooks"), (method, path)
    assert alice.service.http.get("/v1/webhooks").status_code == 401


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("", {}, "url"),
        ("", {"url": 1}, "url"),
        ("", {"url": "https://1.1.1.1/" + "a" * 2048}, "url"),
        ("", {"url": URL, "name": "a\nb"}, "name"),
        ("", {"url": URL, "client_id": ""}, "client_id"),
        ("", {"url": URL, "secret": "whsec_mine"}, "secret"),
        ("/rotate", {"overlap_hours": -1}, "overlap_hours"),
        ("/rotate", {"overlap_hours": 721}, "overlap_hours"),
        ("/rotate", {"overlap_hours": True}, "overlap_hours"),
        ("/replay", {"after": -1}, "after"),
        ("/replay", {"after": "1"}, "after"),
        ("/replay", {"after": 2**63}, "after"),
        ("/replay", {"after": 99}, "after"),
        ("/replay", {"since": "yesterday"}, "since"),
        ("/replay", {"since": "2026-01-31T12:00:00"}, "since"),
        ("/replay", {"after": 0, "since": "2026-01-31T12:00:00Z"}, "since"),
    ],
)
def test_wrong_fields_are_named(cast: Cast, path: str, body: Any, field: str) -> None:
    alice = cast.alice
    base = f"/v1/webhooks/{make(alice, URL)['id']}" if path else "/v1/webhooks"
    answer = alice.post(f"{base}{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field), answer.text


@pytest.mark.parametrize(
    "body", [{"state": "disabled"}, {"state": None}, {"url": ""}, {"url": None}, {"id": "x"}]
)
def test_wrong_changes_are_refused(cast: Cast, body: Any) -> None:
    made = make(cast.alice, URL)
    answer = cast.alice.patch(f"/v1/webhooks/{made['id']}", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, next(iter(body)))


def test_lists_are_paged_with_few_statements(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    hooks = [make(bob, URL, name=str(number)) for number in range(3)]
    with quiet_server.counting() as made:
        page = bob.call("GET", "/v1/webhooks", limit=2)
    assert len(made) <= 2, made
    rest = bob.call("GET", "/v1/webhooks", limit=2, cursor=page["next_cursor"])
    assert [one["name"] for one in page["items"] + rest["items"]] == ["2", "1", "0"]
    assert rest["next_cursor"] is None

    for number in range(3):
        alice.ask(bob, f"{number}?")
    path = f"/v1/webhooks/{hooks[0]['id']}/deliveries"
    with quiet_server.counting() as made:
        page = bob.call("GET", path, limit=2)
    # What the sender does meanwhile, in the background, is not the call's.
    own = [one["sql"] for one in made if not one["thread"].startswith("db_")]
    assert len(own) <= 3, made
    rest = bob.call("GET", path, limit=2, cursor=page["next_cursor"])
    listed = page["items"] + rest["items"]
    assert len(listed) == 3
    assert [one["seq"] for one in listed] == sorted((one["seq"] for one in listed), reverse=True)
    other = f"/v1/webhooks/{hooks[1]['id']}/deliveries"
    assert bob.refused("GET", other, cursor=page["next_cursor"]) == "invalid"


def test_news_costs_two_statements_more_where_webhooks_are(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    alice.ask(bob, "warm?")
    with quiet_server.counting() as without:
        alice.ask(bob, "without?")
    for _ in range(5):
        make(bob, URL)
    with quiet_server.counting() as within:
        alice.ask(bob, "with?")
    news = [one for one in within.sql if "inbox_outbox" in one or "inbox_webhook" in one]
    assert len([one for one in news if one.startswith("INSERT INTO inbox_outbox")]) == 1
    assert len([one for one in news if "COALESCE(due_at" in one]) == 1
    assert not [one for one in without.sql if "inbox_outbox" in one or "inbox_webhook" in one]
