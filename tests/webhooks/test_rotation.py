"""Secrets that change: both sign for a while."""

from __future__ import annotations

import base64
import os

import pytest
from django.conf import settings
from standardwebhooks import WebhookVerificationError

from apps.core import vault
from tests.harness.cast import Cast, Person
from tests.webhooks.receiver import Ping, Receiver
from tests.webhooks.world import make


def ping(person: Person, receiver: Receiver, id: str) -> Ping:
    count = len(receiver.pings)
    person.call("POST", f"/v1/webhooks/{id}/test")
    return receiver.wait(count + 1)[-1]


def test_both_secrets_sign_during_the_overlap(people: Cast, receiver: Receiver) -> None:
    bob = people.bob
    made = make(bob, receiver.url)
    id, first = made["id"], made["secret"]
    assert " " not in ping(bob, receiver, id).headers["webhook-signature"]
    second = bob.call("POST", f"/v1/webhooks/{id}/rotate", {"overlap_hours": 1})["secret"]
    both = ping(bob, receiver, id)
    signatures = both.headers["webhook-signature"].split(" ")
    assert len(signatures) == 2
    assert all(signature.startswith("v1,") for signature in signatures)
    assert both.verify(first) == both.verify(second)
    third = bob.call("POST", f"/v1/webhooks/{id}/rotate", {"overlap_hours": 0})["secret"]
    alone = ping(bob, receiver, id)
    assert alone.verify(third)
    for old in (first, second):
        with pytest.raises(WebhookVerificationError):
            alone.verify(old)
    assert len({first, second, third}) == 3
    assert len(base64.b64decode(first.removeprefix("whsec_"))) == 32


def key() -> str:
    return base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def use(monkeypatch: pytest.MonkeyPatch, *keys: str) -> None:
    given = None if not keys else type(settings.RELAYGER.secret_key)(",".join(keys))
    monkeypatch.setattr(settings.RELAYGER, "secrets_key", given)


def test_the_first_key_closes_and_each_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = key(), key()
    use(monkeypatch, old)
    kept = vault.close(b"secret")
    assert b"secret" not in kept
    assert kept != vault.close(b"secret")
    use(monkeypatch, new, old)
    assert vault.open(kept) == b"secret"
    newer = vault.close(b"secret")
    use(monkeypatch, new)
    assert vault.open(newer) == b"secret"
    for lost in (kept, b"", newer[:-1]):
        with pytest.raises(vault.Lost):
            vault.open(lost)
    use(monkeypatch)
    assert vault.open(vault.close(b"secret")) == b"secret"
    with pytest.raises(vault.Lost):
        vault.open(newer)
