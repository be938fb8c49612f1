"""The same call made twice makes one thing."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from apps.core import times
from apps.core.models import IdempotencyKey
from apps.lifecycle.actions import contact_remove
from apps.threads import actions
from apps.threads.models import Entry, Thread
from tests.contacts.world import befriend, news, person, refusal, seen, together
from tests.threads.world import ask, code, friends, put, say

pytestmark = pytest.mark.django_db

PARALLEL = 20


def asks(asker: Any, other: Any, text: str = "How?", **fields: Any) -> actions.Said:
    return actions.ask(asker, seen(other), parts=[{"text": text}], **fields)


def test_a_repeated_question_is_the_first_one() -> None:
    asker, assignee = friends()
    first = asks(asker, assignee, client_id="k", context="c", metadata={"a": 1})
    again = asks(asker, assignee, client_id="k", context="c", metadata={"a": 1})
    assert (first.duplicate, again.duplicate) == (False, True)
    assert (again.thread, again.entry) == (first.thread, first.entry)
    assert Thread.objects.count() == Entry.objects.count() == 1
    assert len(news(assignee)) == 1


@pytest.mark.parametrize(
    "other", [{"text": "Why?"}, {"context": "d"}, {"metadata": {}}, {"metadata": {"a": True}}]
)
def test_the_same_key_for_something_else_is_refused(other: dict[str, Any]) -> None:
    asker, assignee = friends()
    asks(asker, assignee, client_id="k", context="c", metadata={"a": 1})
    fields = {"context": "c", "metadata": {"a": 1}, **other}
    error = refusal(lambda: asks(asker, assignee, client_id="k", **fields))
    assert (error.code, error.field) == ("idempotency_conflict", "client_id")
    assert Thread.objects.count() == 1


def test_the_same_key_to_somebody_else_is_refused() -> None:
    asker, assignee = friends()
    third = person()
    befriend(asker, third)
    asks(asker, assignee, client_id="k")
    assert refusal(lambda: asks(asker, third, client_id="k")).code == "idempotency_conflict"


def test_keys_of_two_identities_and_of_two_calls_are_independent() -> None:
    asker, assignee = friends()
    first = asks(asker, assignee, client_id="k")
    assert not asks(assignee, asker, client_id="k").duplicate
    said = say(asker, first.thread.id, client_id="k")
    assert not said.duplicate
    assert say(asker, first.thread.id, client_id="k").entry == said.entry


def test_a_repeated_answer_is_the_first_one_although_the_thread_is_closed() -> None:
    asker, assignee = friends()
    thread = ask(asker, assignee).id
    first = say(assignee, thread, client_id="k", attempt=None)
    again = say(assignee, thread, client_id="k")
    assert again.duplicate
    assert again.entry == first.entry
    assert refusal(lambda: say(assignee, thread, "Else.", client_id="k")).code == "idempotency_conflict"
    assert refusal(lambda: say(assignee, thread)).code == "thread_closed"


def test_a_refused_question_leaves_its_key_free() -> None:
    asker, stranger = person(), person()
    assert refusal(lambda: asks(asker, stranger, client_id="k")).code == "contact_requested"
    befriend(stranger, asker)
    assert not asks(asker, stranger, client_id="k").duplicate


def test_a_retry_by_content_holds_for_its_time(settings: Any) -> None:
    asker, assignee = friends()
    first = asks(asker, assignee, retry_hash=b"h" * 32)
    assert asks(asker, assignee, retry_hash=b"h" * 32).thread == first.thread
    assert not asks(asker, assignee, retry_hash=b"i" * 32).duplicate
    old = times.now() - timedelta(seconds=settings.RELAYGER.retry_seconds + 1)
    Entry.objects.update(created_at=old)
    assert not asks(asker, assignee, retry_hash=b"h" * 32).duplicate


@pytest.mark.parametrize("key", [{"client_id": "k"}, {"retry_hash": b"h" * 32}])
def test_a_repeat_is_the_first_one_whatever_became_of_the_contact(key: dict[str, Any]) -> None:
    asker, assignee = friends()
    first = asks(asker, assignee, **key)
    contact_remove(asker, str(assignee.identity))
    before = len(news(assignee))
    again = asks(asker, assignee, **key)
    assert (again.thread.id, again.thread.state, again.duplicate) == (first.thread.id, "canceled", True)
    assert len(news(assignee)) == before, "no request goes out"


def test_a_used_key_asks_no_stranger_to_be_a_contact() -> None:
    asker, assignee = friends()
    stranger = person()
    asks(asker, assignee, client_id="k")
    assert refusal(lambda: asks(asker, stranger, client_id="k")).code == "idempotency_conflict"
    assert news(stranger) == []


def test_nobody_takes_all_of_an_agents_time(settings: Any) -> None:
    settings.RELAYGER = settings.RELAYGER.model_copy(update={"rate_ask": "3/m"})
    asker, assignee = friends()
    other = person()
    befriend(other, assignee)
    thread = asks(asker, assignee).thread.id
    asks(asker, assignee)
    say(asker, thread, "And?")
    assert refusal(lambda: asks(asker, assignee)).code == "rate_limited"
    assert refusal(lambda: say(asker, thread, "And?")).code == "rate_limited"
    assert say(assignee, thread).thread.state == "answered"
    assert asks(other, assignee).thread.state == "open"


def test_a_retry_finds_only_ones_own() -> None:
    asker, assignee = friends()
    asks(asker, assignee, retry_hash=b"h" * 32)
    assert not asks(assignee, asker, retry_hash=b"h" * 32).duplicate


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_make_one_thread() -> None:
    asker, assignee = friends()
    answers = together(*[partial(asks, asker, assignee, client_id="k")] * PARALLEL)
    assert sorted(said.duplicate for said in answers) == [False] + [True] * (PARALLEL - 1)
    assert len({said.entry.id for said in answers}) == 1
    assert Thread.objects.count() == Entry.objects.count() == IdempotencyKey.objects.count() == 1
    assert len(news(assignee)) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_", range(5))
def test_one_key_to_two_at_once_makes_one_thread(_: int) -> None:
    asker, one = friends()
    two = person()
    befriend(asker, two)
    answers = together(*(partial(asks, asker, other, client_id="k") for other in (one, two)))
    assert sorted(str(code(answer)) for answer in answers) == ["None", "idempotency_conflict"]
    assert Thread.objects.count() == 1
    put(Thread.objects.get().id, state="answered")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_", range(3))
def test_first_words_at_once_make_one_request(_: int) -> None:
    asker, stranger = person(), person()
    answers = together(*[partial(asks, asker, stranger, client_id="k")] * 5)
    assert {code(answer) for answer in answers} == {"contact_requested"}
    assert [kind for kind, _ in news(stranger)] == ["contact.requested"]
