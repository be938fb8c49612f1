"""Removing and blocking end what is open between the two."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from apps.contacts import actions as contacts
from apps.core.actor import Actor
from apps.core.errors import Code
from apps.threads import actions as threads
from apps.threads.models import Thread
from tests.contacts.world import (
    ask,
    befriend,
    block,
    news,
    person,
    refusal,
    remove,
    seen,
    statements,
    states,
    together,
    who,
)

pytestmark = pytest.mark.django_db


def question(asker: Actor, assignee: Actor) -> Any:
    return threads.ask(asker, seen(assignee), parts=[{"text": "How?"}]).thread.id


def standing(thread: Any) -> str:
    return str(Thread.objects.get(id=thread).state)


@pytest.mark.parametrize("end", [remove, block])
def test_what_i_asked_is_canceled_and_what_i_was_asked_is_declined(end: Any) -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    mine, theirs = question(alice, bob), question(bob, alice)
    done = question(alice, bob)
    threads.say(bob, done, parts=[{"text": "So."}])
    end(alice, bob)
    assert [standing(one) for one in (mine, theirs, done)] == ["canceled", "declined", "answered"]
    told = [kind for kind, _ in news(bob)]
    assert told.count("thread.state") == 2
    assert told.count("contact.removed") == 1
    assert (
        refusal(lambda: threads.ask(bob, seen(alice), parts=[{"text": "Why?"}])).code == Code.CONTACT_DECLINED
    )


def test_a_block_ends_what_is_open_with_the_whole_account_and_nothing_else() -> None:
    alice, bob, charlie = person(), person(), person()
    second = person(beside=bob)
    for other in (bob, second, charlie):
        befriend(alice, other)
    with_bob, with_second, with_charlie = (question(alice, other) for other in (bob, second, charlie))
    block(alice, bob)
    assert [standing(one) for one in (with_bob, with_second, with_charlie)] == [
        "canceled",
        "canceled",
        "open",
    ]
    assert states(alice, charlie) == ("friend", "friend")


def test_nothing_ends_when_removing_is_refused() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    remove(bob, alice)
    assert refusal(lambda: remove(alice, bob)).code == Code.CONTACT_DECLINED


def test_a_thread_may_be_opened_again_after_a_new_friendship() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    first = question(alice, bob)
    remove(alice, bob)
    ask(alice, bob)
    contacts.accept(bob, who(alice))
    second = question(alice, bob)
    assert (standing(first), standing(second)) == ("canceled", "open")


def test_a_repeated_question_answers_as_the_first_and_accepts_nothing() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)

    def again() -> threads.Said:
        return threads.ask(alice, seen(bob), parts=[{"text": "How?"}], client_id="once")

    first = again()
    remove(bob, alice)
    ask(bob, alice)
    repeated = again()
    assert (repeated.duplicate, repeated.thread.id) == (True, first.thread.id)
    assert states(alice, bob) == ("incoming", "requested")
    fresh = threads.ask(alice, seen(bob), parts=[{"text": "How?"}], client_id="another")
    assert not fresh.duplicate
    assert states(alice, bob) == ("friend", "friend")
    assert ("contact.accepted", who(alice)) in news(bob)


def test_the_cost_of_a_block_does_not_grow_with_the_account() -> None:
    def cost(size: int) -> int:
        alice, bob = person(), person()
        others = [bob, *(person(beside=bob) for _ in range(size))]
        for other in others:
            befriend(alice, other)
        with statements() as made:
            block(alice, bob)
        return len(made)

    assert cost(1) == cost(5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [remove, block])
@pytest.mark.parametrize("_", range(6))
def test_no_question_outlives_the_friendship_it_raced(end: Any, _: int) -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    together(
        partial(question, bob, alice),
        partial(question, bob, alice),
        partial(end, alice, bob),
        partial(question, bob, alice),
    )
    assert states(alice, bob) == (None, "declined")
    assert set(Thread.objects.values_list("state", flat=True)) <= {"declined"}
