"""What a receiver gets."""

from __future__ import annotations

import pytest
from standardwebhooks import WebhookVerificationError

from tests.harness.cast import Cast
from tests.webhooks.receiver import Receiver
from tests.webhooks.world import deliveries, make, settled, tell


def test_a_ping_tells_that_there_is_news_and_nothing_else(people: Cast, receiver: Receiver) -> None:
    alice, bob = people.friends
    hook = make(bob, f"{receiver.url}?token=1")
    (seq,) = tell(bob, alice)
    (ping,) = receiver.wait(1)
    assert ping.path == "/hook?token=1"
    assert ping.json == {"type": "inbox", "number": bob.number, "seq": seq}
    assert ping.verify(hook["secret"]) == ping.json
    assert ping.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert ping.headers["content-type"] == "application/json"
    assert "authorization" not in ping.headers
    with pytest.raises(WebhookVerificationError):
        ping.verify("whsec_" + "A" * 43 + "=")
    (delivery,) = settled(bob, hook, 1)
    assert delivery["id"] == ping.id
    assert (delivery["seq"], delivery["state"], delivery["attempts"], delivery["status"]) == (
        seq,
        "delivered",
        1,
        204,
    )
    assert bob.inbox(seq - 1)["events"][0]["seq"] == seq
    assert alice.call("GET", "/v1/webhooks")["items"] == []


def test_a_ping_comes_at_once(people: Cast, receiver: Receiver) -> None:
    alice, bob = people.friends
    make(bob, receiver.url)
    tell(bob, alice)
    receiver.wait(1, 2)


def test_pings_come_in_order_to_each_webhook(people: Cast, receiver: Receiver) -> None:
    alice, bob = people.friends
    one, two = make(bob, f"{receiver.url}/1"), make(bob, f"{receiver.url}/2")
    seqs = tell(bob, alice, 15)
    receiver.wait(30)
    for hook, path in ((one, "/hook/1"), (two, "/hook/2")):
        pings = [ping for ping in receiver.pings if ping.path == path]
        assert [ping.seq for ping in pings] == seqs
        assert [one["seq"] for one in settled(bob, hook, 15)] == seqs
        assert all(ping.verify(hook["secret"]) for ping in pings)
    assert len({ping.id for ping in receiver.pings}) == 30


def test_own_acts_and_what_is_refused_ping_nobody(people: Cast, receiver: Receiver) -> None:
    alice, bob = people.friends
    hook = make(bob, receiver.url)
    bob.ask(alice)
    bob.refused("POST", "/v1/threads", {"to": alice.number})
    bob.call("POST", f"/v1/webhooks/{hook['id']}/test")
    receiver.wait(1)
    assert [one["type"] for one in deliveries(bob, hook)] == ["test"]


def test_a_test_ping_says_so(people: Cast, receiver: Receiver) -> None:
    bob = people.bob
    hook = make(bob, receiver.url)
    queued = bob.call("POST", f"/v1/webhooks/{hook['id']}/test", status=201)
    assert (queued["type"], queued["state"]) == ("test", "pending")
    (ping,) = receiver.wait(1)
    assert ping.verify(hook["secret"]) == {"type": "test", "number": bob.number, "seq": queued["seq"]}
    assert ping.id == queued["id"]
