"""Who works on a thread."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from apps.core import times
from apps.threads import actions
from apps.threads.queries import Filters, threads
from tests.contacts.world import news, refusal
from tests.threads.world import ask, entries, friends, put, say, standing

pytestmark = pytest.mark.django_db


def test_a_lease_is_one_workers_until_it_lapses() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    first = actions.work(assignee, thread, worker="one", seconds=60)
    assert (first.attempt, first.thread.state, first.thread.lease_owner) == (1, "working", "one")
    assert first.until is not None
    assert first.until == standing(thread).lease_until
    for worker in ("two", "one"):
        error = refusal(partial(actions.work, assignee, thread, worker=worker))
        assert (error.code, error.extra["until"]) == ("leased", times.show(first.until))

    put(thread, lease_until=times.now() - timedelta(seconds=1))
    second = actions.work(assignee, thread, worker="two", seconds=60)
    assert (second.attempt, second.thread.lease_owner) == (2, "two")
    assert standing(thread).state == "working"


def test_the_holder_renews_with_its_attempt() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    actions.work(assignee, thread, worker="one", seconds=1)
    told, made = news(asker), len(entries(thread))
    renewed = actions.work(assignee, thread, worker="one", seconds=3600, attempt=1)
    assert renewed.attempt == 1
    assert renewed.until is not None
    assert renewed.until > times.now() + timedelta(seconds=3000)
    assert (news(asker), len(entries(thread))) == (told, made)
    for worker, attempt in (("two", 1), ("one", 2), ("one", 7)):
        error = refusal(partial(actions.work, assignee, thread, worker=worker, attempt=attempt))
        assert error.code == "lease_lost"


def test_a_lapsed_lease_that_nobody_took_is_still_its_holders() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    actions.work(assignee, thread, worker="one")
    put(thread, lease_until=times.now() - timedelta(seconds=1))
    assert actions.work(assignee, thread, worker="one", attempt=1).attempt == 1
    put(thread, lease_until=times.now() - timedelta(seconds=1))
    assert say(assignee, thread, attempt=1).thread.state == "answered"


def test_who_lost_the_lease_cannot_answer() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    actions.work(assignee, thread, worker="one")
    put(thread, lease_until=times.now() - timedelta(seconds=1))
    actions.work(assignee, thread, worker="two")
    assert refusal(lambda: say(assignee, thread, attempt=1)).code == "lease_lost"
    assert refusal(lambda: actions.work(assignee, thread, attempt=1)).code == "lease_lost"
    assert standing(thread).state == "working"
    assert say(assignee, thread, attempt=2).thread.state == "answered"


def test_no_attempt_means_no_question() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    actions.work(assignee, thread, worker="one")
    said = say(assignee, thread)
    assert (said.thread.state, said.thread.lease_until, said.thread.attempt) == ("answered", None, 1)


@pytest.mark.parametrize("state", ["input_required", "auth_required"])
def test_what_waits_for_the_asker_is_leased_to_nobody(state: str) -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    actions.work(assignee, thread, worker="one")
    say(assignee, thread, state=state, attempt=1)
    assert standing(thread).lease_until is None
    say(asker, thread)
    assert actions.work(assignee, thread, worker="two").attempt == 2


def test_a_partial_reply_keeps_the_lease() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    until = actions.work(assignee, thread, worker="one").until
    say(assignee, thread, state="working", attempt=1)
    say(asker, thread)
    assert standing(thread).lease_until == until


def test_claimable_is_what_may_be_taken() -> None:
    asker, assignee = friends()

    def claimable() -> list[object]:
        return [row.id for row in threads(assignee, Filters(claimable=True), 50, None).items]

    fresh, leased, lapsed, waiting, done = (ask(asker, assignee).id for _ in range(5))
    for thread in (leased, lapsed):
        actions.work(assignee, thread, worker="one")
    put(lapsed, lease_until=times.now() - timedelta(seconds=1))
    say(assignee, waiting, state="input_required")
    say(assignee, done)
    assert sorted(map(str, claimable())) == sorted(map(str, (fresh, lapsed)))
    assert threads(asker, Filters(claimable=True), 50, None).items == []
