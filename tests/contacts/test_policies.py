"""What a stranger's first request meets: the other's `receive` and `accept`."""

from __future__ import annotations

from typing import Any

import pytest

from apps.contacts import actions
from apps.contacts.models import Chat, Invite, Member
from apps.core.actor import Actor
from apps.core.errors import Code
from tests.contacts.world import ask, chat, everything, news, person, refusal, remove, states, who

pytestmark = pytest.mark.django_db

ANYONE: dict[str, Any] = {"receive": "any", "accept": "any"}
NOBODY: dict[str, Any] = {"receive": "contacts", "accept": "none"}


def room(kind: str, *members: tuple[Actor, str]) -> None:
    made = Chat.objects.create(kind=kind)
    for actor, standing in members:
        Member.objects.create(chat=made, identity_id=actor.identity, state=standing)


def test_anyone_is_a_friend_at_once() -> None:
    alice, bob = person(), person(**ANYONE)
    changed = ask(alice, bob, "hi")
    assert changed.created
    assert (changed.contact.state, changed.contact.note) == ("friend", "hi")
    assert states(alice, bob) == ("friend", "friend")
    assert news(bob) == [("contact.accepted", who(alice))]
    assert news(alice) == []
    assert Invite.objects.count() == 0
    made = chat(alice, bob)
    assert made is not None
    assert Member.objects.filter(chat=made).count() == 2


def test_nobody_answers_as_declined_and_stores_nothing() -> None:
    alice, bob = person(), person(**NOBODY)
    before = everything()
    refused = refusal(lambda: ask(alice, bob))
    assert refused.code == Code.CONTACT_DECLINED
    assert everything() == before

    charlie = person()
    ask(alice, charlie)
    actions.decline(charlie, who(alice))
    assert refusal(lambda: ask(alice, charlie)).body() == refused.body()


def test_nobody_is_still_reached_by_whom_it_asked() -> None:
    alice, bob = person(), person(**NOBODY)
    ask(bob, alice)
    assert ask(alice, bob).contact.state == "friend"


def test_nobody_who_declined_once_can_be_asked_no_more() -> None:
    alice, bob = person(), person(**NOBODY)
    ask(bob, alice)
    remove(bob, alice)
    assert states(alice, bob) == (None, None)
    assert refusal(lambda: ask(alice, bob)).code == Code.CONTACT_DECLINED
    assert states(alice, bob) == (None, None)
    assert chat(alice, bob) is not None


@pytest.mark.parametrize(
    ("kind", "mine", "theirs", "shared"),
    [
        ("room", "member", "member", True),
        ("room", "invited", "member", False),
        ("room", "member", "left", False),
        ("public", "member", "member", False),
    ],
)
@pytest.mark.parametrize("receive", ["any", "contacts"])
def test_shared_accepts_members_of_a_common_room(
    kind: str, mine: str, theirs: str, shared: bool, receive: str
) -> None:
    alice, bob = person(), person(receive=receive, accept="shared")
    room(kind, (alice, mine), (bob, theirs))
    room("room", (alice, "member"))
    room("room", (bob, "member"))
    if shared:
        assert ask(alice, bob).contact.state == "friend"
    elif receive == "any":
        assert ask(alice, bob).contact.state == "requested"
    else:
        assert refusal(lambda: ask(alice, bob)).code == Code.CONTACT_DECLINED


@pytest.mark.parametrize("policy", [ANYONE, {"receive": "contacts", "accept": "any"}])
def test_a_policy_is_not_asked_for_what_was_decided(policy: dict[str, Any]) -> None:
    alice, bob = person(), person(**policy)
    ask(alice, bob)
    remove(bob, alice)
    assert states(alice, bob) == ("declined", None)
    assert refusal(lambda: ask(alice, bob)).code == Code.CONTACT_DECLINED
