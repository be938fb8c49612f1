"""Both sides, and one side twice, at the same moment: one chat, one friendship, never a fault."""

from __future__ import annotations

from functools import partial

import pytest

from apps.contacts import actions
from apps.contacts.actions import Door
from apps.contacts.models import Block, Chat, Contact, Invite, Member
from apps.core import db
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError
from apps.inbox.actions import publish
from apps.inbox.models import InboxEvent, InboxHead
from apps.lifecycle import actions as lifecycle
from tests.contacts.world import ask, befriend, block, person, seen, state, states, together, who

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 8


def enter(actor: Actor, other: Actor) -> Door:
    them = seen(other)
    with db.write():
        door = actions.enter(actor, them, "Hello")
        publish(door.events)
    return door


def codes(answers: list[object]) -> list[Code]:
    return [answer.code for answer in answers if isinstance(answer, DomainError)]


def one_chat() -> None:
    assert Chat.objects.count() == 1
    assert Member.objects.count() == 2


def sound() -> None:
    """Each inbox has the events its head says, numbered without a gap."""
    for head in InboxHead.objects.all():
        found = list(
            InboxEvent.objects.filter(identity=head.identity_id).order_by("seq").values_list("seq", flat=True)
        )
        assert found == list(range(1, head.seq + 1))


@pytest.mark.parametrize("_", range(ROUNDS))
def test_crossing_requests_make_one_friendship(_: int) -> None:
    alice, bob = person(), person()
    answers = together(partial(ask, alice, bob), partial(ask, bob, alice))
    assert sorted(answer.contact.state for answer in answers) == ["friend", "requested"]
    assert states(alice, bob) == ("friend", "friend")
    assert InboxEvent.objects.count() == 2
    assert Invite.objects.get().state == "accepted"
    one_chat()
    sound()


@pytest.mark.parametrize("_", range(ROUNDS))
def test_many_doors_opened_at_once(_: int) -> None:
    alice, bob = person(), person()
    doors = together(*[partial(enter, alice, bob)] * 3, *[partial(enter, bob, alice)] * 3)
    assert states(alice, bob) == ("friend", "friend")
    assert {door.chat for door in doors if door.refusal is None} == {Chat.objects.get().id}
    one_chat()
    sound()


def test_one_request_many_times_is_one() -> None:
    alice, bob = person(), person()
    answers = together(*[partial(ask, alice, bob)] * 8)
    assert sorted(answer.created for answer in answers) == [False] * 7 + [True]
    assert InboxEvent.objects.count() == Invite.objects.count() == 1
    one_chat()


def test_accepted_twice_at_once_is_one_friendship() -> None:
    alice, bob = person(), person()
    ask(alice, bob)
    together(*[partial(actions.accept, bob, who(alice))] * 6)
    assert states(alice, bob) == ("friend", "friend")
    assert InboxEvent.objects.filter(identity=alice.identity).count() == 1


@pytest.mark.parametrize("_", range(ROUNDS))
def test_accepting_and_declining_at_once_is_one_of_them(_: int) -> None:
    alice, bob = person(), person()
    ask(alice, bob)
    answers = together(partial(actions.accept, bob, who(alice)), partial(actions.decline, bob, who(alice)))
    assert (states(alice, bob), codes(answers)) in (
        (("friend", "friend"), [Code.ALREADY_FRIEND]),
        (("declined", None), [Code.NOT_INCOMING]),
    )


@pytest.mark.parametrize("_", range(ROUNDS))
def test_accepting_while_the_request_is_withdrawn(_: int) -> None:
    alice, bob = person(), person()
    ask(alice, bob)
    answers = together(
        partial(actions.accept, bob, who(alice)), partial(lifecycle.contact_remove, alice, who(bob))
    )
    assert (states(alice, bob), codes(answers)) in (
        ((None, None), [Code.NOT_INCOMING]),
        ((None, "declined"), []),
    )


@pytest.mark.parametrize("_", range(ROUNDS))
def test_a_first_request_while_it_is_blocked(_: int) -> None:
    """The block sees the request or the request sees the block, also from an identity it never met."""
    bob, mallory = person(), person()
    second = person(beside=mallory)
    together(
        partial(ask, mallory, bob),
        partial(block, bob, second),
        partial(ask, second, bob),
        partial(enter, mallory, bob),
    )
    for one in (mallory, second):
        assert states(one, bob) == ("requested", None)
    sound()


@pytest.mark.parametrize("_", range(ROUNDS))
def test_a_first_request_while_the_block_is_taken_back(_: int) -> None:
    bob, mallory = person(), person()
    block(bob, mallory)
    together(partial(ask, mallory, bob), partial(actions.unblock, bob, who(mallory)))
    assert states(mallory, bob) == ("requested", "incoming")
    assert InboxEvent.objects.filter(identity=bob.identity).count() == 1


@pytest.mark.parametrize("_", range(ROUNDS))
def test_accepting_while_one_blocks(_: int) -> None:
    alice, bob = person(), person()
    ask(alice, bob)
    together(partial(actions.accept, bob, who(alice)), partial(block, alice, bob))
    assert states(alice, bob) in ((None, "declined"), (None, None))
    assert Block.objects.count() == 1


def test_both_block_at_once() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    together(partial(block, alice, bob), partial(block, bob, alice))
    assert Block.objects.count() == 2
    assert "friend" not in states(alice, bob)


def test_blocked_many_times_at_once_is_one_block() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    InboxHead.objects.all().delete()
    together(*[partial(block, alice, bob)] * 6)
    assert Block.objects.count() == 1
    assert states(alice, bob) == (None, "declined")
    assert InboxEvent.objects.filter(identity=bob.identity).count() == 1


def test_a_crowd_of_everything() -> None:
    """No order of locks here makes a deadlock: every call ends, and what is left fits together."""
    people = [person() for _ in range(3)]
    people.append(person(beside=people[0]))

    def walk(actor: Actor, others: list[Actor]) -> None:
        for turn in range(6):
            other = others[turn % len(others)]
            for call in (
                partial(ask, actor, other),
                partial(actions.accept, actor, who(other)),
                partial(enter, actor, other),
                partial(block, actor, other),
                partial(actions.unblock, actor, who(other)),
                partial(lifecycle.contact_remove, actor, who(other)),
            ):
                try:
                    call()
                except DomainError:
                    continue

    together(*[partial(walk, one, [other for other in people if other is not one]) for one in people])
    fits: dict[str, set[str | None]] = {
        "friend": {"friend"},
        "incoming": {"requested"},
        "requested": {"incoming", None, "declined"},  # the last two behind a block
        "declined": {None, "requested"},
    }
    for row in Contact.objects.all():
        mirrored = Contact.objects.filter(owner=row.other_id, other=row.owner_id).first()
        assert (mirrored.state if mirrored else None) in fits[row.state], row
    sound()
    assert state(people[0], people[0]) is None
