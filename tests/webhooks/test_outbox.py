"""Rows that wait: written with the news, sent by whoever claims them, in this process and with a real receiver."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from functools import partial

import pytest
from django.conf import settings
from pydantic import SecretStr

from apps.core import db, times
from apps.core.actor import Actor
from apps.identities.models import Identity
from apps.inbox import sending, sql, tries, webhooks
from apps.inbox.actions import Event, publish
from apps.inbox.models import InboxHead, Outbox, Webhook
from apps.lifecycle import jobs
from tests.contacts.world import person, statements, together
from tests.harness.wait import until
from tests.inbox.world import tell
from tests.threads.world import with_token
from tests.webhooks.receiver import HANG, Receiver, receiving

pytestmark = pytest.mark.django_db(transaction=True)
KIND = "contact.accepted"


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "private_targets", True)
    monkeypatch.setattr(settings.RELAYGER, "webhook_seconds", 2)


@pytest.fixture
def owner() -> Actor:
    return with_token(person())


def send() -> None:
    """Send what is due, and wait for all of it."""
    sending.send_due()
    until(lambda: not any(thread.name == sending.THREAD for thread in threading.enumerate()))


def hook(actor: Actor, url: str = "http://127.0.0.1:1/") -> Webhook:
    return Webhook.objects.get(pk=webhooks.make(actor, url).view.id)


def states(of: Webhook) -> list[tuple[int, str, int]]:
    return list(Outbox.objects.filter(webhook=of).order_by("seq").values_list("seq", "state", "attempts"))


def hooks(actor: Actor) -> int:
    return InboxHead.objects.get(identity=actor.identity).hooks


def test_news_costs_nothing_where_no_webhook_is(owner: Actor, receiver: Receiver) -> None:
    tell(owner, KIND)
    with statements() as without:
        tell(owner, KIND, KIND)
    assert len(without) == 2
    for _ in range(3):
        hook(owner, receiver.url)
    with statements() as within:
        tell(owner, KIND, KIND)
    assert len(within) == 4
    # One ping for each webhook, of the newest of what came together.
    assert list(Outbox.objects.values_list("seq", flat=True)) == [5] * 3


def test_what_is_taken_back_pings_nobody(owner: Actor, receiver: Receiver) -> None:
    hook(owner, receiver.url)

    def fail() -> None:
        with db.write():
            publish([Event(owner.identity, KIND, "1")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    send()
    assert not Outbox.objects.exists()
    assert receiver.pings == []


def test_the_count_of_webhooks_is_right_after_each_change(owner: Actor) -> None:
    tell(owner, KIND)
    assert hooks(owner) == 0
    one, _ = hook(owner), hook(owner)
    assert hooks(owner) == 2
    with db.write():
        sql.lock_head(owner.identity)
        webhooks.disable(owner.identity, one.id, "why")
        webhooks.disable(owner.identity, one.id, "again")
    assert hooks(owner) == 1
    assert [note.reason for note in Webhook.objects.filter(pk=one.id)] == ["why"]
    webhooks.change(owner, one.id, enable=True)
    assert hooks(owner) == 2
    webhooks.delete(owner, one.id)
    assert hooks(owner) == 1


def test_a_head_is_made_for_who_has_no_news_yet(owner: Actor) -> None:
    hook(owner)
    assert (hooks(owner), InboxHead.objects.get(identity=owner.identity).seq) == (1, 0)
    tell(owner, KIND)
    assert list(Outbox.objects.values_list("seq", flat=True)) == [1]


def test_changes_and_news_at_once_lose_nothing(owner: Actor, receiver: Receiver) -> None:
    one = hook(owner, receiver.url)
    together(
        *[partial(tell, owner, KIND)] * 4,
        *[partial(hook, owner, receiver.url)] * 2,
        *[send] * 3,
        lambda: webhooks.rotate(owner, one.id),
        lambda: webhooks.test(owner, one.id),
    )
    send()
    assert hooks(owner) == 3
    assert not Outbox.objects.exclude(state="delivered").exists()
    assert [seq for seq, *_ in states(one) if seq] == sorted(seq for seq, *_ in states(one) if seq)
    inbox = [ping.seq for ping in receiver.pings if ping.json["type"] == "inbox"]
    assert set(inbox) == {1, 2, 3, 4}


def test_many_senders_send_each_ping_once_and_in_order(owner: Actor, receiver: Receiver) -> None:
    made = [hook(owner, f"{receiver.url}/{number}") for number in range(8)]
    for _ in range(5):
        tell(owner, KIND)
    # As many processes would: no one of them knows of the others' senders.
    together(*[lambda: asyncio.run(sending._send_until_idle())] * 4)
    for number, one in enumerate(made):
        came = [ping for ping in receiver.pings if ping.path == f"/hook/{number}"]
        assert [ping.seq for ping in came] == [1, 2, 3, 4, 5]
        assert states(one) == [(seq, "delivered", 1) for seq in range(1, 6)]
    assert len(receiver.pings) == 40


@pytest.mark.parametrize("standing", ["suspended_at", "deleted_at"])
def test_who_is_gone_is_sent_nothing(owner: Actor, receiver: Receiver, standing: str) -> None:
    one = hook(owner, receiver.url)
    tell(owner, KIND)
    Identity.objects.filter(pk=owner.identity).update(**{standing: times.now()})
    send()
    assert receiver.pings == []
    # And nothing either by who claimed it a moment before.
    Identity.objects.filter(pk=owner.identity).update(**{standing: None})
    (claimed,) = tries.claim(10)
    Identity.objects.filter(pk=owner.identity).update(**{standing: times.now()})
    assert tries.first(claimed) is None
    assert states(one) == [(1, "pending", 0)]
    # Who comes back hears of what waited.
    Identity.objects.filter(pk=owner.identity).update(**{standing: None})
    Webhook.objects.update(claimed_until=None)
    send()
    assert [ping.seq for ping in receiver.pings] == [1]


def test_nothing_more_goes_out_once_somebody_is_gone(owner: Actor) -> None:
    def answer(before: int) -> int:
        assert before == 0
        gone.set()
        assert proceed.wait(10)
        return 200

    gone, proceed = threading.Event(), threading.Event()
    with receiving(answer) as receiver:
        hook(owner, receiver.url)
        tell(owner, KIND)
        tell(owner, KIND)
        thread = threading.Thread(target=send)
        thread.start()
        assert gone.wait(10)
        Identity.objects.filter(pk=owner.identity).update(suspended_at=times.now())
        proceed.set()
        thread.join(20)
        assert len(receiver.pings) == 1


def test_a_claim_that_was_taken_over_writes_nothing(owner: Actor) -> None:
    one = hook(owner)
    tell(owner, KIND)
    (claimed,) = tries.claim(10)
    assert tries.claim(10) == []
    first = tries.first(claimed)
    assert first is not None
    assert tries.first(claimed) is None, "its claim was renewed"
    Webhook.objects.update(claimed_until=times.now() - timedelta(seconds=1))
    (later,) = tries.claim(10)
    second = tries.first(later)
    assert second is not None
    assert first.ping.id == second.ping.id
    assert tries.done(first, tries.Outcome(500)) is None
    assert states(one) == [(1, "pending", 2)]
    assert tries.done(second, tries.Outcome(200)) is None
    assert states(one) == [(1, "delivered", 2)]


def test_pings_after_an_outage_are_thinned_but_the_newest_comes(
    owner: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tries, "MOST_WAITING", 5)
    with receiving() as receiver:
        one = hook(owner, receiver.url)
        for _ in range(9):
            tell(owner, KIND)
        webhooks.test(owner, one.id)
        send()
        assert [(ping.json["type"], ping.seq) for ping in receiver.pings] == [("inbox", 9), ("test", 9)]
    dropped = Outbox.objects.filter(webhook=one, state="dropped")
    assert sorted(dropped.values_list("seq", flat=True)) == list(range(1, 9))
    assert {row.error for row in dropped} == {"A newer ping says the same."}


def test_a_ping_that_was_tried_is_not_thinned(owner: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "MOST_WAITING", 3)
    with receiving(lambda before: 500 if before == 0 else 200) as receiver:
        hook(owner, receiver.url)
        for _ in range(9):
            tell(owner, KIND)
            if not receiver.pings:
                send()
        Webhook.objects.update(due_at=times.now())
        send()
        assert [ping.seq for ping in receiver.pings] == [1, 1, 9]


def test_pauses_grow_and_heed_the_receiver_within_bounds() -> None:
    now = times.now()
    for attempts, least, most in (
        (1, 1.5, 2.5),
        (2, 3, 5),
        (5, 24, 40),
        (12, 2700, 4500),
        (10**6, 2700, 4500),
    ):
        for _ in range(50):
            assert least <= tries._pause(attempts, None, now) <= most
    assert tries._pause(1, "60", now) == 60
    assert tries._pause(1, "9" * 30, now) == 3600
    assert 50 < tries._pause(1, (now + timedelta(minutes=1)).strftime("%a, %d %b %Y %H:%M:%S GMT"), now) <= 60
    for nonsense in ("", "-5", "soon", "1e3", "٣", "Mon, 99 Jan 2026 00:00:00 GMT"):
        assert tries._pause(1, nonsense, now) <= 2.5


def test_a_secret_that_cannot_be_read_is_a_failure_with_a_way_out(
    owner: Actor, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hook(owner, receiver.url)
    monkeypatch.setattr(settings.RELAYGER, "secrets_key", SecretStr("A" * 43))
    tell(owner, KIND)
    send()
    assert "rotate" in Outbox.objects.get(webhook=one).error
    assert receiver.pings == []
    made = webhooks.rotate(owner, one.id, overlap_hours=0)
    assert made.secret is not None
    Webhook.objects.update(due_at=times.now())
    send()
    assert receiver.pings[0].verify(made.secret)


def test_what_is_old_is_forgotten_but_not_what_waits(owner: Actor) -> None:
    one = hook(owner)
    for state in ("delivered", "dropped", "pending"):
        for days in (6, 8):
            Outbox.objects.create(
                webhook=one, seq=days, state=state, created_at=times.now() - timedelta(days=days)
            )
    jobs.forget_deliveries()
    jobs.forget_deliveries()
    assert sorted(Outbox.objects.values_list("state", "seq")) == [
        ("delivered", 6),
        ("dropped", 6),
        ("pending", 6),
        ("pending", 8),
    ]


def test_no_transaction_is_open_while_something_is_sent(owner: Actor) -> None:
    with receiving(lambda _: HANG) as receiver:
        one = hook(owner, receiver.url)
        tell(owner, KIND)
        thread = threading.Thread(target=send)
        thread.start()
        receiver.wait(1)
        # It would wait for a row, or for SQLite's one writer, until the try ends.
        webhooks.change(owner, one.id, name="changed")
        tell(owner, KIND)
        webhooks.delete(owner, one.id)
        assert thread.is_alive()
        thread.join(20)
    until(lambda: not Outbox.objects.exists())
