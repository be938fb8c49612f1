"""Random acts on one thread, beside a model of its rules that knows nothing of the database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from apps.core import times
from apps.core.errors import DomainError
from apps.threads import actions
from apps.threads.actions import SETTABLE
from tests.contacts.world import news
from tests.threads.world import FINAL, ask, entries, friends, put, say, standing

NEEDS = ("input_required", "auth_required")
attempts = st.one_of(st.none(), st.integers(1, 4))


class OneThread(RuleBasedStateMachine):
    """An asker, an assignee with two workers, and the thread between them."""

    def __init__(self) -> None:
        super().__init__()
        self._undo = transaction.atomic()
        self._undo.__enter__()
        self.asker, self.assignee = friends()
        self.thread = ask(self.asker, self.assignee).id
        self.state = "open"
        self.attempt = 0
        self.holder: str | None = None  # of the newest attempt
        self.runs = False  # whether its lease does
        self.entries = 1
        self.told = {self.asker.identity: 0, self.assignee.identity: 1}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self._undo.__exit__(None, None, None)

    def does(self, act: Any, *given: Any, **fields: Any) -> str | None:
        try:
            with transaction.atomic():
                act(*given, **fields)
        except DomainError as error:
            return error.code.value
        return None

    def set(self, state: str) -> None:
        self.state = state
        if state != "working":
            self.holder, self.runs = None, False

    def added(self, to: Any) -> None:
        self.entries += 1
        for actor in to:
            self.told[actor.identity] += 1

    @rule(state=st.one_of(st.none(), st.sampled_from(sorted(SETTABLE))), attempt=attempts)
    def assignee_says(self, state: str | None, attempt: int | None) -> None:
        got = self.does(say, self.assignee, self.thread, state=state, attempt=attempt)
        if self.state in FINAL:
            assert got == "thread_closed"
        elif attempt not in (None, self.attempt):
            assert got == "lease_lost"
        else:
            assert got is None
            self.set(state or "answered")
            self.added([self.asker])

    @rule(state=st.one_of(st.none(), st.just("answered")))
    def asker_says(self, state: str | None) -> None:
        got = self.does(say, self.asker, self.thread, state=state)
        if self.state in FINAL:
            assert got == "thread_closed"
        elif state is not None:
            assert got == "not_assignee"
        else:
            assert got is None
            if self.state in NEEDS:
                self.set("working")
            self.added([self.assignee])

    @rule(worker=st.sampled_from([None, "one", "two"]), attempt=attempts)
    def works(self, worker: str | None, attempt: int | None) -> None:
        got = self.does(actions.work, self.assignee, self.thread, worker=worker, attempt=attempt)
        lost = attempt not in (None, self.attempt) or (
            worker is not None and attempt is not None and worker != self.holder
        )
        if self.state in FINAL:
            assert got == "thread_closed"
        elif lost:
            assert got == "lease_lost"
        elif worker is not None and attempt is None and self.runs:
            assert got == "leased"
        else:
            assert got is None
            if self.state != "working":
                self.added([self.asker])
            self.state = "working"
            if worker is not None:
                self.attempt += attempt is None
                self.holder, self.runs = worker, True

    @rule()
    def lease_lapses(self) -> None:
        if self.runs:
            put(self.thread, lease_until=times.now() - timedelta(seconds=1))
            self.runs = False

    @rule(who=st.sampled_from(["asker", "assignee"]))
    def cancels(self, who: str) -> None:
        got = self.does(actions.cancel, getattr(self, who), self.thread)
        if who == "assignee":
            assert got == "not_asker"
        elif self.state in FINAL:
            assert got == "thread_closed"
        else:
            assert got is None
            self.set("canceled")
            self.added([self.assignee])

    @rule(due=st.booleans())
    def time_passes(self, due: bool) -> None:
        before = standing(self.thread).expires_at
        if due:
            put(self.thread, expires_at=times.now() - timedelta(seconds=1))
        actions.expire_due()
        if due and self.state not in FINAL:
            self.set("expired")
            self.added([self.asker, self.assignee])
        elif due:
            put(self.thread, expires_at=before)

    @invariant()
    def stands_as_the_model_says(self) -> None:
        row = standing(self.thread)
        runs = row.lease_until is not None and row.lease_until > times.now()
        assert (row.state, row.attempt, row.lease_owner or None, runs) == (
            self.state,
            self.attempt,
            self.holder,
            self.runs,
        )

    @invariant()
    def its_entries_tell_its_story(self) -> None:
        made = entries(self.thread)
        assert [one.cursor for one in made] == list(range(1, self.entries + 1))
        assert standing(self.thread).generation == self.entries

    @invariant()
    def each_was_told_what_the_other_did(self) -> None:
        for actor in (self.asker, self.assignee):
            assert len(news(actor)) == self.told[actor.identity]


@pytest.mark.django_db
def test_any_order_of_acts() -> None:
    run_state_machine_as_test(
        OneThread,
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
