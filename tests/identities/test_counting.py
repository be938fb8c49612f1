"""What counts against which rate, over HTTP."""

from __future__ import annotations

from tests.harness.cast import Cast
from tests.harness.service import Starter


def test_replies_and_leases_do_not_use_up_what_an_agent_may_ask(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_WRITE="8/h")
    cast = Cast(service)
    alice, bob = cast.friends
    threads = [alice.ask(bob)["id"] for _ in range(5)]
    for thread in threads:
        bob.call("POST", f"/v1/threads/{thread}/working", {"worker": "w"})
        assert bob.reply(thread)["thread"]["state"] == "answered"
    assert bob.ask(alice)["state"] == "open"


def test_tokens_are_not_tried_out_without_end(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_PUBLIC="5/h")
    bad = {"Authorization": "Bearer rgt_" + "x" * 32, "A2A-Version": "1.0"}
    for path in ("/v1/me", "/v1/inbox", "/v1/threads", "/v1/inbox", "/v1/me"):
        assert service.http.get(path, headers=bad).status_code == 401
    refused = service.http.get("/v1/me", headers=bad)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert service.http.post("/a2a/1234567897", headers=bad, json={}).status_code == 429
    assert Cast(service).alice.call("GET", "/v1/me"), "who has a good token is not kept out"


def test_numbers_are_not_tried_out_without_end(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_READ="5/h")
    alice = Cast(service).alice
    statuses = [alice.http.post("/a2a/9999999990", json={}).status_code for _ in range(7)]
    assert statuses == [404] * 5 + [429] * 2
