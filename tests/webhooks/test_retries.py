"""Pings that are not taken: tried again, with the same id and in the same order, until the webhook is disabled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from tests.harness.cast import Cast, Person
from tests.harness.service import Service, Starter
from tests.harness.wait import until
from tests.webhooks.conftest import LOCAL, sending
from tests.webhooks.receiver import DROP, HANG, HUGE, Receiver, receiving
from tests.webhooks.world import deliveries, make, settled, state, tell

# A window so short that the second failure, some seconds later, is the last.
SHORT = str(0.5 / 86400)


@pytest.fixture(scope="module")
def impatient(_start: Starter) -> Service:
    """A service that disables a webhook when it has failed for half a second."""
    return sending(_start(jobs=True, **LOCAL, RELAYGER_WEBHOOK_DAYS=SHORT))


@pytest.fixture
def losers(impatient: Service) -> Iterator[Cast]:
    cast = Cast(impatient)
    yield cast
    cast.close()


def disabled_events(person: Person) -> list[dict[str, object]]:
    events = person.call("GET", "/v1/inbox", after=0, types="webhook.disabled")["events"]
    return [event["object"] for event in events]


@pytest.mark.parametrize("failure", [HANG, DROP, 500, 503, 408, 429, 400, 404, 301])
def test_what_is_not_taken_is_sent_again(people: Cast, failure: int) -> None:
    alice, bob = people.friends
    with receiving(lambda before: failure if before < 1 else 200) as receiver:
        hook = make(bob, receiver.url)
        seqs = tell(bob, alice, 2)
        first, second, third = receiver.wait(3)
        assert [first.seq, second.seq, third.seq] == [seqs[0], *seqs]
        assert first.id == second.id != third.id
        assert second.at - first.at > 1
        assert first.verify(hook["secret"]) == second.verify(hook["secret"])
        again, at_once = settled(bob, hook, 2)
    assert (again["attempts"], again["state"], again["status"], again["error"]) == (2, "delivered", 200, None)
    assert (at_once["attempts"], at_once["state"]) == (1, "delivered")
    assert bob.call("GET", f"/v1/webhooks/{hook['id']}")["failing_since"] is None


def test_a_failure_is_shown(people: Cast) -> None:
    alice, bob = people.friends
    with receiving(lambda _: 500) as receiver:
        hook = make(bob, receiver.url)
        silent = make(bob, "http://127.0.0.1:1/")
        tell(bob, alice)
        until(lambda: deliveries(bob, hook)[0]["status"])
        assert deliveries(bob, hook)[0]["state"] == "pending"
        assert deliveries(bob, hook)[0]["status"] == 500
        until(lambda: deliveries(bob, silent)[0]["error"])
        assert deliveries(bob, silent)[0]["error"] == "There was no connection."
        assert bob.call("GET", f"/v1/webhooks/{hook['id']}")["failing_since"] is not None


@pytest.mark.parametrize("spelled", ["seconds", "date"])
def test_a_receiver_says_when_it_wants_the_next_try(people: Cast, spelled: str) -> None:
    bob = people.bob

    def answer(before: int) -> int | tuple[int, dict[str, str]]:
        wanted = "5" if spelled == "seconds" else formatdate(time.time() + 6, usegmt=True)
        return (429, {"Retry-After": wanted}) if before == 0 else 200

    with receiving(answer) as receiver:
        hook = make(bob, receiver.url)
        bob.call("POST", f"/v1/webhooks/{hook['id']}/test")
        first, second = receiver.wait(2, 15)
        # Without the header it would be 2.5 seconds at most.
        assert second.at - first.at > 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(people: Cast, receiver: Receiver, status: int) -> None:
    bob = people.bob
    with receiving(
        lambda before: (status, {"Location": receiver.url}) if before == 0 else 200
    ) as redirecting:
        hook = make(bob, redirecting.url)
        bob.call("POST", f"/v1/webhooks/{hook['id']}/test")
        redirecting.wait(2)
    assert receiver.pings == []


def test_an_answer_without_end_is_not_read(people: Cast) -> None:
    bob = people.bob
    with receiving(lambda _: HUGE) as receiver:
        hook = make(bob, receiver.url)
        bob.call("POST", f"/v1/webhooks/{hook['id']}/test")
        (delivery,) = settled(bob, hook, 1)
        assert (delivery["state"], delivery["status"]) == ("delivered", 200)
        assert receiver.sent < 16 << 20
        assert len(receiver.pings) == 1


def test_410_disables_at_once(people: Cast) -> None:
    alice, bob = people.friends
    with receiving(lambda _: 410) as receiver:
        hook = make(bob, receiver.url, name="gone")
        tell(bob, alice, 3)
        until(lambda: state(bob, hook) == "disabled")
        shown = bob.call("GET", f"/v1/webhooks/{hook['id']}")
        assert "410" in shown["reason"]
        assert {one["state"] for one in settled(bob, hook, 1)} == {"dropped"}
        tell(bob, alice, 2)
        assert len(receiver.pings) == 1
    assert disabled_events(bob) == [
        {"id": hook["id"], "name": "gone", "state": "disabled", "reason": shown["reason"]}
    ]
    assert bob.call("GET", "/v1/me/audit")["items"][0]["action"] == "webhook.disabled"
    assert bob.refused("POST", f"/v1/webhooks/{hook['id']}/test") == "webhook_disabled"
    assert bob.refused("POST", f"/v1/webhooks/{hook['id']}/replay", {}) == "webhook_disabled"


def test_after_the_time_for_tries_a_webhook_is_disabled_and_others_are_told(
    losers: Cast, receiver: Receiver
) -> None:
    alice, bob = losers.friends
    with receiving(lambda _: 500) as failing:
        hook, good = make(bob, failing.url), make(bob, receiver.url)
        seqs = tell(bob, alice, 2)
        until(lambda: state(bob, hook) == "disabled", 20)
        assert {ping.seq for ping in failing.pings} == {seqs[0]}
        assert len(failing.pings) == 2
    (event,) = disabled_events(bob)
    assert event["id"] == hook["id"]
    assert "failed" in str(event["reason"])
    # The other webhook hears of the event as of any other.
    head = bob.call("GET", "/v1/inbox", after=0)["next"]
    assert [ping.seq for ping in receiver.wait(head - seqs[0] + 1)] == list(range(seqs[0], head + 1))
    assert state(bob, good) == "active"
    assert {one["state"] for one in deliveries(bob, hook)} == {"dropped"}


def test_a_disabled_webhook_is_enabled_again_and_replays_what_it_missed(people: Cast) -> None:
    alice, bob = people.friends
    with receiving(lambda before: 410 if before == 0 else 200) as receiver:
        hook = make(bob, receiver.url)
        (known,) = tell(bob, alice)
        until(lambda: state(bob, hook) == "disabled")
        missed = [known + 1, *tell(bob, alice, 2)]  # the event of its end, and what came after it
        path = f"/v1/webhooks/{hook['id']}"
        enabled = bob.call("PATCH", path, {"state": "active"})
        assert (enabled["state"], enabled["reason"]) == ("active", None)
        replayed = bob.call("POST", f"{path}/replay", {"after": known}, status=201)
        assert replayed == {"queued": 3, "next": None}
        receiver.wait(4)
        (later,) = tell(bob, alice)
        receiver.wait(5)
        assert [ping.seq for ping in receiver.pings] == [known, *missed, later]
        assert all(ping.verify(hook["secret"]) for ping in receiver.pings[1:])


def test_a_replay_begins_at_a_time(people: Cast, receiver: Receiver) -> None:
    alice, bob = people.friends
    tell(bob, alice, 2)
    hook = make(bob, receiver.url)
    since = bob.call("GET", f"/v1/webhooks/{hook['id']}")["created_at"]
    seqs = tell(bob, alice, 2)
    receiver.wait(2)
    assert bob.call("POST", f"/v1/webhooks/{hook['id']}/replay", {"since": since})["queued"] == 2
    assert [ping.seq for ping in receiver.wait(4)] == seqs * 2
    assert bob.call("POST", f"/v1/webhooks/{hook['id']}/replay")["queued"] >= 4
    assert len({ping.id for ping in receiver.pings}) == len(receiver.pings)


def test_what_waits_goes_to_a_changed_address_at_once(people: Cast, receiver: Receiver) -> None:
    alice, bob = people.friends
    hook = make(bob, "http://127.0.0.1:1/")
    (seq,) = tell(bob, alice)
    until(lambda: deliveries(bob, hook)[0]["error"])
    bob.call("PATCH", f"/v1/webhooks/{hook['id']}", {"url": receiver.url})
    assert receiver.wait(1)[0].seq == seq


def test_a_deleted_webhook_gets_nothing_more(people: Cast) -> None:
    alice, bob = people.friends
    with receiving(lambda _: HANG) as receiver:
        hook = make(bob, receiver.url)
        tell(bob, alice, 3)
        receiver.wait(1)
        bob.call("DELETE", f"/v1/webhooks/{hook['id']}", status=204)
        other = make(bob, f"{receiver.url}/2")
        bob.call("POST", f"/v1/webhooks/{other['id']}/test")
        until(lambda: deliveries(bob, other)[0]["error"])
        assert [ping.path for ping in receiver.pings if ping.path == "/hook"] == ["/hook"]


def test_targets_that_hang_hold_up_neither_others_nor_the_service(
    fresh_server: Starter, receiver: Receiver
) -> None:
    service = sending(
        fresh_server(jobs=True, **{**LOCAL, "RELAYGER_WEBHOOK_SECONDS": "5"}, RELAYGER_DB_THREADS="1")
    )
    alice, bob = Cast(service).friends
    with receiving(lambda _: HANG) as hanging:
        for number in range(9):
            make(bob, f"{hanging.url}/{number}")
        make(bob, receiver.url)
        began = time.monotonic()
        tell(bob, alice)
        hanging.wait(9)
        receiver.wait(1)
        tell(bob, alice)
        receiver.wait(2)
        assert bob.inbox(0)["events"]
        assert time.monotonic() - began < 4
        assert service.vitals()["connections"] <= 12
