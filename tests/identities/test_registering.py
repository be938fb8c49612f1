"""Registering and changing an identity, in this process."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from nacl.signing import SigningKey

from apps.core import times
from apps.core.actor import SCOPES
from apps.core.errors import Code, DomainError
from apps.identities import actions, handles, keys, numbers, queries
from apps.identities.models import Account, Credential, Handle, Identity, Key, Skill
from tests.contacts.world import refusal
from tests.identities.people import actor, handle, name, number, register

pytestmark = pytest.mark.django_db

GOOD = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"  # of RFC 8032's first test


def key() -> str:
    public = bytes(SigningKey.generate().verify_key)
    return base64.urlsafe_b64encode(public).decode().rstrip("=")


def change(made: actions.Registered, **fields: Any) -> queries.Own:
    return actions.update(actor(made), fields)


def later(monkeypatch: pytest.MonkeyPatch, **period: float) -> None:
    """Let time pass."""
    then = times.now() + timedelta(**period)
    monkeypatch.setattr(times, "now", lambda: then)


# -- what is made -------------------------------------------------------------------------------------------------


def test_a_new_identity() -> None:
    made = register(kind="human", handle="@" + name("Ada").upper(), display_name="Ada")
    shown = made.identity.show()
    assert re.fullmatch(r"[1-9][0-9]{9}", shown["number"])
    assert shown["handle"].startswith("ada-")
    assert shown["kind"] == "human"
    assert shown["a2a_url"] is None
    assert shown["listed"] is False
    assert (shown["policy"], shown["receive"], shown["accept"]) == ("ask", "any", "none")
    assert shown["public_key"] is None
    assert shown["keys"] == {"sign": None, "seal": None}


def test_without_a_handle_it_is_named_by_its_number() -> None:
    made = register()
    assert handle(made) == f"agent-{number(made)}"
    assert made.identity.show()["a2a_url"] == f"{settings.RELAYGER.origin}/a2a/{number(made)}"


def test_each_has_an_account_without_users() -> None:
    one, two = register(), register()
    assert one.identity.account != two.identity.account
    assert not Account.objects.get(pk=one.identity.account).roles.exists()


def test_a_token_is_kept_as_a_hash_only() -> None:
    made = register()
    assert made.token is not None
    kept = Credential.objects.get(identity=number(made))
    assert bytes(kept.hash) == hashlib.sha256(made.token.encode()).digest()
    assert len(made.token) >= 4 + 27  # 160 bits and more
    assert set(kept.scopes.split()) == set(SCOPES)
    everything = " ".join(str(row) for row in Credential.objects.values())
    assert made.token not in everything
    assert made.token[4:] not in everything
    assert queries.authenticate(f"Bearer {made.token}", "").identity == number(made)


def test_nothing_is_left_of_a_refused_registration() -> None:
    taken = handle(register(handle=name()))
    before = [model.objects.count() for model in (Account, Identity, Credential, Handle, Skill)]
    with pytest.raises(DomainError):
        register(handle=taken)
    with pytest.raises(DomainError):
        register(handle=name(), skills=[{"name": "A", "slug": "a"}, {"name": "B", "slug": "a"}])
    assert [model.objects.count() for model in (Account, Identity, Credential, Handle, Skill)] == before


def test_a_number_is_drawn_again_until_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = number(register())
    free = numbers.draw()
    drawn = iter([taken, taken, free])
    monkeypatch.setattr(numbers, "draw", lambda: next(drawn))
    assert number(register()) == free


def test_addresses_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "rate_register", "2/h")
    address = name("address")
    register(address)
    register(address)
    assert refusal(lambda: register(address)).code is Code.RATE_LIMITED
    register(name("address"))


# -- public keys --------------------------------------------------------------------------------------------------


def test_the_same_key_registers_once() -> None:
    public = key()
    first = register(public_key=public, display_name="First")
    known = actions.Known(first.identity.profile.ref)
    assert actions.register("192.0.2.1", kind="agent", public_key=public, handle="admin") == known
    assert actions.register("192.0.2.1", kind="human", public_key=f"{public}=") == known
    assert first.identity.show()["public_key"] == public
    assert Key.objects.count() == Credential.objects.count() == 1


@pytest.mark.parametrize("field", ["deleted_at", "suspended_at"])
def test_a_key_of_somebody_gone_is_good_for_nobody(field: str) -> None:
    public = key()
    made = register(public_key=public)
    Identity.objects.filter(pk=number(made)).update(**{field: times.now()})
    assert refusal(lambda: register(public_key=public)).code is Code.KEY_TAKEN


def test_a_retired_or_sealing_key_registers_nobody() -> None:
    for fields in ({"retired_at": times.now()}, {"purpose": "seal"}):
        public = key()
        register(public_key=public)
        Key.objects.filter(public=keys.read_sign(public)).update(**fields)
        error = refusal(lambda public=public: register(public_key=public))  # type: ignore[misc]
        assert (error.code, error.status, error.field) == (Code.KEY_TAKEN, 409, "public_key")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "A" * 43,  # zero: a point of small order
        "AQ" + "A" * 41,  # one: the neutral element
        "_" * 43,
        GOOD[:-1],
        GOOD + "==",
        GOOD + "A",
        " " + GOOD,
        GOOD + "\n",
        "é" * 43,
        "+" * 43,
        "/" * 43,
        "٠" * 43,
    ],
    ids=ascii,
)
def test_what_is_no_key(text: str) -> None:
    error = refusal(lambda: register(public_key=text))
    assert (error.code, error.field) == (Code.INVALID, "public_key")


# -- handles ------------------------------------------------------------------------------------------------------


def test_a_taken_handle_comes_with_free_ones() -> None:
    taken = handle(register(handle=name("ada")))
    error = refusal(lambda: register(handle=taken.upper()))
    assert (error.code, error.status, error.field) == (Code.HANDLE_TAKEN, 409, "handle")
    proposed = error.body()["error"]["suggestions"]
    assert len(proposed) == 3
    for one in proposed:
        assert handle(register(handle=one)) == one


def test_proposals_are_free_at_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = [handle(register(handle=name())) for _ in range(3)]
    free = name()
    monkeypatch.setattr(handles, "candidates", lambda _: [*taken, free])
    assert refusal(lambda: register(handle=taken[0])).extra["suggestions"] == [free]


@pytest.mark.parametrize("text", ["admin", "Relayger", "@support", "agent-1234567897"])
def test_reserved_words_are_refused(text: str) -> None:
    error = refusal(lambda: register(handle=text))
    assert error.code is Code.HANDLE_TAKEN
    assert error.extra["suggestions"]
    made = register()
    assert refusal(lambda: change(made, handle=text)).code is Code.HANDLE_TAKEN


def test_an_old_handle_is_held_for_its_owner() -> None:
    old, new = name(), name()
    made = register(handle=old)
    assert change(made, handle=new).profile.ref.handle == new
    assert queries.find(old) is None
    found = queries.find(f"@{new.upper()}")
    assert found is not None
    assert found.number == number(made)
    assert refusal(lambda: register(handle=old)).code is Code.HANDLE_TAKEN
    assert change(made, handle=old).profile.ref.handle == old
    assert refusal(lambda: register(handle=new)).code is Code.HANDLE_TAKEN
    assert list(Handle.objects.filter(held_until=None).values_list("handle", flat=True)) == [old]


def test_after_90_days_it_is_anybodys(monkeypatch: pytest.MonkeyPatch) -> None:
    old = name()
    made = register(handle=old)
    change(made, handle=name())
    later(monkeypatch, days=89.9)
    assert refusal(lambda: register(handle=old)).code is Code.HANDLE_TAKEN
    later(monkeypatch, days=90.1)
    assert handle(register(handle=old)) == old
    assert refusal(lambda: change(made, handle=old)).code is Code.HANDLE_TAKEN


def test_its_first_name_is_its_own_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = register()
    default = f"agent-{number(made)}"
    change(made, handle=name())
    later(monkeypatch, days=100)
    stranger = register()
    assert refusal(lambda: change(stranger, handle=default)).code is Code.HANDLE_TAKEN
    assert change(made, handle=default).profile.ref.handle == default


def test_the_handle_of_a_deleted_identity_is_never_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = register(handle=name())
    Identity.objects.filter(pk=number(made)).update(deleted_at=times.now())
    later(monkeypatch, days=1000)
    assert refusal(lambda: register(handle=handle(made))).code is Code.HANDLE_TAKEN


def test_ones_own_handle_in_another_spelling_is_no_change() -> None:
    made = register(handle=name())
    assert change(made, handle="@" + handle(made).upper()).profile.ref.handle == handle(made)
    assert Handle.objects.filter(identity=number(made)).count() == 1


# -- profiles -----------------------------------------------------------------------------------------------------


def test_only_what_is_given_changes() -> None:
    made = register(display_name="Ada", description="Engines", skills=[{"name": "Steam"}], listed=True)
    before = made.identity.show()
    after = change(made, description="").show()
    assert {field for field in after if after[field] != before[field]} == {"description"}
    assert change(made, skills=[]).show()["skills"] == []
    assert change(made).show() == {**after, "skills": []}


def test_policies_are_pairs_with_names() -> None:
    made = register()
    for policy, pair in {
        "anyone": ("any", "any"),
        "nobody": ("contacts", "none"),
        "ask": ("any", "none"),
    }.items():
        shown = change(made, policy=policy).show()
        assert (shown["policy"], shown["receive"], shown["accept"]) == (policy, *pair)
    shown = change(made, accept="shared").show()
    assert (shown["policy"], shown["receive"], shown["accept"]) == (None, "any", "shared")


def test_skills_get_slugs_of_their_own() -> None:
    made = register(
        skills=[
            {"name": "C++"},
            {"name": "C"},
            {"name": "c-2", "slug": "given"},
            {"name": "日本語"},
            {"name": "Über Café"},
            {"name": "x" * 120},
            {"name": "taken", "slug": "c"},
            {"name": "tags", "tags": ["b", "a", "b"]},
        ]
    )
    skills = made.identity.show()["skills"]
    slugs = [skill["slug"] for skill in skills]
    assert slugs == ["c-2", "c-3", "given", "skill", "uber-cafe", "x" * 60, "c", "tags"]
    assert [skill["name"] for skill in skills][:2] == ["C++", "C"]
    assert skills[-1]["tags"] == ["b", "a"]
    assert change(made, skills=[{"name": "New"}]).show()["skills"] == [
        {"slug": "new", "name": "New", "description": "", "tags": []}
    ]


def test_two_skills_with_one_slug_are_refused() -> None:
    error = refusal(lambda: register(skills=[{"name": "A", "slug": "a"}, {"name": "B", "slug": "a"}]))
    assert (error.code, error.field) == (Code.INVALID, "skills[1].slug")


def test_changing_needs_the_scope() -> None:
    made = register()
    narrow = actor(made, tuple(scope for scope in SCOPES if scope != "profile"))
    error = refusal(lambda: actions.update(narrow, {"listed": True}))
    assert (error.code, error.status, error.extra) == (Code.INSUFFICIENT_SCOPE, 403, {"scope": "profile"})
    assert not Identity.objects.get(pk=number(made)).listed


def test_handles_are_not_hoarded(settings: Any) -> None:
    settings.RELAYGER = settings.RELAYGER.model_copy(update={"rate_handle": "2/d"})
    made = register()
    change(made, handle=f"a-{number(made)}")
    change(made, handle=f"b-{number(made)}")
    error = refusal(lambda: change(made, handle=f"c-{number(made)}"))
    assert error.code == Code.RATE_LIMITED
    assert Identity.objects.get(pk=number(made)).handle == f"b-{number(made)}"
