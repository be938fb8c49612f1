"""A block holds against a whole account and cannot be noticed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from apps.contacts import actions, queries
from apps.contacts.models import Block, Chat, Contact, Invite
from apps.core import db
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError
from tests.contacts.world import (
    ask,
    befriend,
    block,
    chat,
    everything,
    news,
    person,
    refusal,
    remove,
    seen,
    state,
    states,
    who,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob() -> Actor:
    return person("bob")


@pytest.fixture
def mallory() -> Actor:
    return person("mallory")


@pytest.fixture
def second(mallory: Actor) -> Actor:
    """Another identity of mallory's account."""
    return person("second", beside=mallory)


def unblock(actor: Actor, other: Actor) -> queries.Seen:
    return actions.unblock(actor, who(other))


def test_a_blocked_stranger_waits_for_ever(bob: Actor, mallory: Actor) -> None:
    block(bob, mallory)
    changed = ask(mallory, bob, "hi")
    assert (changed.created, changed.contact.state) == (True, "requested")
    assert states(mallory, bob) == ("requested", None)
    assert news(bob) == []
    assert queries.contacts(bob, None, 50, None).items == []
    before = everything()
    assert not ask(mallory, bob).created
    assert everything() == before


def test_the_block_holds_against_each_identity_of_the_account(
    bob: Actor, mallory: Actor, second: Actor
) -> None:
    block(bob, mallory)
    ask(second, bob)
    assert states(second, bob) == ("requested", None)
    later = person("later", beside=mallory)
    ask(later, bob)
    assert states(later, bob) == ("requested", None)
    assert news(bob) == []
    assert refusal(lambda: ask(bob, second)).code == Code.BLOCKED_BY_YOU


def test_the_block_is_mine_alone(bob: Actor, mallory: Actor) -> None:
    block(bob, mallory)
    sibling = person("sibling", beside=bob)
    ask(mallory, sibling)
    assert states(mallory, sibling) == ("requested", "incoming")


def test_an_open_request_of_theirs_stays_requested(bob: Actor, mallory: Actor, second: Actor) -> None:
    ask(mallory, bob)
    ask(second, bob)
    block(bob, mallory)
    assert states(mallory, bob) == ("requested", None)
    assert states(second, bob) == ("requested", None)
    assert news(mallory) == news(second) == []
    assert refusal(lambda: actions.accept(bob, who(mallory))).code == Code.NOT_INCOMING
    assert refusal(lambda: actions.decline(bob, who(mallory))).code == Code.NOT_INCOMING
    assert queries.load(bob, [who(mallory)]) == {}


def test_friends_of_the_account_see_declined(bob: Actor, mallory: Actor, second: Actor) -> None:
    befriend(bob, mallory)
    befriend(second, bob)
    block(bob, mallory)
    for one in (mallory, second):
        assert states(one, bob) == ("declined", None)
        assert news(one) == [("contact.removed", who(bob))]
        assert refusal(lambda one=one: ask(one, bob)).code == Code.CONTACT_DECLINED  # type: ignore[misc]
    assert news(bob) == []


def test_my_own_requests_are_withdrawn(bob: Actor, mallory: Actor, second: Actor) -> None:
    ask(bob, second)
    block(bob, mallory)
    assert states(bob, second) == (None, None)
    assert Invite.objects.get().state == "withdrawn"
    assert queries.load(second, [who(bob)]) == {}
    assert refusal(lambda: actions.accept(second, who(bob))).code == Code.NOT_INCOMING


def test_what_they_closed_stays_closed(bob: Actor, mallory: Actor) -> None:
    befriend(bob, mallory)
    remove(mallory, bob)
    block(bob, mallory)
    assert states(bob, mallory) == ("declined", None)
    # They reopen it, and it shows only once the block is gone.
    ask(mallory, bob, "again?")
    assert states(bob, mallory) == ("declined", "requested")
    assert news(bob) == [("contact.removed", who(mallory))]
    assert unblock(bob, mallory).state == "incoming"
    assert Contact.objects.get(owner=bob.identity).note == "again?"


def test_blocking_again_changes_nothing(bob: Actor, mallory: Actor) -> None:
    befriend(bob, mallory)
    block(bob, mallory)
    before = everything()
    block(bob, mallory)
    assert everything() == before


def test_i_ask_nobody_whom_i_block(bob: Actor, mallory: Actor) -> None:
    block(bob, mallory)
    before = everything()
    error = refusal(lambda: ask(bob, mallory))
    assert error.code == Code.BLOCKED_BY_YOU
    assert "unblock" in (error.next or "")
    assert everything() == before


def test_unblocking_lets_in_what_waited(bob: Actor, mallory: Actor, second: Actor) -> None:
    ask(mallory, bob, "before")
    block(bob, second)
    ask(second, bob, "after")
    assert news(bob) == [("contact.requested", who(mallory))]
    assert unblock(bob, mallory).state == "incoming"
    assert states(bob, second) == ("incoming", "requested")
    assert sorted(news(bob)[1:]) == sorted(("contact.requested", who(one)) for one in (mallory, second))
    assert Contact.objects.get(owner=bob.identity, other=second.identity).note == "after"
    assert Block.objects.count() == 0
    actions.accept(bob, who(second))
    assert states(bob, second) == ("friend", "friend")


def test_unblocking_undoes_every_block_of_the_account(bob: Actor, mallory: Actor, second: Actor) -> None:
    block(bob, mallory)
    block(bob, second)
    assert Block.objects.count() == 2
    unblock(bob, second)
    assert Block.objects.count() == 0
    assert ask(bob, mallory).created


def test_unblocking_whom_i_do_not_block_changes_nothing(bob: Actor, mallory: Actor) -> None:
    assert unblock(bob, mallory).state is None
    ask(mallory, bob)
    before = everything()
    assert unblock(bob, mallory).state == "incoming"
    assert everything() == before


def test_unblocking_does_not_make_friends_again(bob: Actor, mallory: Actor) -> None:
    befriend(bob, mallory)
    block(bob, mallory)
    unblock(bob, mallory)
    assert states(bob, mallory) == (None, "declined")
    assert ask(bob, mallory).contact.state == "requested"


def test_both_block_each_other(bob: Actor, mallory: Actor) -> None:
    befriend(bob, mallory)
    block(bob, mallory)
    block(mallory, bob)
    assert states(bob, mallory) == (None, "declined")
    assert refusal(lambda: ask(mallory, bob)).code == Code.BLOCKED_BY_YOU
    unblock(bob, mallory)
    # Mallory still blocks: now bob is the one who waits and does not know.
    assert ask(bob, mallory).contact.state == "requested"
    assert states(bob, mallory) == ("requested", "declined")
    unblock(mallory, bob)
    assert states(bob, mallory) == ("requested", "incoming")


def test_ones_own_other_identities_may_be_blocked(bob: Actor) -> None:
    sibling = person("sibling", beside=bob)
    befriend(bob, sibling)
    block(bob, sibling)
    assert states(bob, sibling) == (None, "declined")
    with db.write():
        assert actions.enter(bob, seen(bob), "").refusal is None


@pytest.mark.parametrize(
    ("receive", "accept", "answer"),
    [
        ("any", "none", "requested"),
        ("any", "any", "requested"),
        ("contacts", "none", Code.CONTACT_DECLINED),
        ("contacts", "any", Code.CONTACT_DECLINED),
    ],
)
def test_a_policy_answers_the_blocked_without_making_friends(
    mallory: Actor, receive: str, accept: str, answer: str
) -> None:
    bob = person("bob", receive=receive, accept=accept)
    block(bob, mallory)
    if answer == "requested":
        assert ask(mallory, bob).contact.state == answer
    else:
        assert refusal(lambda: ask(mallory, bob)).code == answer
        assert chat(mallory, bob) is None
    assert state(bob, mallory) is None
    assert news(bob) == []


STEPS: list[Callable[[Actor, Actor], Any]] = [
    lambda me, bob: ask(me, bob, "first").contact.show(),
    lambda me, bob: ask(me, bob, "second").contact.show(),
    lambda me, bob: actions.accept(me, who(bob)).show(),
    lambda me, bob: actions.decline(me, who(bob)).show(),
    lambda me, bob: entered(me, bob),
    lambda me, bob: queries.contacts(me, None, 50, None).show(queries.Seen.show),
    lambda me, bob: remove(me, bob),
    lambda me, bob: remove(me, bob),
    lambda me, bob: queries.contacts(me, None, 50, None).show(queries.Seen.show),
    lambda me, bob: entered(me, bob),
    lambda me, bob: actions.unblock(me, who(bob)).show(),
    lambda me, bob: queries.contacts(me, "requested", 50, None).show(queries.Seen.show),
]


def entered(me: Actor, bob: Actor) -> Any:
    with db.write():
        door = actions.enter(me, seen(bob), "hello\nthere")
    assert door.refusal is not None
    return door.refusal.body()


@pytest.mark.parametrize("former", [False, True])
def test_the_blocked_gets_the_bytes_of_one_who_is_not_blocked(former: bool) -> None:
    def told(blocked: bool) -> list[str]:
        bob, me = person("bob"), person("me")
        if former:
            befriend(bob, me)
        if blocked:
            block(bob, me)
        elif former:
            remove(bob, me)
        answers = []
        for step in STEPS:
            try:
                answers.append(step(me, bob))
            except DomainError as error:
                answers.append((error.status, error.body(), error.headers()))
        text = repr(answers).replace(who(bob), "N").replace(bob.ref.handle, "H")
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "T", text).split("), ")

    assert told(blocked=True) == told(blocked=False)


def test_a_block_leaves_no_chat_where_there_was_none(bob: Actor, mallory: Actor) -> None:
    block(bob, mallory)
    assert Chat.objects.count() == 0
