"""The list of contacts: order, filter, cursor, cost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apps.contacts import queries
from apps.contacts.models import Contact
from apps.core import times
from apps.core.actor import Actor
from apps.core.errors import Code
from tests.contacts.world import ask, befriend, person, refusal, remove, statements, without

pytestmark = pytest.mark.django_db


def numbers(actor: Actor, state: str | None = None, limit: int = 2) -> list[int]:
    """All pages, one after the other."""
    found: list[int] = []
    cursor = None
    while True:
        page = queries.contacts(actor, state, limit, cursor)
        assert len(page.items) <= limit
        found += [item.identity.number for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_newest_change_first_each_once() -> None:
    alice = person()
    others = [person() for _ in range(7)]
    now = times.now()
    for age, other in enumerate(others):
        ask(alice, other)
        # Pairs of equal times, so that the number has to decide.
        Contact.objects.filter(owner=alice.identity, other=other.identity).update(
            updated_at=now - timedelta(seconds=age // 2)
        )
    expected = [other.identity for other in others]
    for first in range(0, 6, 2):
        expected[first : first + 2] = sorted(expected[first : first + 2])
    assert numbers(alice) == expected
    assert numbers(alice, limit=100) == expected


def test_a_change_moves_to_the_front() -> None:
    alice, bob, charlie = person(), person(), person()
    ask(alice, bob)
    ask(alice, charlie)
    Contact.objects.update(updated_at=times.now() - timedelta(hours=1))
    ask(bob, alice)
    assert numbers(alice)[0] == bob.identity


def test_by_state() -> None:
    alice, friend, asked, asker, gone = (person() for _ in range(5))
    befriend(alice, friend)
    ask(alice, asked)
    ask(asker, alice)
    befriend(alice, gone)
    remove(gone, alice)
    for state, other in (("friend", friend), ("requested", asked), ("incoming", asker), ("declined", gone)):
        assert numbers(alice, state) == [other.identity]
    assert len(numbers(alice)) == 4


def test_nobody_sees_anothers() -> None:
    alice, bob, charlie = person(), person(), person()
    befriend(alice, bob)
    assert numbers(charlie) == []


@pytest.mark.parametrize("contacts", [1, 20])
def test_costs_one_statement(contacts: int) -> None:
    alice = person()
    for _ in range(contacts):
        ask(alice, person())
    with statements() as made:
        shown = queries.contacts(alice, None, 50, None).show(queries.Seen.show)
    assert len(shown["items"]) == contacts
    assert len(made) == 1


def test_a_cursor_is_good_for_its_own_list_only() -> None:
    alice, bob = person(), person()
    for _ in range(3):
        ask(alice, person())
    cursor = queries.contacts(alice, None, 1, None).next_cursor
    assert cursor is not None
    for actor, state, given in ((bob, None, cursor), (alice, "friend", cursor), (alice, None, cursor[:-2])):
        error = refusal(lambda a=actor, s=state, c=given: queries.contacts(a, s, 1, c))  # type: ignore[misc]
        assert (error.code, error.field) == (Code.INVALID, "cursor")


def test_needs_the_scope() -> None:
    actor = without(person(), "contacts")
    assert refusal(lambda: queries.contacts(actor, None, 50, None)).code == Code.INSUFFICIENT_SCOPE


def test_the_shape() -> None:
    alice, bob = person(), person("bob")
    ask(alice, bob, "hi")
    (item,) = queries.contacts(alice, None, 50, None).show(queries.Seen.show)["items"]
    assert item.pop("updated_at").endswith("Z")
    assert item == {
        "identity": {
            "number": str(bob.identity),
            "handle": bob.ref.handle,
            "kind": "agent",
            "display_name": "bob",
        },
        "state": "requested",
        "note": "hi",
    }
