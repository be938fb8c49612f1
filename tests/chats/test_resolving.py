"""Which chat a call means, and whether its member may write in it."""

from __future__ import annotations

from uuid import UUID

import pytest

from apps.contacts.models import Chat, Member
from apps.core import db, ids
from apps.core.actor import Actor
from apps.core.errors import Code
from apps.inbox.actions import publish
from apps.threads import chats, entries
from tests.contacts.world import ask, befriend, block, chat, news, person, refusal, state, statements, who

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Actor:
    return person("alice")


@pytest.fixture
def bob() -> Actor:
    return person("bob")


def room(*members: Actor) -> str:
    made = Chat.objects.create(kind="room", topic="Engines")
    for one in members:
        Member.objects.create(chat=made, identity_id=one.identity)
    return ids.show("con", made.id)


def enter(actor: Actor, text: str) -> chats.Entered:
    with db.write():
        entered = chats.enter_chat(actor, text, "Hello")
        publish(entered.events)
    return entered


def direct(actor: Actor, other: Actor) -> str:
    found = chat(actor, other)
    assert found is not None
    return ids.show("con", found.id)


def test_friends_have_a_direct_chat_under_each_name(alice: Actor, bob: Actor) -> None:
    befriend(alice, bob)
    for name in (direct(alice, bob), who(bob), bob.ref.handle, f"@{bob.ref.handle}"):
        with statements() as made:
            found = chats.chat_of(alice, name)
        assert len(made) == 1
        assert (found.id, found.kind, found.other) == (chats.chat_of(bob, who(alice)).id, "direct", bob.ref)


def test_hidden_and_absent_are_one_statement_and_one_error(alice: Actor, bob: Actor) -> None:
    befriend(alice, bob)
    charlie = person("charlie")
    for hidden, absent in (
        (room(alice, bob), ids.show("con", ids.new())),
        (direct(alice, bob), ids.show("con", ids.new())),
        (who(alice), "1234567897"),
        (alice.ref.handle, "nobody-has-this"),
    ):
        told = []
        for name in (hidden, absent):
            with statements() as made:
                error = refusal(lambda name=name: chats.chat_of(charlie, name))  # type: ignore[misc]
            told.append((error.status, error.body(), made))
        assert told[0] == told[1]
        assert len(told[0][2]) == 1


def test_a_room_is_its_members(alice: Actor, bob: Actor) -> None:
    name = room(alice)
    assert (chats.chat_of(alice, name).topic, chats.chat_of(alice, name).other) == ("Engines", None)
    for state_ in ("invited", "declined", "left", "removed"):
        Member.objects.update_or_create(
            chat_id=chats.chat_of(alice, name).id, identity_id=bob.identity, defaults={"state": state_}
        )
        assert refusal(lambda: chats.chat_of(bob, name)).code == Code.NOT_FOUND
        assert refusal(lambda: enter(bob, name)).code == Code.NOT_FOUND
    assert enter(alice, name).chat == chats.chat_of(alice, name)


def test_a_request_shows_no_chat_before_something_was_said(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    for one, other in ((alice, bob), (bob, alice)):
        assert refusal(lambda one=one, other=other: chats.chat_of(one, who(other))).code == "not_found"  # type: ignore[misc]


def test_writing_to_a_stranger_asks(alice: Actor, bob: Actor) -> None:
    entered = enter(alice, who(bob))
    assert entered.chat is None
    assert entered.refusal is not None
    assert entered.refusal.code == Code.CONTACT_REQUESTED
    assert news(bob) == [("contact.requested", who(alice))]
    accepted = enter(bob, who(alice))
    assert accepted.chat is not None
    assert accepted.chat.other == alice.ref
    assert state(alice, bob) == "friend"


def test_after_a_block_the_chat_is_read_and_not_written(alice: Actor, bob: Actor) -> None:
    befriend(alice, bob)
    name = direct(alice, bob)
    with db.write():
        entries.append(chats.chat_of(alice, name).id, alice, "message.created", parts=[{"text": "Hi"}])
    block(bob, alice)
    assert chats.chat_of(alice, name) == chats.chat_of(alice, who(bob))
    refused = enter(alice, name).refusal
    assert refused is not None
    assert refused.code == Code.CONTACT_DECLINED


def test_one_has_a_chat_with_oneself(alice: Actor) -> None:
    assert refusal(lambda: chats.chat_of(alice, who(alice))).code == Code.NOT_FOUND
    entered = enter(alice, who(alice))
    assert entered.chat is not None
    with db.write():
        entries.append(entered.chat.id, alice, "message.created", parts=[{"text": "Hi"}])
    assert chats.chat_of(alice, alice.ref.handle).other == alice.ref
    again = enter(alice, ids.show("con", entered.chat.id)).chat
    assert again is not None
    assert again.id == entered.chat.id


def test_nobody_is_no_place(alice: Actor) -> None:
    assert refusal(lambda: enter(alice, "nobody-has-this")).code == Code.NOT_FOUND
    assert refusal(lambda: enter(alice, "con_zz")).code == Code.NOT_FOUND
    assert refusal(lambda: chats.chat_of(alice, "con_zz")).code == Code.NOT_FOUND


def test_a_place_that_was_left_while_it_was_locked(alice: Actor) -> None:
    name = room(alice)
    id = UUID(name.removeprefix("con_"))
    with db.write():
        place = chats.lock_place(alice, name)
        Member.objects.filter(chat=id).update(state="removed")
        assert refusal(lambda: chats.enter_place(alice, place, "")).code == Code.NOT_FOUND
