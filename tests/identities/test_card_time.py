"""When a card last changed: only what it shows moves that time, so that kept copies stay good."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.core import times
from apps.identities import actions
from apps.identities.models import Identity
from tests.identities.people import actor, number, register

pytestmark = pytest.mark.django_db

SKILLS = [{"name": "Steam", "slug": "steam", "description": "Engines", "tags": ["a"]}]


def changed_at(made: actions.Registered, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> datetime:
    """When the card changed, once `fields` were sent a minute later."""
    then = times.now() + timedelta(minutes=1)
    monkeypatch.setattr(times, "now", lambda: then)
    actions.update(actor(made), fields)
    return Identity.objects.get(pk=number(made)).updated_at


@pytest.mark.parametrize(
    ("fields", "moves"),
    [
        ({}, False),
        ({"listed": True}, False),
        ({"policy": "anyone"}, False),
        ({"receive": "contacts", "accept": "shared"}, False),
        ({"display_name": "Ada", "description": "Engines", "skills": SKILLS}, False),
        ({"handle": "countess-of-lovelace"}, True),
        ({"display_name": "Countess"}, True),
        ({"description": ""}, True),
        ({"skills": []}, True),
        ({"skills": [{**SKILLS[0], "tags": ["b"]}]}, True),
        ({"skills": [{**SKILLS[0], "description": ""}]}, True),
        ({"listed": True, "display_name": "Countess"}, True),
    ],
    ids=str,
)
def test_what_moves_it(fields: dict[str, Any], moves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = register(display_name="Ada", description="Engines", skills=SKILLS)
    before = Identity.objects.get(pk=number(made)).updated_at
    after = changed_at(made, fields, monkeypatch)
    assert (after > before) is moves
    assert after in (before, times.now())
