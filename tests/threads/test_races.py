"""Two at once on one thread or in one chat: one of them wins, and nothing is lost or doubled."""

from __future__ import annotations

from functools import partial

import pytest

from apps.threads import actions
from apps.threads.models import Entry, Thread
from tests.contacts.world import news, together
from tests.threads.world import FINAL, ask, code, entries, friends, overdue, say, standing

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 6


def sound() -> None:
    """Cursors count each chat's entries, and a thread's generation is its last entry's."""
    for chat in set(Entry.objects.values_list("chat", flat=True)):
        cursors = list(Entry.objects.filter(chat=chat).order_by("cursor").values_list("cursor", "chat__head"))
        assert [cursor for cursor, _ in cursors] == list(range(1, len(cursors) + 1))
        assert cursors[-1][1] == len(cursors)
    for thread in Thread.objects.all():
        assert thread.generation == entries(thread.id)[-1].cursor


@pytest.mark.parametrize("_", range(ROUNDS))
def test_two_claims_make_one_lease(_: int) -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    claims = [partial(actions.work, assignee, thread, worker=f"w{place}") for place in range(4)]
    answers = together(*claims)
    assert sorted(str(code(answer)) for answer in answers) == ["None", *["leased"] * 3]
    won = next(answer for answer in answers if code(answer) is None)
    row = standing(thread)
    assert (row.attempt, row.lease_owner, row.lease_until) == (1, won.thread.lease_owner, won.until)
    assert [kind for kind, _ in news(asker)] == ["thread.state"]
    sound()


@pytest.mark.parametrize("_", range(ROUNDS))
def test_a_cancel_and_an_answer_make_one_final_state(_: int) -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    answers = together(
        partial(actions.cancel, asker, thread),
        partial(say, assignee, thread),
        partial(say, assignee, thread, state="failed"),
    )
    assert sorted(str(code(answer)) for answer in answers) == ["None", "thread_closed", "thread_closed"]
    won = ["canceled", "answered", "failed"][[code(answer) for answer in answers].index(None)]
    assert standing(thread).state == won
    assert len(entries(thread)) == 2
    sound()


@pytest.mark.parametrize("_", range(ROUNDS))
def test_the_clock_and_a_reply(_: int) -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    overdue(thread)
    _, _, reply = together(actions.expire_due, actions.expire_due, partial(say, assignee, thread))
    state = standing(thread).state
    assert (state, code(reply)) in (("expired", "thread_closed"), ("answered", None))
    assert [one.type for one in entries(thread)][1:] == [
        "thread.state" if state == "expired" else "thread.message"
    ]
    assert len(news(asker)) == 1
    sound()


def test_many_writers_in_one_chat_leave_no_gap() -> None:
    asker, assignee = friends()
    threads = [ask(asker, assignee).id, ask(assignee, asker).id]

    def writes(place: int) -> None:
        actor = (asker, assignee)[place % 2]
        for _ in range(5):
            ask(actor, (assignee, asker)[place % 2])
            if actor is asker:
                say(actor, threads[0])
            else:
                say(actor, threads[1])

    together(*(partial(writes, place) for place in range(6)))
    assert Entry.objects.count() == 2 + 6 * 5 * 2
    assert len(news(asker)) + len(news(assignee)) == Entry.objects.count()
    sound()


@pytest.mark.parametrize("_", range(ROUNDS))
def test_two_replies_answer_once(_: int) -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    answers = together(*[partial(say, assignee, thread)] * 4)
    assert sorted(str(code(answer)) for answer in answers) == ["None", *["thread_closed"] * 3]
    assert standing(thread).state in FINAL
    sound()
