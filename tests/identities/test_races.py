"""Numbers, handles and keys taken at the same moment, by real threads on committed data."""

from __future__ import annotations

import base64
import itertools
import threading
from functools import partial

import pytest
from nacl.signing import SigningKey

from apps.core.errors import Code, DomainError
from apps.identities import actions, numbers, seed
from apps.identities.actions import Known, Registered
from apps.identities.models import Account, Credential, Handle, Identity, Key
from tests.contacts.world import together
from tests.identities.people import actor, handle, name, number, register

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 8


def winners(answers: list[object]) -> list[Registered]:
    return [answer for answer in answers if isinstance(answer, Registered)]


def codes(answers: list[object]) -> list[Code]:
    return [answer.code for answer in answers if isinstance(answer, DomainError)]


def sound() -> None:
    """Each identity has the handle that is in use for it, and only that."""
    used = dict(Handle.objects.filter(held_until=None).values_list("handle", "identity"))
    assert used == dict(Identity.objects.values_list("handle", "number"))


def test_numbers_drawn_alike_are_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All draw the same three numbers first, as if chance had it so."""
    fixed = [numbers.draw() for _ in range(3)]
    spare = itertools.count()
    fresh = [numbers.draw() for _ in range(100)]
    mine = threading.local()

    def draw() -> int:
        mine.count = getattr(mine, "count", 0) + 1
        return fixed[mine.count - 1] if mine.count <= 3 else fresh[next(spare)]

    monkeypatch.setattr(numbers, "draw", draw)
    answers = together(*[register] * MANY)
    made = [number(one) for one in winners(answers)]
    assert len(set(made)) == MANY == Identity.objects.count() == Credential.objects.count()
    assert set(fixed) <= set(made)
    sound()


def test_one_handle_for_many_is_for_one() -> None:
    wanted = name()
    answers = together(*[partial(register, handle=wanted)] * MANY)
    (winner,) = winners(answers)
    assert handle(winner) == wanted
    assert codes(answers) == [Code.HANDLE_TAKEN] * (MANY - 1)
    assert Account.objects.count() == Identity.objects.count() == 1
    sound()


def test_a_handle_changed_to_by_many_is_for_one() -> None:
    people = [register(handle=name()) for _ in range(MANY)]
    wanted = name()
    answers = together(*[partial(actions.update, actor(one), {"handle": wanted}) for one in people])
    assert codes(answers) == [Code.HANDLE_TAKEN] * (MANY - 1)
    assert Identity.objects.filter(handle=wanted).count() == 1
    sound()


@pytest.mark.parametrize("_", range(3))
def test_exchanging_handles_at_once_gives_neither_away(_: int) -> None:
    one, two = register(handle=name()), register(handle=name())
    answers = together(
        partial(actions.update, actor(one), {"handle": handle(two)}),
        partial(actions.update, actor(two), {"handle": handle(one)}),
    )
    assert codes(answers) == [Code.HANDLE_TAKEN] * 2
    sound()


def test_one_identity_changing_many_times_keeps_one_handle() -> None:
    me = register(handle=name())
    wanted = [name() for _ in range(MANY)]
    together(*[partial(actions.update, actor(me), {"handle": one}) for one in wanted])
    assert Identity.objects.get().handle in wanted
    assert Handle.objects.filter(identity=number(me)).count() == MANY + 1
    sound()


def test_changes_of_different_fields_do_not_undo_each_other() -> None:
    me = register()
    fields = {"display_name": "Ada", "description": "Engines", "listed": True, "policy": "anyone"}
    together(*[partial(actions.update, actor(me), {field: value}) for field, value in fields.items()])
    row = Identity.objects.get()
    assert (row.display_name, row.description, row.listed, row.accept) == ("Ada", "Engines", True, "any")
    assert "ada" in row.search_text
    assert "engines" in row.search_text


def test_skills_replaced_at_once_are_one_of_the_lists() -> None:
    me = register()
    lists = [[{"name": f"skill {one}-{place}"} for place in range(3)] for one in range(4)]
    together(*[partial(actions.update, actor(me), {"skills": skills}) for skills in lists])
    found = list(Identity.objects.get().skills.values_list("name", flat=True))
    assert found in [[skill["name"] for skill in skills] for skills in lists]


@pytest.mark.parametrize("wants_handle", [True, False])
def test_one_key_many_times_at_once_is_one_identity(wants_handle: bool) -> None:
    """A retry that overtakes its first try gets that one's identity, not `handle_taken`."""
    public = base64.urlsafe_b64encode(bytes(SigningKey.generate().verify_key)).decode().rstrip("=")
    fields = {"handle": name()} if wants_handle else {}
    call = partial(actions.register, "192.0.2.1", kind="agent", public_key=public, **fields)
    answers: list[Registered | Known] = together(*[call] * MANY)
    (winner,) = winners(list(answers))
    assert number(winner) == Identity.objects.get().number
    assert answers.count(Known(winner.identity.profile.ref)) == MANY - 1
    assert Key.objects.count() == Credential.objects.count() == Account.objects.count() == 1
    sound()


def test_relayger_seeded_by_many_processes_is_one() -> None:
    tokens = together(*[partial(seed.relayger_token, None)] * 4)
    assert len(set(tokens)) == 4
    assert Identity.objects.get().handle == "relayger"
    sound()
