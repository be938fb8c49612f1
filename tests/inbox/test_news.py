"""Reading an inbox: what is newer, what is wanted, what is gone."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from apps.core import db, times
from apps.core.actor import Actor
from apps.core.ids import new
from apps.identities.models import Credential, Identity
from apps.inbox.actions import Event, publish
from apps.inbox.models import InboxEvent, InboxHead
from tests.contacts.world import befriend, person, refusal, statements, without
from tests.inbox.world import read, seqs, tell
from tests.threads.world import ask, entries, with_token

pytestmark = pytest.mark.django_db

ACCEPTED, REQUESTED, OPENED = "contact.accepted", "contact.requested", "thread.opened"


@pytest.fixture
def reader() -> Actor:
    return with_token(person())


def test_an_empty_inbox(reader: Actor) -> None:
    page = read(reader)
    assert (page.events, page.next, page.head) == ([], 0, 0)
    assert read(reader, 0).show() == {"events": [], "next": 0}
    assert refusal(lambda: read(reader, 1)).code == "invalid"


def test_pages_follow_each_other(reader: Actor) -> None:
    tell(reader, *[ACCEPTED] * 7)
    found, after = [], None
    while (page := read(reader, after, limit=3)).events:
        found.append(seqs(page))
        after = page.next
    assert found == [[1, 2, 3], [4, 5, 6], [7]]
    assert after == 7


def test_next_moves_past_what_is_not_wanted(reader: Actor) -> None:
    tell(reader, *[REQUESTED] * 5, ACCEPTED, REQUESTED)
    page = read(reader, 0, {ACCEPTED}, limit=3)
    assert (seqs(page), page.next) == ([], 3)
    page = read(reader, 3, {ACCEPTED}, limit=3)
    assert (seqs(page), page.next) == ([6], 6)
    page = read(reader, 6, {ACCEPTED})
    assert (seqs(page), page.next) == ([], 7)


def test_below_the_floor(reader: Actor) -> None:
    tell(reader, *[ACCEPTED] * 6)
    InboxEvent.objects.filter(identity=reader.identity, seq__lte=4).delete()
    InboxHead.objects.filter(identity=reader.identity).update(floor=4)
    error = refusal(lambda: read(reader, 3))
    assert (error.code, error.status, error.field, error.extra) == (
        "cursor_expired",
        410,
        "after",
        {"oldest": 4},
    )
    assert seqs(read(reader, 4)) == seqs(read(reader)) == [5, 6]
    InboxEvent.objects.filter(identity=reader.identity).delete()
    InboxHead.objects.filter(identity=reader.identity).update(floor=6)
    assert read(reader).next == read(reader, 6).next == 6


def test_above_the_head(reader: Actor) -> None:
    tell(reader, ACCEPTED)
    for after in (2, 2**63 - 1):
        error = refusal(partial(read, reader, after))
        assert (error.code, error.status, error.field) == ("invalid", 400, "after")


def test_a_hole_does_not_hold_the_reader_up(reader: Actor) -> None:
    tell(reader, *[ACCEPTED] * 4)
    InboxEvent.objects.filter(identity=reader.identity, seq__in=(2, 4)).delete()
    page = read(reader, 0)
    assert (seqs(page), page.next) == ([1, 3], 4)
    assert read(reader, 3).next == 4


def test_what_may_not_be_seen_is_null(reader: Actor) -> None:
    friend, stranger = person(), person()
    befriend(reader, friend)
    mine, theirs = ask(friend, reader), ask(reader, friend)
    hidden = "f" * 32
    tell(reader, OPENED, subject=hidden)
    tell(reader, ACCEPTED, subject=str(stranger.identity))
    shown = [event["object"] for event in read(reader).events]
    assert shown[0]["thread"]["id"] == f"thr_{mine.id.hex}"
    assert shown[0]["message"]["text"] == "How?"
    assert shown[1:] == [None, None]
    assert theirs.id.hex not in str(shown)


def test_objects_of_another_are_null(reader: Actor) -> None:
    one, two = person(), person()
    befriend(one, two)
    thread = ask(one, two).id
    tell(reader, OPENED, subject=entries(thread)[0].id.hex)
    assert [event["object"] for event in read(reader).events] == [None]


@pytest.mark.parametrize("after", [None, 0])
def test_a_page_of_one_kind_costs_two_statements(reader: Actor, after: int | None) -> None:
    friend = person()
    befriend(reader, friend)
    for _ in range(3):
        ask(friend, reader)
    with statements() as made:
        assert len(read(reader, after).events) == 3
    assert len(made) == 2, made


def test_a_dead_credential_reads_nothing(reader: Actor) -> None:
    tell(reader, ACCEPTED)

    def refused() -> str:
        return refusal(lambda: read(reader, 0)).code.value

    for field in ("revoked_at", "expires_at"):
        Credential.objects.filter(id=reader.credential).update(**{field: times.now()})
        assert refused() == "unauthenticated"
        Credential.objects.filter(id=reader.credential).update(**{field: None})
    for field, code in (("deleted_at", "unauthenticated"), ("suspended_at", "suspended")):
        Identity.objects.filter(number=reader.identity).update(**{field: times.now()})
        assert refused() == code
        Identity.objects.filter(number=reader.identity).update(**{field: None})
    assert len(read(reader, 0).events) == 1


def test_the_scope_is_needed(reader: Actor) -> None:
    error = refusal(lambda: read(without(reader, "messages:read")))
    assert (error.code, error.status) == ("insufficient_scope", 403)


def test_events_of_one_write_keep_their_order() -> None:
    one, two = with_token(person()), with_token(person())
    subjects: list[Any] = [new().hex for _ in range(6)]
    with db.write():
        publish(
            [Event((one, two)[place % 2].identity, OPENED, one_id) for place, one_id in enumerate(subjects)]
        )
    for place, actor in enumerate((one, two)):
        kept = InboxEvent.objects.filter(identity=actor.identity).order_by("seq")
        assert [event.subject for event in kept] == subjects[place::2]
        assert seqs(read(actor)) == [1, 2, 3]
