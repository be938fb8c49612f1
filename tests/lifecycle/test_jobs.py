"""What the clock does: each job, run twice, and by two at once."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session

from apps.core import db, ids, times
from apps.core.actor import Actor
from apps.core.errors import Code
from apps.core.models import AuditEntry, IdempotencyKey
from apps.identities.models import Handle
from apps.inbox import queries
from apps.inbox.actions import Event, publish
from apps.inbox.models import InboxEvent, InboxHead
from apps.inbox.sql import Head
from apps.lifecycle import jobs, sql
from apps.lifecycle.jobs import SCHEDULE
from tests.contacts.world import person, statements, together


def fill(actor: Actor, events: int, days_old: float = 0) -> None:
    before = InboxEvent.objects.filter(identity=actor.identity).count()
    with db.write():
        publish([Event(actor.identity, "contact.requested", "1")] * events)
    InboxEvent.objects.filter(identity=actor.identity, seq__gt=before).update(
        created_at=times.now() - timedelta(days=days_old)
    )


def kept(actor: Actor) -> list[int]:
    found = InboxEvent.objects.filter(identity=actor.identity).order_by("seq")
    return list(found.values_list("seq", flat=True))


def head(actor: Actor) -> tuple[int, int]:
    row = InboxHead.objects.get(identity=actor.identity)
    return row.seq, row.floor


@pytest.mark.django_db
def test_old_events_go_and_the_floor_says_so() -> None:
    alice, bob = person(), person()
    fill(alice, 3, days_old=31)
    fill(bob, 2, days_old=29)
    with db.write():
        publish([Event(alice.identity, "contact.requested", "1")] * 2)
    jobs.drop_old_events()
    assert (kept(alice), head(alice)) == ([4, 5], (5, 3))
    assert (kept(bob), head(bob)) == ([1, 2], (2, 0))
    jobs.drop_old_events()
    assert (kept(alice), head(alice)) == ([4, 5], (5, 3))


@pytest.mark.django_db
def test_an_inbox_keeps_its_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "inbox_events", 4)
    alice = person()
    fill(alice, 10)
    jobs.drop_old_events()
    assert (kept(alice), head(alice)) == ([7, 8, 9, 10], (10, 6))


@pytest.mark.django_db
def test_long_inboxes_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "BATCH", 3)
    alice = person()
    fill(alice, 10, days_old=31)
    assert sql.drop_events(alice.identity, times.now() - timedelta(days=30), 100, 3) == 3
    assert head(alice) == (10, 3)
    jobs.drop_old_events()
    assert (kept(alice), head(alice)) == ([], (10, 10))


@pytest.mark.django_db
def test_a_run_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "BATCH", 1)
    monkeypatch.setattr(jobs, "MOST_BATCHES", 2)
    alice, bob = person(), person()
    fill(alice, 5, days_old=31)
    fill(bob, 5, days_old=31)
    jobs.drop_old_events()
    assert len(kept(alice)) + len(kept(bob)) == 8


@pytest.mark.django_db
def test_a_reader_below_the_floor_is_told_so() -> None:
    alice = person()
    fill(alice, 3, days_old=31)
    jobs.drop_old_events()
    # The rule for readers is the inbox's own; here, that it finds what this job wrote.
    with pytest.raises(Exception, match="no longer kept") as refused:
        queries._check(1, Head(*head(alice)))
    assert refused.value.code == Code.CURSOR_EXPIRED  # type: ignore[attr-defined]
    assert refused.value.extra == {"oldest": 3}  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_keys_are_forgotten_after_a_week(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "BATCH", 2)
    alice = person()
    for age in (0, 6, 8, 9, 10):
        IdempotencyKey.objects.create(
            identity=alice.identity,
            action="ask",
            key=f"k{age}",
            content_hash=b"x" * 32,
            subject=ids.new().hex,
            created_at=times.now() - timedelta(days=age),
        )
    jobs.forget_idempotency_keys()
    jobs.forget_idempotency_keys()
    assert set(IdempotencyKey.objects.values_list("key", flat=True)) == {"k0", "k6"}


@pytest.mark.django_db
def test_held_handles_come_free_when_their_time_has_passed() -> None:
    alice = person()
    hour = timedelta(hours=1)
    for handle, until in (
        ("in-use", None),
        ("held", times.now() + hour),
        ("free", times.now() - hour),
    ):
        Handle.objects.create(handle=handle, identity_id=alice.identity, held_until=until)
    jobs.free_held_handles()
    jobs.free_held_handles()
    left = set(Handle.objects.filter(identity=alice.identity).values_list("handle", flat=True))
    assert {"in-use", "held"} <= left
    assert "free" not in left


@pytest.mark.django_db(transaction=True)
def test_two_processes_at_once() -> None:
    people = [person() for _ in range(4)]
    for actor in people:
        fill(actor, 50, days_old=31)
    together(*[jobs.drop_old_events] * 3, *[partial(fill, people[0], 5)] * 2)
    jobs.drop_old_events()
    for actor in people[1:]:
        assert (kept(actor), head(actor)) == ([], (50, 50))
    assert (kept(people[0]), head(people[0])) == (list(range(51, 61)), (60, 50))


@pytest.mark.django_db
def test_every_job_runs_without_anything_to_do() -> None:
    assert {job.name for job in SCHEDULE} == {
        "expire_threads",
        "end_what_is_open",
        "purge_deleted",
        "lift_due",
        "flush_presence",
        "drop_due",
        "drop_old_events",
        "forget_idempotency_keys",
        "free_held_handles",
        "send_due",
        "forget_deliveries",
        "forget_sessions",
        "forget_audit",
    }
    with statements() as made:
        for job in SCHEDULE:
            assert job.every > 0
            job.run()
    assert len(made) <= 2 * len(SCHEDULE) + 1  # each also notes that it ran


@pytest.mark.django_db
def test_old_audit_entries_go() -> None:
    alice = person()
    for days in (0, 364, 366):
        AuditEntry.objects.create(
            identity=alice.identity, action=str(days), at=times.now() - timedelta(days=days)
        )
    jobs.forget_audit()
    jobs.forget_audit()
    assert sorted(AuditEntry.objects.values_list("action", flat=True)) == ["0", "364"]


@pytest.mark.django_db
def test_sessions_that_are_over_go() -> None:
    for key, hours in (("over", -1), ("running", 1)):
        Session.objects.create(
            session_key=key, session_data="", expire_date=times.now() + timedelta(hours=hours)
        )
    jobs.forget_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["running"]
