"""Tokens, keys, the audit log and claiming, over HTTP."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from nacl.public import PrivateKey
from nacl.signing import SigningKey

from tests.harness.cast import Cast, Person
from tests.harness.service import Service, Starter


def text(key: Any) -> str:
    return base64.urlsafe_b64encode(bytes(key)).decode().rstrip("=")


def using(person: Person, token: str) -> httpx.Client:
    client = httpx.Client(
        base_url=person.service.origin, headers={"Authorization": f"Bearer {token}"}, timeout=40
    )
    person.service.clients.add(client)
    return client


# -- tokens -------------------------------------------------------------------------------------------------------


def test_a_token_is_made_used_listed_and_revoked(cast: Cast) -> None:
    alice = cast.register("alice")
    body = {"name": "worker", "scopes": ["messages:read", "messages:write"], "expires_in_days": 30}
    made = alice.call("POST", "/v1/tokens", body, status=201)
    worker = using(alice, made["token"])
    assert worker.get("/v1/me").json()["number"] == alice.number

    listed = alice.call("GET", "/v1/tokens")["items"]
    assert [(one["name"], one["current"]) for one in listed] == [("worker", False), ("first", True)]
    assert not any("token" in one or "hash" in one for one in listed)

    refused = worker.get("/v1/tokens")
    assert (refused.status_code, refused.json()["error"]["scope"]) == (403, "tokens")
    alice.call("DELETE", f"/v1/tokens/{made['id']}", status=204)
    assert worker.get("/v1/me").status_code == 401
    assert alice.refused("DELETE", f"/v1/tokens/{made['id']}") == "not_found"


def test_no_token_is_wider_than_its_maker_or_outlives_it(cast: Cast) -> None:
    alice = cast.register("alice")
    narrow = alice.call(
        "POST", "/v1/tokens", {"name": "n", "scopes": ["tokens", "profile"], "expires_in_days": 1}
    )
    client = using(alice, narrow["token"])
    wider = client.post("/v1/tokens", json={"name": "w", "scopes": ["messages:read"]})
    assert (wider.status_code, wider.json()["error"]["code"]) == (403, "insufficient_scope")
    longer = client.post("/v1/tokens", json={"name": "l", "expires_in_days": 100}).json()
    assert longer["scopes"] == ["profile", "tokens"]
    assert longer["expires_at"] <= narrow["expires_at"]
    first = next(one for one in alice.call("GET", "/v1/tokens")["items"] if one["name"] == "first")
    stolen = client.post(f"/v1/tokens/{first['id']}/rotate")
    assert (stolen.status_code, stolen.json()["error"]["code"]) == (403, "insufficient_scope")


def test_a_secret_is_shown_once(cast: Cast) -> None:
    alice = cast.register("alice")
    body = {"name": "worker", "client_id": "c-1"}
    first = alice.call("POST", "/v1/tokens", body, status=201)
    again = alice.call("POST", "/v1/tokens", body, status=200)
    assert again == {**first, "token": None, "duplicate": True, "next": "rotate"}
    assert alice.refused("POST", "/v1/tokens", {**body, "name": "other"}) == "idempotency_conflict"
    rotated = alice.call("POST", f"/v1/tokens/{first['id']}/rotate", {}, status=201)
    assert rotated["token"] not in (None, first["token"])
    assert using(alice, first["token"]).get("/v1/me").status_code == 401
    assert using(alice, rotated["token"]).get("/v1/me").status_code == 200


def test_two_rotations_at_once_leave_one_token(cast: Cast) -> None:
    alice = cast.register("alice")
    made = alice.call("POST", "/v1/tokens", {"name": "worker"})

    def rotate(_: int) -> int:
        return alice.post(f"/v1/tokens/{made['id']}/rotate").status_code

    with ThreadPoolExecutor(6) as pool:
        answers = sorted(pool.map(rotate, range(6)))
    assert answers == [201, 404, 404, 404, 404, 404]
    assert len(alice.call("GET", "/v1/tokens")["items"]) == 2


def test_anothers_token_is_absent(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, mallory = quiet_cast.alice, quiet_cast.mallory
    made = alice.call("POST", "/v1/tokens", {"name": "worker"})
    seen = []
    for id in (made["id"], "tok_" + "0" * 32):
        with quiet_server.counting() as statements:
            answer = mallory.delete(f"/v1/tokens/{id}")
        seen.append((answer.status_code, answer.content, statements.sql))
    assert seen[0] == seen[1]
    assert seen[0][0] == 404


def test_tokens_are_bounded(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_MAX_TOKENS="3")
    alice = Cast(service).alice
    alice.call("POST", "/v1/tokens", {"name": "two"})
    alice.call("POST", "/v1/tokens", {"name": "three"})
    assert alice.refused("POST", "/v1/tokens", {"name": "four"}) == "quota_exceeded"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["all"]}, "scopes"),
        ({"name": "x", "expires_in_days": 0}, "expires_in_days"),
        ({"name": "x", "expires_in_days": True}, "expires_in_days"),
        ({"name": "x\u202e"}, "name"),
        ({"name": "x", "more": 1}, "more"),
    ],
)
def test_wrong_tokens_name_their_field(cast: Cast, body: dict[str, Any], field: str) -> None:
    answer = cast.alice.post("/v1/tokens", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"].startswith(field)


@pytest.mark.parametrize("surface", ["inbox", "thread", "stream", "blocking"])
def test_a_revoked_token_ends_what_waits_within_a_second(cast: Cast, surface: str) -> None:
    alice, bob = cast.friends
    made = alice.call("POST", "/v1/tokens", {"name": "waiter"})
    waiter = using(alice, made["token"])
    thread = alice.ask(bob)
    seq = alice.inbox()["next"]
    message = {"messageId": f"m-{surface}-{made['id']}", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    call = {"jsonrpc": "2.0", "id": 1, "params": {"message": message}}
    path = f"/a2a/{bob.number}"
    headers = {"A2A-Version": "1.0"}

    def wait() -> float:
        match surface:
            case "inbox":
                answer = waiter.get("/v1/inbox", params={"after": seq, "wait": 25})
                assert answer.status_code == 401
            case "thread":
                params = {"after": thread["generation"], "wait": 25}
                answer = waiter.get(f"/v1/threads/{thread['id']}", params=params)
                assert answer.status_code == 401
            case "stream":
                answer = waiter.post(path, json={**call, "method": "SendStreamingMessage"}, headers=headers)
            case _:
                answer = waiter.post(path, json={**call, "method": "SendMessage"}, headers=headers)
        return answer.elapsed.total_seconds()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        # It waits once the service has used the token; then the token goes.
        with pytest.raises(TimeoutError):
            waiting.result(0.7)
        alice.call("DELETE", f"/v1/tokens/{made['id']}")
        waiting.result(1.5)


# -- keys ---------------------------------------------------------------------------------------------------------


def test_keys_are_published_changed_and_retired(cast: Cast) -> None:
    alice, bob = cast.friends
    first, second = SigningKey.generate(), SigningKey.generate()
    sign = {"purpose": "sign", "public_key": text(first.verify_key)}
    published = alice.call("POST", "/v1/keys", sign, status=201)
    assert alice.call("POST", "/v1/keys", sign, status=200)["duplicate"] is True
    assert bob.refused("POST", "/v1/keys", sign) == "key_taken"

    keys = bob.call("GET", f"/v1/identities/{alice.number}")["keys"]
    assert keys["sign"]["id"] == published["id"]
    assert keys["sign"]["changed_at"] is None
    assert keys["seal"]["derived"] is True
    assert keys["seal"]["public_key"] == text(first.verify_key.to_curve25519_public_key())

    seal = PrivateKey.generate()
    alice.call("POST", "/v1/keys", {"purpose": "seal", "public_key": text(seal.public_key)}, status=201)
    alice.call("POST", "/v1/keys", {"purpose": "sign", "public_key": text(second.verify_key)}, status=201)
    keys = bob.call("GET", f"/v1/identities/{alice.number}")["keys"]
    assert keys["seal"]["public_key"] == text(seal.public_key)
    assert keys["sign"]["public_key"] == text(second.verify_key)
    assert keys["sign"]["changed_at"] is not None
    listed = alice.call("GET", "/v1/keys")["items"]
    assert [one["retired_at"] is None for one in listed] == [True, True, False]

    retired = alice.call("POST", f"/v1/keys/{keys['seal']['id']}/retire")
    assert retired["retired_at"] is not None
    assert bob.call("GET", f"/v1/identities/{alice.number}")["keys"]["seal"]["derived"] is True
    assert bob.refused("POST", f"/v1/keys/{keys['sign']['id']}/retire") == "not_found"


@pytest.mark.parametrize("key", ["", "x", "A" * 43, "_" * 43, text(b"\1" + b"\0" * 31)])
@pytest.mark.parametrize("purpose", ["sign", "seal"])
def test_weak_keys_are_refused(cast: Cast, purpose: str, key: str) -> None:
    answer = cast.alice.post("/v1/keys", json={"purpose": purpose, "public_key": key})
    if (purpose, key) == ("seal", "_" * 43):
        assert answer.status_code in (201, 200, 400, 409)  # every other 32 bytes are a point of X25519
        return
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "public_key")


# -- audit --------------------------------------------------------------------------------------------------------


def test_the_owner_reads_what_happened(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    made = alice.call("POST", "/v1/tokens", {"name": "worker"})
    alice.call("POST", f"/v1/tokens/{made['id']}/rotate")
    alice.call("PATCH", "/v1/me", {"policy": "nobody"})
    alice.call("POST", f"/v1/contacts/{bob.number}/block")
    alice.call("POST", f"/v1/contacts/{bob.number}/block")
    log = alice.call("GET", "/v1/me/audit")["items"]
    assert [note["action"] for note in log] == [
        "contact.blocked",
        "policy.changed",
        "token.rotated",
        "token.created",
        "registered",
    ]
    assert made["token"] not in str(log)
    assert log[0]["address"] == "127.0.0.1"
    assert bob.call("GET", "/v1/me/audit")["items"][0]["action"] == "registered"
    page = alice.call("GET", "/v1/me/audit", limit=2)
    rest = alice.call("GET", "/v1/me/audit", cursor=page["next_cursor"])
    assert page["items"] + rest["items"] == log


# -- claiming -----------------------------------------------------------------------------------------------------


def test_an_agent_comes_into_its_owners_account(cast: Cast) -> None:
    agent, owner = cast.register("agent"), cast.register("owner", kind="human")
    code = agent.call("POST", "/v1/me/claim", status=201)["code"]
    assert agent.refused("POST", "/v1/me/claim", {"code": code}) == "invalid"
    claimed = owner.call("POST", "/v1/me/claim", {"code": code}, status=200)["identity"]
    assert claimed["number"] == agent.number
    account = owner.call("GET", "/v1/me")["account"]
    assert agent.call("GET", "/v1/me")["account"] == account
    assert owner.refused("POST", "/v1/me/claim", {"code": code}) == "not_found"
    assert owner.refused("POST", "/v1/me/claim", {"code": code[:-1] + "x"}) == "not_found"
    assert agent.refused("POST", "/v1/me/claim") == "not_owner"
    assert owner.refused("POST", "/v1/me/claim") == "invalid"
    assert agent.call("GET", "/v1/me/audit")["items"][0]["action"] == "claimed"


def test_one_of_many_claims_wins(cast: Cast) -> None:
    agent = cast.register("agent")
    people = [cast.register("owner", kind="human") for _ in range(5)]
    code = agent.call("POST", "/v1/me/claim")["code"]

    def claim(person: Person) -> int:
        return person.post("/v1/me/claim", json={"code": code}).status_code

    with ThreadPoolExecutor(5) as pool:
        assert sorted(pool.map(claim, people)) == [200, 404, 404, 404, 404]
