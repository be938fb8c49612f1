"""Order of `seq` is order of commit: a reader that follows `next` skips and repeats nothing."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from django.db import connection

from apps.core import db
from apps.core.actor import Actor
from apps.inbox.actions import Event, publish
from tests.contacts.world import person, together
from tests.inbox.world import read, seqs, tell
from tests.threads.world import with_token

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS, ROUNDS = 4, 8
KIND = "contact.accepted"


def follow(reader: Actor, until: int) -> list[int]:
    """Read on from `next` until seq `until` is there; every seq in the order it came."""
    found: list[int] = []
    after = 0
    while after < until:
        page = read(reader, after, limit=3)
        found += seqs(page)
        after = page.next
    return found


def test_a_held_transaction_holds_up_what_comes_after_it() -> None:
    reader = with_token(person())
    inserted, release = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def hold() -> None:
        with db.write():
            publish([Event(reader.identity, KIND, "1")])
            inserted.set()
            assert release.wait(20)

    def run(call: Any) -> None:
        try:
            call()
        except BaseException as error:  # handed to the test's own thread
            failures.append(error)
        finally:
            connection.close()

    first = threading.Thread(target=run, args=[hold])
    first.start()
    assert inserted.wait(10)
    second = threading.Thread(target=run, args=[partial(tell, reader, KIND, subject="2")])
    second.start()
    second.join(0.3)  # it must not be able to end before the first
    assert second.is_alive()
    page = read(reader, 0)
    assert (page.events, page.next) == ([], 0)
    release.set()
    first.join(20)
    second.join(20)
    assert failures == []
    assert follow(reader, 2) == [1, 2]


def test_a_reader_beside_many_writers() -> None:
    reader, other = with_token(person()), person()

    def writes(place: int) -> None:
        for _ in range(ROUNDS):
            with db.write():
                both = [Event(reader.identity, KIND, "1"), Event(other.identity, KIND, "1")]
                # Whichever order the caller names them in, heads are raised in one.
                publish(both if place % 2 else both[::-1])

    total = WRITERS * ROUNDS
    *_, found = together(
        *(partial(writes, place) for place in range(WRITERS)), partial(follow, reader, total)
    )
    assert found == list(range(1, total + 1))
