"""Who may write, and where: the door that threads and A2A go through."""

from __future__ import annotations

import pytest

from apps.contacts import actions
from apps.contacts.actions import Door
from apps.contacts.models import Contact, Member
from apps.core import db
from apps.core.actor import Actor
from apps.core.errors import Code
from apps.inbox.actions import Event
from tests.contacts.world import (
    ask,
    befriend,
    block,
    chat,
    everything,
    person,
    remove,
    seen,
    statements,
    states,
    who,
    without,
)

pytestmark = pytest.mark.django_db


def enter(actor: Actor, other: Actor, note: str = "Hello") -> Door:
    them = seen(other)
    with db.write():
        return actions.enter(actor, them, note)


def code(door: Door) -> Code | None:
    return None if door.refusal is None else door.refusal.code


def test_friends_take_two_statements() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    them = seen(bob)
    with statements() as made, db.write():
        door = actions.enter(alice, them, "Hello")
    assert len(made) == 2, made
    made_chat = chat(alice, bob)
    assert made_chat is not None
    assert door == Door(made_chat.id, None, [])


@pytest.mark.parametrize("scope", [True, False])
def test_a_friend_may_write_with_any_token(scope: bool) -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    assert code(enter(alice if scope else without(alice, "contacts"), bob)) is None


def test_a_stranger_asks_with_the_first_line() -> None:
    alice, bob = person(), person()
    door = enter(alice, bob, "\n What is\tthis?\nMore.")
    assert code(door) == Code.CONTACT_REQUESTED
    assert door.events == [Event(bob.identity, "contact.requested", who(alice))]
    assert states(alice, bob) == ("requested", "incoming")
    assert Contact.objects.get(owner=bob.identity).note == "What is this?"
    assert Member.objects.count() == 2


def test_a_second_try_writes_nothing() -> None:
    alice, bob = person(), person()
    first = enter(alice, bob)
    before = everything()
    second = enter(alice, bob)
    assert (code(second), second.events) == (Code.CONTACT_REQUESTED, [])
    assert second.refusal is not None
    assert first.refusal is not None
    assert second.refusal.body() == first.refusal.body()
    assert everything() == before


def test_without_the_scope_nothing_is_asked() -> None:
    alice, bob = person(), person()
    before = everything()
    assert code(enter(without(alice, "contacts"), bob)) == Code.CONTACT_REQUIRED
    assert everything() == before
    ask(bob, alice)
    assert code(enter(without(alice, "contacts"), bob)) == Code.CONTACT_REQUIRED
    assert states(alice, bob) == ("incoming", "requested")


def test_without_the_scope_what_is_decided_is_told() -> None:
    alice, bob = person(), person()
    ask(alice, bob)
    assert code(enter(without(alice, "contacts"), bob)) == Code.CONTACT_REQUESTED
    actions.decline(bob, who(alice))
    assert code(enter(without(alice, "contacts"), bob)) == Code.CONTACT_DECLINED


def test_who_asked_me_is_accepted_first() -> None:
    alice, bob = person(), person()
    ask(bob, alice)
    door = enter(alice, bob)
    assert code(door) is None
    assert door.events == [Event(bob.identity, "contact.accepted", who(alice))]
    assert states(alice, bob) == ("friend", "friend")
    made = chat(alice, bob)
    assert made is not None
    assert door.chat == made.id


def test_anyone_is_friendship_and_message_in_one_call() -> None:
    alice, bob = person(), person(receive="any", accept="any")
    door = enter(alice, bob)
    assert code(door) is None
    assert door.events == [Event(bob.identity, "contact.accepted", who(alice))]
    made = chat(alice, bob)
    assert made is not None
    assert door.chat == made.id


def test_the_declined_and_the_removed() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    remove(bob, alice)
    before = everything()
    assert code(enter(alice, bob)) == Code.CONTACT_DECLINED
    assert everything() == before


def test_nobody_answers_as_declined_and_no_chat_stays() -> None:
    alice, bob = person(), person(receive="contacts", accept="none")
    before = everything()
    assert code(enter(alice, bob)) == Code.CONTACT_DECLINED
    assert everything() == before


def test_whom_i_block_i_do_not_write_to() -> None:
    alice, bob = person(), person()
    block(alice, bob)
    before = everything()
    assert code(enter(alice, bob)) == Code.BLOCKED_BY_YOU
    assert everything() == before


def test_the_blocked_only_waits() -> None:
    alice, mallory = person(), person()
    block(alice, mallory)
    door = enter(mallory, alice)
    assert (code(door), door.events) == (Code.CONTACT_REQUESTED, [])
    assert states(mallory, alice) == ("requested", None)


def test_a_chat_with_oneself_is_made_on_first_use() -> None:
    alice = person()
    first = enter(alice, alice)
    assert code(first) is None
    assert enter(alice, alice) == first
    made = chat(alice, alice)
    assert made is not None
    assert made.id == first.chat
    assert Member.objects.filter(chat=made).count() == 1
    assert Contact.objects.count() == 0


def test_chats_are_looked_up_by_either_side() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    assert enter(alice, bob).chat == enter(bob, alice).chat
