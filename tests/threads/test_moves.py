"""Every act on a thread in every state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from apps.core.actor import Actor
from apps.threads import actions
from apps.threads.actions import MAX_BYTES, MAX_MESSAGES, SETTABLE
from tests.contacts.world import befriend, news, person, refusal
from tests.threads.world import (
    ALL_STATES,
    FINAL,
    LIVE,
    ask,
    entries,
    friends,
    in_state,
    overdue,
    put,
    say,
    standing,
)

pytestmark = pytest.mark.django_db

Act = Callable[[Actor, UUID], Any]


def writes(**fields: Any) -> Act:
    return lambda actor, thread: say(actor, thread, **fields)


def works(actor: Actor, thread: UUID) -> Any:
    return actions.work(actor, thread)


def cancels(actor: Actor, thread: UUID) -> Any:
    return actions.cancel(actor, thread)


ACTS: list[Act] = [writes(), *(writes(state=state) for state in sorted(SETTABLE)), works]


@pytest.mark.parametrize("state", LIVE)
@pytest.mark.parametrize("wanted", [None, *sorted(SETTABLE)])
def test_the_assignee_sets_any_state_from_any_that_is_not_final(state: str, wanted: str | None) -> None:
    asker, assignee = friends()
    thread = in_state(asker, assignee, state)
    said = say(assignee, thread, state=wanted)
    now = wanted or "answered"
    assert standing(thread).state == said.thread.state == now
    assert said.entry.state == (None if now == state == "working" else now)
    assert news(asker)[-1] == ("thread.message", said.entry.id.hex)
    assert standing(thread).generation == said.entry.cursor


@pytest.mark.parametrize("state", LIVE)
def test_work_without_a_message(state: str) -> None:
    asker, assignee = friends()
    thread = in_state(asker, assignee, state)
    before = entries(thread)
    leased = actions.work(assignee, thread)
    assert (leased.thread.state, leased.attempt, leased.until) == ("working", None, None)
    made = entries(thread)[len(before) :]
    assert [one.type for one in made] == ([] if state == "working" else ["thread.state"])
    assert [kind for kind, _ in news(asker)] == ([] if state == "working" else ["thread.state"])


@pytest.mark.parametrize("state", LIVE)
def test_the_askers_message_answers_a_need_and_else_changes_no_state(state: str) -> None:
    asker, assignee = friends()
    thread = in_state(asker, assignee, state)
    said = say(asker, thread, "More.")
    needed = state in ("input_required", "auth_required")
    assert standing(thread).state == ("working" if needed else state)
    assert said.entry.state == ("working" if needed else None)
    assert news(assignee)[-1] == ("thread.message", said.entry.id.hex)
    assert news(asker) == []


@pytest.mark.parametrize("state", LIVE)
def test_the_asker_cancels(state: str) -> None:
    asker, assignee = friends()
    thread = in_state(asker, assignee, state)
    assert actions.cancel(asker, thread).state == standing(thread).state == "canceled"
    assert news(assignee)[-1][0] == "thread.state"
    assert news(asker) == []


@pytest.mark.parametrize("state", FINAL)
def test_a_final_state_never_changes(state: str) -> None:
    asker, assignee = friends()
    thread = in_state(asker, assignee, state)
    overdue(thread)
    before, told = standing(thread), (news(asker), news(assignee))
    for actor, act in [*((assignee, act) for act in ACTS), (asker, writes()), (asker, cancels)]:
        assert refusal(partial(act, actor, thread)).code == "thread_closed"
    actions.expire_due()
    assert standing(thread) == before
    assert (news(asker), news(assignee)) == told
    assert len(entries(thread)) == 1


@pytest.mark.parametrize("state", ALL_STATES)
def test_what_a_side_may_never_do(state: str) -> None:
    asker, assignee = friends()
    thread = in_state(asker, assignee, state)
    assert refusal(lambda: actions.cancel(assignee, thread)).code == "not_asker"
    assert refusal(lambda: actions.work(asker, thread)).code == "not_assignee"
    if state in LIVE:
        for fields in ({"state": "answered"}, {"attempt": 1}, {"last": True}, {"of": thread}):
            assert refusal(partial(say, asker, thread, **fields)).code == "not_assignee"
        for wanted in ("open", "canceled", "expired", "nonsense"):
            error = refusal(partial(say, assignee, thread, state=wanted))
            assert (error.code, error.field) == ("invalid", "state")
    assert standing(thread).state == state


@pytest.mark.parametrize("state", ALL_STATES)
def test_a_stranger_sees_no_thread_in_any_state(state: str) -> None:
    asker, assignee = friends()
    stranger = person()
    thread = in_state(asker, assignee, state)
    acts: list[Act] = [writes(), works, cancels]
    for act in acts:
        assert refusal(partial(act, stranger, thread)).code == "not_found"


@pytest.mark.parametrize("state", ALL_STATES)
def test_time_passes(state: str) -> None:
    asker, assignee = friends()
    thread, other = in_state(asker, assignee, state), in_state(asker, assignee, state)
    overdue(thread)
    actions.expire_due()
    actions.expire_due()
    assert standing(thread).state == ("expired" if state in LIVE else state)
    assert standing(other).state == state
    told = [("thread.state", entries(thread)[-1].id.hex)] if state in LIVE else []
    assert news(asker) == told
    assert news(assignee)[2:] == told


def test_each_entry_gives_a_thread_its_time_again() -> None:
    asker, assignee = friends()
    for act in (
        lambda thread: say(asker, thread),
        lambda thread: say(assignee, thread, state="working"),
        lambda thread: actions.work(assignee, thread),
    ):
        thread = ask(asker, assignee).id
        overdue(thread)
        act(thread)
        assert actions.expire_due() == 0
        assert standing(thread).state in LIVE


def test_a_full_thread_takes_no_message_but_ends() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    put(thread, messages=MAX_MESSAGES - 1)
    assert say(asker, thread).thread.messages == MAX_MESSAGES
    assert refusal(lambda: say(asker, thread)).code == "thread_full"
    assert refusal(lambda: say(assignee, thread, state="working")).code == "thread_full"
    assert actions.work(assignee, thread).thread.state == "working"
    assert say(assignee, thread).thread.state == "answered"
    assert actions.cancel(asker, full(asker, assignee)).state == "canceled"


def full(asker: Actor, assignee: Actor) -> UUID:
    thread = ask(asker, assignee).id
    put(thread, messages=MAX_MESSAGES)
    return thread


def test_a_thread_has_room_for_so_many_bytes() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee)
    assert thread.size == len(b'[{"text":"How?"}]')
    put(thread.id, size=MAX_BYTES - 20)
    assert say(asker, thread.id, "x").thread.size == MAX_BYTES - 20 + len(b'[{"text":"x"}]')
    assert refusal(lambda: say(asker, thread.id, "x")).code == "thread_full"
    assert say(assignee, thread.id, "The end.").thread.state == "answered"


def test_a_growing_reply() -> None:
    asker, assignee = friends()
    thread, other = ask(asker, assignee).id, ask(asker, assignee)
    first = say(assignee, thread, "Once", state="working").entry
    more = say(assignee, thread, "upon", state="working", of=first.id, last=False).entry
    last = say(assignee, thread, "a time.", of=first.id, last=True)
    assert (more.of, more.last, last.entry.of, last.entry.last) == (first.id, False, first.id, True)
    assert last.thread.state == "answered"
    foreign = entries(other.id)[0].id
    for wrong in (more.id, foreign, other.id):
        error = refusal(partial(say, assignee, other.id, of=wrong))
        assert (error.code, error.field) == ("invalid", "of")


def test_a_context_is_kept_as_given_or_made() -> None:
    asker, assignee = friends()
    assert ask(asker, assignee, context=" Tea & más ").context == " Tea & más "
    assert ask(asker, assignee, context="x" * 128).context == "x" * 128
    made = {ask(asker, assignee).context for _ in range(3)}
    assert len(made) == 3
    for wrong in ("", "x" * 129):
        assert refusal(partial(ask, asker, assignee, context=wrong)).field == "context"


def test_hops_count_up_to_their_limit(settings: Any) -> None:
    people = [person() for _ in range(2)]
    befriend(*people)
    above = None
    for hop in range(settings.RELAYGER.max_hops + 1):
        asker, assignee = people[hop % 2], people[(hop + 1) % 2]
        thread = ask(asker, assignee, parent=above)
        assert (thread.hops, thread.parent) == (hop, above)
        above = thread.id
    error = refusal(lambda: ask(assignee, asker, parent=above))
    assert (error.code, error.field) == ("loop_guard", "parent")


def test_a_parent_is_a_thread_assigned_to_me() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    stranger = person()
    befriend(stranger, assignee)
    for actor in (asker, stranger):
        error = refusal(partial(ask, actor, assignee, parent=thread))
        assert (error.code, error.field) == ("invalid", "parent")
    assert ask(assignee, asker, parent=thread).hops == 1


def test_nobody_asks_oneself() -> None:
    asker, _ = friends()
    error = refusal(lambda: ask(asker, asker))
    assert (error.code, error.field) == ("invalid", "to")
