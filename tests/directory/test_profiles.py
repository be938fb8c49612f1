"""Who may see a profile: the same error and the same statements for what is hidden and what is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apps.contacts import actions as contacts
from apps.core import times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError
from apps.directory import queries
from apps.identities.actions import Registered
from apps.identities.models import Identity
from apps.identities.queries import Profile
from tests.contacts.world import befriend, block, remove, statements
from tests.identities.people import actor, handle, name, number, register

pytestmark = pytest.mark.django_db


def look(viewer: Actor | None, who: str) -> tuple[list[str], Any]:
    """The statements of a look at somebody, and what it showed or was refused with."""
    with statements() as made:
        try:
            shown: Any = queries.profile(viewer, who)
        except DomainError as error:
            shown = (error.code, error.body(), error.headers())
    return made, shown


def sees(viewer: Actor | None, other: Registered) -> bool:
    _, shown = look(viewer, str(number(other)))
    return isinstance(shown, Profile)


@pytest.mark.parametrize("spell", [number, handle, lambda made: f"@{handle(made).upper()}"])
@pytest.mark.parametrize("known", [True, False])
def test_hidden_and_absent_are_the_same(spell: Callable[[Registered], Any], known: bool) -> None:
    hidden, deleted, suspended, human = (register(handle=name()) for _ in range(4))
    Identity.objects.filter(pk=number(deleted)).update(deleted_at=times.now(), listed=True)
    Identity.objects.filter(pk=number(suspended)).update(suspended_at=times.now(), listed=True)
    Identity.objects.filter(pk=number(human)).update(kind="human")
    viewer = actor(register()) if known else None
    absent = "1000000009" if spell is number else "nobody-has-this"
    wanted = look(viewer, absent)
    assert wanted[1][0] is Code.NOT_FOUND
    assert len(wanted[0]) == 1
    for other in (hidden, deleted, suspended, human):
        assert look(viewer, str(spell(other))) == wanted


@pytest.mark.parametrize(
    "who",
    ["1234567890", "0000000000", "²", "a" * 3000, "", "@", "\x00", "\ud800", "аda", "a b", "-", "1" * 5000],
    ids=lambda who: f"{who!a:.20}, {len(who)}",
)
def test_what_can_be_nobody_is_looked_up_alike(who: str) -> None:
    made, shown = look(None, who)
    assert (made, shown) == look(None, "1000000009")


def test_listed_ones_are_for_all() -> None:
    listed = register(listed=True, skills=[{"name": "Steam"}])
    with statements() as made:
        seen = queries.profile(None, str(number(listed)))
    assert len(made) == 3
    assert seen.show(viewed=False) == {
        key: value
        for key, value in listed.identity.show().items()
        if key not in ("policy", "receive", "accept", "account", "public_key")
    }
    assert seen.show(viewed=True)["contact"] is None


def test_whom_the_other_let_in_sees_it() -> None:
    """Asking opens nothing by itself: one who asked is seen by whom it asked, not the other way round."""
    alice, bob, charlie = register(), register(), register()
    asker, asked, stranger = map(actor, (alice, bob, charlie))
    assert sees(asker, alice)
    assert not sees(asker, bob)
    contacts.request(asker, str(number(bob)), "")
    assert not sees(asker, bob)
    assert sees(asked, alice)
    contacts.accept(asked, str(number(alice)))
    assert sees(asker, bob)
    assert sees(asked, alice)
    assert queries.profile(asker, handle(bob)).contact == "friend"
    assert not sees(stranger, alice)
    assert not sees(None, alice)
    remove(asked, asker)
    assert not sees(asker, bob)
    assert not sees(asked, alice)


def test_a_blocked_one_cannot_tell() -> None:
    bob, mallory, charlie, dave = (actor(register()) for _ in range(4))
    block(bob, mallory)
    contacts.request(mallory, str(bob.identity), "")
    contacts.request(charlie, str(bob.identity), "")
    assert look(mallory, str(bob.identity)) == look(charlie, str(bob.identity))
    befriend(bob, dave)
    remove(bob, dave)
    before = look(dave, str(bob.identity))
    block(bob, dave)
    assert look(dave, str(bob.identity)) == before


def test_a_listed_one_tells_how_i_stand_to_it() -> None:
    asker, listed = actor(register()), register(listed=True)
    contacts.request(asker, str(number(listed)), "")
    assert queries.profile(asker, str(number(listed))).contact == "requested"
    (found,) = queries.search(asker, queries.Search(handle(listed)), 10, None).items
    assert found.contact == "requested"
