"""Suspended: shut out at once on every surface, told why, let in again by an operator or the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from apps.core import times
from apps.core.errors import Code
from apps.core.models import AuditEntry
from apps.identities.actions import mint
from apps.identities.models import Identity
from apps.lifecycle import deletion, suspension
from tests.contacts.world import person, refusal, together
from tests.harness.cast import Cast, Person
from tests.harness.wait import until
from tests.lifecycle.operator import Operator
from tests.live.test_lost import SLACK
from tests.live.world import WITHIN, socket, stream


def _long_poll(alice: Person, bob: Person) -> Callable[[], Any]:
    after = bob.inbox("latest")["next"]
    return lambda: bob.get("/v1/inbox", params={"wait": 25, "after": after})


def _thread(alice: Person, bob: Person) -> Callable[[], Any]:
    thread = alice.ask(bob)
    params = {"wait": 25, "after": thread["generation"]}
    return lambda: bob.get(f"/v1/threads/{thread['id']}", params=params)


WAITS = [_long_poll, _thread]


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_ends_within_a_second(people: Cast, operator: Operator, wait: Any) -> None:
    alice, bob = people.friends
    call = wait(alice, bob)
    tasks = people.service.vitals()["tasks"]
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[Any] = pool.submit(call)
        until(lambda: people.service.vitals()["tasks"] > tasks)
        _suspend(operator, bob)
        start = time.monotonic()
        answer = waiting.result(20)
    assert time.monotonic() - start < WITHIN + SLACK
    assert answer.status_code == 403
    assert answer.json()["error"]["reason"] == "Be kind"


def test_a_blocking_question_ends(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    tasks = people.service.vitals()["tasks"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(alice.send, bob, wait=True)
        until(lambda: people.service.vitals()["tasks"] > tasks)
        until(lambda: any(event["type"] == "thread.opened" for event in bob.inbox()["events"]))
        _suspend(operator, alice)
        start = time.monotonic()
        with pytest.raises(AssertionError, match="SUSPENDED"):
            waiting.result(20)
    assert time.monotonic() - start < WITHIN + SLACK


def test_a_stream_and_a_socket_end(people: Cast, operator: Operator) -> None:
    bob = people.bob
    with stream(bob, after="latest") as live, socket(bob) as line:
        _suspend(operator, bob)
        start = time.monotonic()
        (last,) = live.rest(20)
        code, _ = line.ended(20)
        assert time.monotonic() - start < WITHIN + SLACK
    assert "suspended" in last["data"]
    assert code == "suspended"


def test_others_see_nobody_and_open_threads_stay(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    thread = alice.ask(bob)
    _suspend(operator, bob)
    assert alice.refused("GET", f"/v1/identities/{bob.number}") == "not_found"
    assert alice.refused("POST", "/v1/threads", {"to": bob.number, "text": "?"}) == "not_found"
    assert people.service.http.get(f"/a2a/{bob.number}/.well-known/agent-card.json").status_code == 404
    assert alice.thread(thread["id"])["state"] == "open"
    for method, path in (("GET", "/v1/me/export"), ("DELETE", "/v1/me"), ("POST", "/v1/me/restore")):
        assert bob.refused(method, path) == "suspended"
    operator.act("identities/identity", "lift", [bob.number])
    bob.reply(thread["id"])
    assert alice.thread(thread["id"])["state"] == "answered"


def _suspend(operator: Operator, person: Person) -> None:
    told = operator.act("identities/identity", "suspend", [person.number], reason="Be kind")
    assert told == "Suspended: 1"


# -- the actions --------------------------------------------------------------------------------------------------


def _row(number: int) -> Identity:
    return Identity.objects.get(pk=number)


@pytest.mark.django_db
def test_a_suspension_is_changed_and_lifted() -> None:
    alice = person()
    suspension.suspend(alice.identity, "  Spam ")
    first = _row(alice.identity)
    later = times.now() + timedelta(days=1)
    suspension.suspend(alice.identity, "Less", later)
    row = _row(alice.identity)
    assert (row.suspended_at, row.suspended_until, row.suspended_reason) == (
        first.suspended_at,
        later,
        "Less",
    )
    suspension.lift(alice.identity)
    suspension.lift(alice.identity)
    assert _row(alice.identity).suspended_at is None
    actions = AuditEntry.objects.filter(identity=alice.identity).order_by("at", "pk")
    assert [one.action for one in actions] == ["suspended", "suspended", "suspension.lifted"]


@pytest.mark.django_db
def test_what_makes_no_sense_is_refused() -> None:
    alice = person()
    assert refusal(lambda: suspension.suspend(alice.identity, " ")).field == "reason"
    assert refusal(lambda: suspension.suspend(alice.identity, "x" * 501)).field == "reason"
    assert refusal(lambda: suspension.suspend(alice.identity, "x", times.now())).field == "until"
    assert refusal(lambda: suspension.suspend(1, "x")).code == Code.NOT_FOUND
    assert refusal(lambda: suspension.lift(1)).code == Code.NOT_FOUND
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_clock_lifts_what_is_over_once() -> None:
    over = [person() for _ in range(3)]
    running, endless = person(), person()
    for one in (*over, running):
        suspension.suspend(one.identity, "x", times.now() + timedelta(days=1))
    suspension.suspend(endless.identity, "x")
    Identity.objects.filter(pk__in=[one.identity for one in over]).update(
        suspended_until=times.now() - timedelta(seconds=1)
    )
    together(suspension.lift_due, suspension.lift_due)
    suspension.lift_due()
    kept = Identity.objects.filter(suspended_at__isnull=False).values_list("pk", flat=True)
    assert set(kept) == {running.identity, endless.identity}
    lifted = AuditEntry.objects.filter(action="suspension.lifted")
    assert sorted(one.identity for one in lifted) == sorted(one.identity for one in over)
    assert {one.detail["by"] for one in lifted} == {"clock"}


@pytest.mark.django_db
def test_a_suspended_identity_is_not_restored() -> None:
    alice = person()
    token = _token(alice.identity)
    deletion.delete(alice)
    suspension.suspend(alice.identity, "x")
    assert refusal(lambda: deletion.restore(token, "")).code == Code.SUSPENDED


def _token(number: int) -> str:
    return f"Bearer {mint(_row(number), 'one')}"
