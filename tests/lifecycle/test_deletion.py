"""DELETE /v1/me and POST /v1/me/restore, as the deleted and the others see them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.chats.test_messages import post
from tests.harness.cast import Cast
from tests.harness.service import Service, Starter
from tests.harness.wait import until


def test_a_deleted_identity_is_gone_at_once_for_all_others(cast: Cast) -> None:
    alice, bob = cast.friends
    ada = cast.ada
    alice.befriend(ada)
    said = post(ada, alice.number, "Hello")
    assert ada.call("DELETE", "/v1/me")["deleted_at"]
    for path in (f"/v1/identities/{ada.number}", f"/v1/identities/{ada.handle}"):
        assert alice.refused("GET", path) == "not_found"
    assert cast.service.http.get(f"/a2a/{ada.number}/.well-known/agent-card.json").status_code == 404
    found = cast.service.http.get("/v1/directory", params={"q": ada.handle}).json()["items"]
    assert found == []
    assert alice.contact(ada) is None
    assert alice.contact(bob) == "friend"
    assert alice.refused("POST", "/v1/contacts", {"to": ada.number}) == "not_found"
    assert alice.refused("POST", "/v1/threads", {"to": ada.number, "text": "?"}) == "not_found"
    chat = said["chat"]
    assert alice.refused("POST", f"/v1/chats/{chat}/messages", {"text": "?"}) == "not_found"
    people = alice.call("GET", f"/v1/chats/{chat}")["people"]
    assert [one["number"] for one in people] == [alice.number]
    # What it said was said.
    assert alice.call("GET", f"/v1/chats/{chat}/messages")["items"][-1]["text"] == "Hello"


def test_what_was_open_ends(cast: Cast) -> None:
    alice, bob = cast.friends
    charlie = cast.charlie
    charlie.befriend(bob)
    asked, was_asked = bob.ask(alice), alice.ask(bob)
    done = charlie.ask(bob)
    bob.reply(done["id"])
    bob.call("DELETE", "/v1/me")
    assert alice.thread(asked["id"])["state"] == "canceled"
    assert alice.thread(was_asked["id"])["state"] == "failed"
    assert charlie.thread(done["id"])["state"] == "answered"
    kinds = [event["type"] for event in alice.inbox()["events"]]
    assert kinds.count("thread.state") == 2


def test_a_room_goes_to_who_has_been_there_longest(cast: Cast) -> None:
    alice, bob = cast.friends
    room = alice.call("POST", "/v1/chats", {"topic": "Engines", "visibility": "public"})["chat"]["id"]
    bob.call("POST", f"/v1/chats/{room}/join")
    alice.call("DELETE", "/v1/me")
    shown = bob.call("GET", f"/v1/chats/{room}")
    assert [(one["number"], one["role"]) for one in shown["people"]] == [(bob.number, "owner")]
    assert bob.call("GET", f"/v1/chats/{room}/messages")["items"][-1]["type"] == "room.left"


def test_an_invitation_of_a_deleted_identity_is_not_shown(cast: Cast) -> None:
    alice, bob = cast.friends
    body = {"topic": "Engines", "invite": [bob.number]}
    alice.call("POST", "/v1/chats", {**body, "visibility": "private"})
    (invite,) = bob.call("GET", "/v1/invites")["items"]
    alice.call("DELETE", "/v1/me")
    assert bob.call("GET", "/v1/invites")["items"] == []
    assert bob.refused("POST", f"/v1/invites/{invite['id']}/accept") == "not_found"


def test_its_tokens_are_good_for_restore_alone(cast: Cast) -> None:
    alice = cast.register("alice")
    second = alice.call("POST", "/v1/tokens", {"name": "second", "scopes": ["profile", "messages:read"]})
    narrow = alice.call("POST", "/v1/tokens", {"name": "narrow", "scopes": ["messages:read"]})
    alice.call("DELETE", "/v1/me")
    for method, path in (
        ("GET", "/v1/me"),
        ("DELETE", "/v1/me"),
        ("GET", "/v1/me/export"),
        ("GET", "/v1/inbox"),
    ):
        assert alice.refused(method, path) == "unauthenticated"
    refused = cast.service.http.post("/v1/me/restore", headers={"Authorization": f"Bearer {narrow['token']}"})
    assert refused.json()["error"]["code"] == "insufficient_scope"
    assert cast.service.http.post("/v1/me/restore").status_code == 401
    wrong = {"Authorization": "Bearer rgt_" + "x" * 32}
    assert cast.service.http.post("/v1/me/restore", headers=wrong).status_code == 401
    restored = cast.service.http.post(
        "/v1/me/restore", headers={"Authorization": f"Bearer {second['token']}"}
    )
    assert (restored.status_code, restored.json()["number"]) == (200, alice.number)
    assert alice.call("GET", "/v1/me")["handle"] == alice.handle
    assert alice.refused("POST", "/v1/me/restore") == "not_deleted"


def test_a_restored_identity_is_as_it_was_but_for_what_ended(cast: Cast) -> None:
    alice, bob = cast.friends
    thread = alice.ask(bob)
    before = bob.call("GET", "/v1/me")
    bob.call("DELETE", "/v1/me")
    assert bob.call("POST", "/v1/me/restore") == before
    assert alice.contact(bob) == bob.contact(alice) == "friend"
    assert alice.thread(thread["id"])["state"] == "failed"
    assert alice.ask(bob)["state"] == "open"
    log = [note["action"] for note in bob.call("GET", "/v1/me/audit")["items"]]
    assert log[:2] == ["identity.restored", "identity.deleted"]


def test_deleting_needs_its_scope(cast: Cast) -> None:
    alice = cast.register("alice")
    narrow = alice.call("POST", "/v1/tokens", {"name": "narrow", "scopes": ["messages:read"]})
    refused = cast.service.http.delete("/v1/me", headers={"Authorization": f"Bearer {narrow['token']}"})
    assert (refused.status_code, refused.json()["error"]["scope"]) == (403, "profile")


@pytest.mark.parametrize("path", ["/v1/inbox", "thread"])
def test_a_wait_ends_with_the_deletion(quiet_cast: Cast, path: str) -> None:
    alice, bob = quiet_cast.friends
    if path == "thread":
        thread = alice.ask(bob)
        path = f"/v1/threads/{thread['id']}"
        after = thread["generation"]
    else:
        after = alice.inbox("latest")["next"]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(alice.get, path, params={"wait": 25, "after": after})
        until(lambda: quiet_cast.service.vitals()["tasks"] > 0)
        alice.call("DELETE", "/v1/me")
        assert waiting.result(5).status_code == 401


def test_what_a_kill_left_open_is_ended_by_the_job(fresh_server: Starter) -> None:
    service: Service = fresh_server(RELAYGER_JOB_SECONDS="86400")
    cast = Cast(service)
    alice = cast.register("alice")
    # More than the call itself ends.
    others = [cast.register("bob") for _ in range(53)]
    for other in others:
        other.befriend(alice)
    threads = [(other, other.ask(alice)["id"]) for other in others]
    alice.call("DELETE", "/v1/me")

    def states() -> list[str]:
        return [other.thread(id)["state"] for other, id in threads]

    assert states().count("open") == 3
    service.environ["RELAYGER_JOB_SECONDS"] = "0.2"
    service.jobs = True
    service.restart()
    until(lambda: set(states()) == {"failed"}, 60)
    cast.close()
