"""Bearer tokens: one statement each, and every wrong one answers alike."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core import ids, times
from apps.core.errors import Code, DomainError
from apps.identities import actions, queries, secrets, seed
from apps.identities.models import Credential, Identity, Presence
from tests.contacts.world import refusal, statements
from tests.identities.people import actor, handle, name, number, register

GOOD = "rgt_" + "a" * 32


@given(st.text(max_size=80) | st.text("Bearrgt_ \t\x00\xb8é", max_size=80).map(lambda rest: f"Bearer {rest}"))
def test_any_header_is_read_or_unauthenticated(header: str) -> None:
    try:
        token = secrets.from_header(header)
    except DomainError as error:
        refused = error
    else:
        assert token in header
        return
    assert (refused.code, refused.status) == (Code.UNAUTHENTICATED, 401)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer \xb8",
        "Bearer a b",
        "Bearer " + "x" * 65536,
        f"Bearer {GOOD}{'a' * 65536}",
        f"Bearer {GOOD} {GOOD}",
        f"Bearer {GOOD},Bearer {GOOD}",
        f"Bearer{GOOD}",
        f"Bearer\t{GOOD}",
        f"Bearer {GOOD}\x00",
        f"Bearer {GOOD}é",
        f"Bearer {GOOD}\n",
        f"Basic {GOOD}",
        f"Token {GOOD}",
        GOOD,
        "Bearer rgt_short",
        "Bearer " + GOOD.upper(),
        "Bearer rgt_" + "а" * 32,
    ],
    ids=lambda header: f"{header!a:.80}, {len(header or '')}",
)
def test_headers_without_one_token(header: str | None) -> None:
    with pytest.raises(DomainError) as caught:
        secrets.from_header(header)
    assert caught.value.code is Code.UNAUTHENTICATED
    assert caught.value.headers()["WWW-Authenticate"] == "Bearer"


def test_the_scheme_in_any_case() -> None:
    for header in (f"Bearer {GOOD}", f"bearer {GOOD}", f"BEARER   {GOOD}", f" Bearer {GOOD} "):
        assert secrets.from_header(header) == GOOD


@pytest.mark.django_db
def test_a_token_is_one_statement() -> None:
    made = register(handle=name(), display_name="Ada")
    with statements() as made_statements:
        actor = queries.authenticate(f"Bearer {made.token}", "192.0.2.7")
    assert len(made_statements) == 1
    assert actor.ref == made.identity.profile.ref
    assert (actor.account, actor.address) == (made.identity.account, "192.0.2.7")
    assert "messages:write" in actor.scopes


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["unknown", "revoked", "expired", "deleted"])
def test_dead_tokens_answer_alike(how: str) -> None:
    made = register()
    header = f"Bearer {made.token}"
    credential = Credential.objects.filter(identity=number(made))
    identity = Identity.objects.filter(pk=number(made))
    with statements() as unknown:
        refusal(lambda: queries.authenticate(f"Bearer {GOOD[:-1]}b", ""))
    match how:
        case "unknown":
            header = f"Bearer {GOOD}"
        case "revoked":
            credential.update(revoked_at=times.now())
        case "expired":
            credential.update(expires_at=times.now())
        case _:
            identity.update(deleted_at=times.now())
    with statements() as dead:
        error = refusal(lambda: queries.authenticate(header, ""))
    assert dead == unknown
    assert len(dead) == 2  # the second looks whether the identity is suspended
    assert error.body() == refusal(lambda: queries.authenticate(None, "")).body()
    alive = queries.credential_alive([credential.get().pk.hex])
    assert (alive == {}) is (how != "unknown")


@pytest.mark.django_db
@pytest.mark.parametrize("days", [None, 1])
def test_a_suspended_identity_is_told_why_and_until_when(days: int | None) -> None:
    made = register()
    until = None if days is None else times.now() + timedelta(days=days)
    Identity.objects.filter(pk=number(made)).update(
        suspended_at=times.now(), suspended_until=until, suspended_reason="Spam."
    )
    error = refusal(lambda: queries.authenticate(f"Bearer {made.token}", ""))
    assert (error.code, error.status) == (Code.SUSPENDED, 403)
    assert error.extra == {"reason": "Spam.", "until": None if until is None else times.show(until)}
    assert error.next


@pytest.mark.django_db
def test_the_sweep_asks_for_all_credentials_at_once() -> None:
    pks = [Credential.objects.get(identity=number(register())).pk for _ in range(3)]
    Credential.objects.filter(pk=pks[0]).update(expires_at=times.now() + timedelta(hours=1))
    Credential.objects.filter(pk=pks[1]).update(revoked_at=times.now())
    with statements() as made:
        alive = queries.credential_alive([pk.hex for pk in [*pks, ids.new()]])
    assert alive == {pks[0].hex: 1, pks[2].hex: 1}
    assert len(made) == 1
    assert queries.credential_alive([]) == {}


@pytest.mark.django_db
def test_finding_is_one_statement_hidden_and_absent_alike() -> None:
    here, deleted, suspended = (register(handle=name()) for _ in range(3))
    Identity.objects.filter(pk=number(deleted)).update(deleted_at=times.now())
    Identity.objects.filter(pk=number(suspended)).update(suspended_at=times.now())

    def find(who: str) -> tuple[list[str], Any]:
        with statements() as made:
            found = queries.find(who)
        assert len(made) == 1
        return made, found

    for show in (number, handle):
        sql, found = find(str(show(here)))
        assert found.ref == here.identity.profile.ref
        for other in (deleted, suspended):
            assert find(str(show(other))) == (sql, None)
    for nobody in (
        "1234567890",
        "0000000000",
        "²",
        "a" * 5000,
        "no-such",
        "",
        "\x00",
        "\ud800",
        "@",
        "1" * 5000,
    ):
        assert find(nobody)[1] is None


@pytest.mark.django_db
def test_last_uses_are_stored_together() -> None:
    queries.take_used()
    people = [register() for _ in range(3)]
    for made in people:
        queries.touched(queries.authenticate(f"Bearer {made.token}", ""))
    with statements() as made_statements:
        assert actions.flush_presence() == 3
    assert len(made_statements) <= 3
    for made in people:
        assert Credential.objects.get(identity=number(made)).last_used_at
        assert Presence.objects.filter(pk=number(made)).exists()
    with statements() as made_statements:
        assert actions.flush_presence() == 0
    assert made_statements == []


@pytest.mark.django_db
def test_a_use_by_a_credential_that_is_gone_harms_nobody() -> None:
    queries.take_used()
    made = register()
    queries.touched(actor(made))  # a credential no row has
    queries.touched(queries.authenticate(f"Bearer {made.token}", ""))
    actions.flush_presence()
    assert Credential.objects.get(identity=number(made)).last_used_at


@pytest.mark.django_db
def test_relaygers_token_is_made_once_and_made_anew_when_it_is_no_longer_good() -> None:
    first = seed.relayger_token(None)
    assert seed.relayger_token(first) == first
    for bad in ("", "nonsense", GOOD):
        other = seed.relayger_token(bad)
        assert other not in (first, bad)
        assert queries.authenticate(f"Bearer {other}", "").ref.handle == "relayger"
    shown = queries.own(1234567897).show()
    assert (shown["handle"], shown["listed"], shown["policy"]) == ("relayger", True, "ask")
