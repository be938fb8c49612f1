"""Asking, accepting, declining, removing: each state and what each side sees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings

from apps.contacts import actions
from apps.contacts.models import Chat, Contact, Invite, Member
from apps.contacts.queries import load
from apps.core.actor import Actor
from apps.core.errors import Code
from apps.identities import numbers
from apps.identities.models import Identity
from apps.lifecycle import actions as lifecycle
from tests.contacts.world import (
    ask,
    befriend,
    chat,
    everything,
    news,
    person,
    refusal,
    remove,
    statements,
    states,
    who,
    without,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Actor:
    return person("alice")


@pytest.fixture
def bob() -> Actor:
    return person("bob")


def test_a_request_waits_on_both_sides(alice: Actor, bob: Actor) -> None:
    changed = ask(alice, bob, "Hello, it is me")
    assert changed.created
    assert changed.contact.state == "requested"
    assert changed.contact.note == "Hello, it is me"
    assert changed.contact.identity == bob.ref
    assert states(alice, bob) == ("requested", "incoming")
    assert news(bob) == [("contact.requested", who(alice))]
    assert news(alice) == []
    invite = Invite.objects.get()
    assert (invite.sender_id, invite.receiver_id, invite.note, invite.state) == (
        alice.identity,
        bob.identity,
        "Hello, it is me",
        "pending",
    )


def test_the_chat_and_both_members_are_there_from_the_first_request_on(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    made = chat(alice, bob)
    assert made is not None
    assert (made.kind, made.head) == ("direct", 0)
    assert sorted(Member.objects.values_list("chat", "identity", "state", "role")) == sorted(
        (made.id, identity.identity, "member", "member") for identity in (alice, bob)
    )


def test_a_second_request_writes_nothing(alice: Actor, bob: Actor) -> None:
    ask(alice, bob, "one")
    before = everything()
    again = ask(alice, bob, "two")
    assert not again.created
    assert (again.contact.state, again.contact.note) == ("requested", "one")
    assert everything() == before


def test_asking_a_friend_writes_nothing(alice: Actor, bob: Actor) -> None:
    befriend(alice, bob)
    before = everything()
    assert not ask(alice, bob).created
    assert not ask(bob, alice).created
    assert everything() == before


def test_asking_who_asked_me_accepts(alice: Actor, bob: Actor) -> None:
    ask(alice, bob, "please")
    changed = ask(bob, alice, "me too")
    assert changed.created
    assert changed.contact.state == "friend"
    assert states(alice, bob) == ("friend", "friend")
    assert news(alice) == [("contact.accepted", who(bob))]
    assert Invite.objects.get().state == "accepted"
    assert Chat.objects.count() == 1


@pytest.mark.parametrize("form", ["{0.identity}", "{0.ref.handle}", "@{0.ref.handle}"])
def test_who_may_be_a_number_a_handle_or_an_at_handle(alice: Actor, bob: Actor, form: str) -> None:
    assert actions.request(alice, form.format(bob), "").contact.identity == bob.ref


def test_nobody_needs_a_contact_with_oneself(alice: Actor) -> None:
    error = refusal(lambda: ask(alice, alice))
    assert (error.code, error.field) == (Code.INVALID, "to")
    for call in (
        actions.accept,
        actions.decline,
        actions.unblock,
        lifecycle.contact_block,
        lifecycle.contact_remove,
    ):
        assert refusal(lambda call=call: call(alice, who(alice))).code == Code.INVALID  # type: ignore[misc]


@pytest.mark.parametrize("gone", ["deleted_at", "suspended_at"])
def test_absent_deleted_and_suspended_are_the_same(alice: Actor, bob: Actor, gone: str) -> None:
    Identity.objects.filter(number=bob.identity).update(**{gone: "2026-01-01T00:00:00Z"})
    with statements() as for_absent:
        absent = refusal(lambda: actions.request(alice, str(numbers.draw()), ""))
    with statements() as for_hidden:
        hidden = refusal(lambda: ask(alice, bob))
    assert for_hidden == for_absent
    assert absent.code == Code.NOT_FOUND
    assert hidden.body() == absent.body()
    assert Contact.objects.count() == Chat.objects.count() == 0


def test_accepting_makes_both_friends(alice: Actor, bob: Actor) -> None:
    ask(alice, bob, "please")
    shown = actions.accept(bob, who(alice))
    assert (shown.state, shown.note) == ("friend", "please")
    assert states(alice, bob) == ("friend", "friend")
    assert news(alice) == [("contact.accepted", who(bob))]


def test_accepting_twice_changes_nothing(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    first = actions.accept(bob, who(alice))
    before = everything()
    assert actions.accept(bob, who(alice)) == first
    assert everything() == before


def test_only_an_incoming_request_can_be_accepted_or_declined(alice: Actor, bob: Actor) -> None:
    assert refusal(lambda: actions.accept(alice, who(bob))).code == Code.NOT_INCOMING
    assert refusal(lambda: actions.decline(alice, who(bob))).code == Code.NOT_INCOMING
    ask(alice, bob)
    assert refusal(lambda: actions.accept(alice, who(bob))).code == Code.NOT_INCOMING
    assert refusal(lambda: actions.decline(alice, who(bob))).code == Code.NOT_INCOMING
    actions.decline(bob, who(alice))
    for asker, other in ((alice, bob), (bob, alice)):
        assert refusal(lambda a=asker, o=other: actions.accept(a, who(o))).code == Code.NOT_INCOMING  # type: ignore[misc]


def test_a_friend_is_removed_not_declined(alice: Actor, bob: Actor) -> None:
    befriend(alice, bob)
    error = refusal(lambda: actions.decline(bob, who(alice)))
    assert error.code == Code.ALREADY_FRIEND
    assert "DELETE" in (error.next or "")


def test_the_decliner_keeps_no_row(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    shown = actions.decline(bob, who(alice))
    assert (shown.identity, shown.state, shown.updated_at) == (alice.ref, None, None)
    assert states(alice, bob) == ("declined", None)
    assert news(alice) == [("contact.declined", who(bob))]
    assert Invite.objects.get().state == "declined"


def test_only_the_decliner_reopens(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    actions.decline(bob, who(alice))
    before = everything()
    assert refusal(lambda: ask(alice, bob)).code == Code.CONTACT_DECLINED
    assert refusal(lambda: remove(alice, bob)).code == Code.CONTACT_DECLINED
    assert everything() == before
    assert ask(bob, alice, "sorry").created
    assert states(alice, bob) == ("incoming", "requested")
    assert Contact.objects.get(owner=alice.identity).note == "sorry"
    assert news(alice)[-1] == ("contact.requested", who(bob))
    actions.accept(alice, who(bob))
    assert states(alice, bob) == ("friend", "friend")
    assert Chat.objects.count() == 1


def test_a_removed_friend_sees_declined(alice: Actor, bob: Actor) -> None:
    befriend(alice, bob)
    remove(bob, alice)
    assert states(alice, bob) == ("declined", None)
    assert news(alice) == [("contact.removed", who(bob))]
    assert news(bob) == []
    assert refusal(lambda: ask(alice, bob)).code == Code.CONTACT_DECLINED
    assert ask(bob, alice).created
    assert states(alice, bob) == ("incoming", "requested")


def test_removing_a_request_withdraws_it(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    remove(alice, bob)
    assert states(alice, bob) == (None, None)
    assert Invite.objects.get().state == "withdrawn"
    assert ask(alice, bob).created
    assert states(alice, bob) == ("requested", "incoming")


def test_removing_an_incoming_request_declines_it(alice: Actor, bob: Actor) -> None:
    ask(alice, bob)
    remove(bob, alice)
    assert states(alice, bob) == ("declined", None)
    assert news(alice) == [("contact.declined", who(bob))]


def test_what_is_not_there_cannot_be_removed(alice: Actor, bob: Actor) -> None:
    assert refusal(lambda: remove(alice, bob)).code == Code.NOT_FOUND
    befriend(alice, bob)
    remove(alice, bob)
    assert refusal(lambda: remove(alice, bob)).code == Code.NOT_FOUND


@pytest.mark.parametrize(
    "call",
    [
        lambda actor, other: actions.request(actor, other, ""),
        actions.accept,
        actions.decline,
        actions.unblock,
        lifecycle.contact_block,
        lifecycle.contact_remove,
    ],
)
def test_each_call_needs_the_scope(alice: Actor, bob: Actor, call: Callable[[Actor, str], object]) -> None:
    before = everything()
    assert refusal(lambda: call(without(alice, "contacts"), who(bob))).code == Code.INSUFFICIENT_SCOPE
    assert everything() == before


def test_requests_are_limited_and_only_those_that_write(
    alice: Actor, bob: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.RELAYGER, "rate_contact", "2/h")
    ask(alice, bob)
    for _ in range(5):
        ask(alice, bob)
    ask(alice, person())
    charlie = person()
    error = refusal(lambda: ask(alice, charlie))
    assert error.code == Code.RATE_LIMITED
    assert error.retry_after
    assert states(alice, charlie) == (None, None)
    assert chat(alice, charlie) is None
    ask(charlie, alice)
    assert ask(alice, charlie).contact.state == "friend"


def test_events_show_the_contact_as_it_stands(alice: Actor, bob: Actor) -> None:
    ask(alice, bob, "hi")
    shown = load(bob, [who(alice), who(person())])
    assert list(shown) == [who(alice)]
    assert shown[who(alice)]["state"] == "incoming"
    assert shown[who(alice)]["note"] == "hi"
    assert shown[who(alice)]["identity"]["handle"] == alice.ref.handle
    remove(alice, bob)
    assert load(bob, [who(alice)]) == {}
