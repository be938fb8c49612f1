"""What is left of an identity after its grace: nothing but what it said to others."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.apps import apps

from apps.contacts.models import Contact
from apps.core import times
from apps.core.actor import Actor
from apps.identities.actions import mint
from apps.identities.models import Account, Credential, Handle, Identity, Role, User
from apps.lifecycle import deletion, jobs
from apps.lifecycle.purge import purge, purge_deleted
from tests.chats.test_messages import texts
from tests.contacts.world import befriend, block, person, refusal, statements, together
from tests.harness.cast import Cast
from tests.harness.service import Service, Starter
from tests.harness.wait import until
from tests.lifecycle.world import busy, gone, grace_passes, rows

# Tables that may name an identity by number after it is gone, and why.
STAYS = {
    "contacts_chat",  # the pair of a direct chat
    "identities_handle",  # so that nobody else has it
    "identities_identity",
    "inbox_inboxevent",  # others' news of it, which show nothing any more, until they are too old
    "identities_key",  # so that it never changes hands
    "lifecycle_report",  # the operators'
    "threads_entry",  # who said it
    "threads_file",  # whose content is gone
    "threads_thread",
}


def test_what_it_had_goes_and_what_it_said_stays(fresh_server: Starter) -> None:
    service = fresh_server(jobs=True, RELAYGER_JOB_SECONDS="0.2", RELAYGER_PRIVATE_TARGETS="true")
    cast = Cast(service)
    alice, bob, made = busy(cast)
    alice.call("POST", f"/v1/chats/{alice.number}/messages", {"text": "a note to myself"}, status=None)
    key = alice.call("GET", "/v1/keys")["items"][0]["public_key"]
    alice.call("DELETE", "/v1/me")
    assert alice.call("POST", "/v1/me/restore")["number"] == alice.number
    alice.call("DELETE", "/v1/me")
    grace_passes(alice)
    until(lambda: gone(alice), 60)

    assert alice.refused("POST", "/v1/me/restore") == "unauthenticated"
    assert texts(bob, made["direct"])[-1] == "A message"
    chat = bob.call("GET", f"/v1/chats/{made['direct']}")
    assert chat["with"] == {
        "number": alice.number,
        "handle": f"deleted-{alice.number}",
        "kind": "agent",
        "display_name": "",
    }
    assert [one["number"] for one in chat["people"]] == [bob.number]
    assert bob.thread(made["thread"])["asker"]["handle"] == f"deleted-{alice.number}"
    assert bob.call("GET", f"/v1/chats/{made['direct']}/files")["items"] == []
    assert bob.refused("GET", f"/v1/files/{made['file']}") == "not_found"
    assert bob.refused("GET", f"/v1/identities/deleted-{alice.number}") == "not_found"
    body = {"kind": "agent", "handle": alice.handle}
    assert service.http.post("/v1/register", json=body).json()["error"]["code"] == "handle_taken"
    body = {"kind": "agent", "handle": f"deleted-{alice.number}"}
    assert service.http.post("/v1/register", json=body).json()["error"]["code"] == "handle_taken"
    body = {"kind": "agent", "public_key": key}
    assert service.http.post("/v1/register", json=body).json()["error"]["code"] == "key_taken"
    _nothing_names(
        service, alice.number, ["Alice Liddell", "a note to myself", "on my laptop", "May I?", "hello.txt"]
    )
    cast.close()


def _nothing_names(service: Service, number: str, personal: list[str]) -> None:
    """No table but those that must holds the number, and no table holds any of what was personal."""
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        text = "\n".join(map(str, rows(service, f'SELECT * FROM "{table}"')))
        for one in personal:
            assert one not in text, f"{table} holds {one!r}"
        assert table in STAYS or number not in text, f"{table} names it"


@pytest.mark.django_db
def test_only_what_is_due_goes_and_again_changes_nothing() -> None:
    alice, bob = person(), person()
    befriend(alice, bob)
    deletion.delete(alice)
    purge_deleted()
    assert Contact.objects.count() == 2
    _due(alice)
    assert refusal(lambda: deletion.restore(_token(alice), "")).code == "unauthenticated"
    purge_deleted()
    left = _all()
    purge_deleted()
    jobs.end_what_is_open()
    assert _all() == left
    row = Identity.objects.get(pk=alice.identity)
    assert (row.handle, row.display_name, row.purge_at) == (f"deleted-{alice.identity}", "", None)
    assert row.deleted_at is not None
    assert not Contact.objects.exists()
    assert not Credential.objects.filter(identity=alice.identity).exists()


@pytest.mark.django_db
def test_the_handle_is_held_for_ever() -> None:
    alice = person()
    Handle.objects.create(handle=alice.ref.handle, identity_id=alice.identity)
    deletion.delete(alice)
    _due(alice)
    purge_deleted()
    jobs.free_held_handles()
    assert Handle.objects.get(handle=alice.ref.handle).held_until is None


@pytest.mark.django_db
def test_an_account_goes_with_the_last_in_it() -> None:
    alice = person()
    second = person(beside=alice)
    with_user = person()
    user = User.objects.create_user("alice@example.org", "secret")
    Role.objects.create(
        account_id=with_user.account, user=User.objects.create_user("o@example.org"), role="owner"
    )
    Identity.objects.filter(pk=second.identity).update(user=user)
    for one in (alice, second, with_user):
        deletion.delete(one)
        _due(one)
    Identity.objects.filter(pk=second.identity).update(purge_at=times.now() + timedelta(days=1))
    purge_deleted()
    assert Account.objects.filter(pk__in=[alice.account, with_user.account]).count() == 2
    assert User.objects.filter(pk=user.pk).exists()
    _due(second)
    purge_deleted()
    assert not Account.objects.filter(pk=alice.account).exists()
    assert not User.objects.filter(pk=user.pk).exists()
    assert Account.objects.filter(pk=with_user.account).exists()


@pytest.mark.django_db
def test_a_block_outlives_the_blocked() -> None:
    alice, mallory, bob = person(), person(), person()
    block(alice, mallory)
    for one in (mallory, bob):
        deletion.delete(one)
        _due(one)
    purge_deleted()
    kept = Identity.objects.get(pk=mallory.identity)
    assert kept.account_id == mallory.account
    assert Identity.objects.get(pk=bob.identity).account_id != bob.account


@pytest.mark.django_db(transaction=True)
def test_two_processes_at_once_share_the_work() -> None:
    people = [person() for _ in range(6)]
    for one in people[1:]:
        befriend(people[0], one)
    for one in people:
        deletion.delete(one)
        _due(one)
    together(purge_deleted, purge_deleted, partial(purge, people[0].identity))
    purge_deleted()
    assert Identity.objects.filter(purge_at=None, deleted_at__isnull=False).count() == 6
    assert not Contact.objects.exists()


@pytest.mark.django_db
def test_the_cost_does_not_grow_with_what_there_is() -> None:
    def cost(friends: int) -> int:
        alice = person()
        for _ in range(friends):
            befriend(alice, person())
        deletion.delete(alice)
        _due(alice)
        with statements() as made:
            assert purge(alice.identity)
        return len(made)

    cost(1)  # the first one ever also makes the account of those who are gone
    assert cost(1) == cost(5)


def _due(actor: Actor) -> None:
    Identity.objects.filter(pk=actor.identity).update(purge_at=times.now() - timedelta(seconds=1))


def _token(actor: Actor) -> str:
    return f"Bearer {mint(Identity.objects.get(pk=actor.identity), 'late')}"


def _all() -> list[object]:
    return [
        list(model.objects.order_by("pk").values())
        for model in (Identity, Account, Contact, Credential, Handle)
    ]
