"""The card itself; how it is served is tested against the service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import validate_proto_required_fields
from django.conf import settings
from google.protobuf.json_format import MessageToDict, ParseDict

from apps.a2a import cards
from apps.a2a.cards import Card
from apps.identities.queries import SkillView

SKILL = SkillView("engines", "Engines", "How they work", ("steam",))


def content(
    name: str = "Ada", description: str = "Answers", skills: tuple[SkillView, ...] = (SKILL,)
) -> dict[str, Any]:
    """A card that the official type takes and gives back as it was."""
    card = cards.content(1234567897, "ada", name, description, skills)
    official = ParseDict(card, pb.AgentCard())
    validate_proto_required_fields(official)
    again = MessageToDict(official)
    again["securityRequirements"][0]["schemes"]["bearer"].setdefault("list", [])
    assert again == card, "nothing else is unknown, empty or a default"
    return card


def test_names_where_and_how() -> None:
    card = content()
    assert card["supportedInterfaces"] == [
        {
            "url": f"{settings.RELAYGER.origin}/a2a/1234567897",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
        }
    ]
    assert card["capabilities"] == {"streaming": True}
    assert card["securitySchemes"] == {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    assert card["skills"] == [
        {"id": "engines", "name": "Engines", "description": "How they work", "tags": ["steam"]}
    ]


def test_an_agent_that_says_nothing_of_itself() -> None:
    card = content("", "  ", ())
    assert card["name"] == "@ada"
    assert "ada" in card["description"]
    assert [skill["id"] for skill in card["skills"]] == ["chat"]


def test_a_skill_that_says_little() -> None:
    assert content(skills=(SkillView("x", "X", "", ()),))["skills"] == [
        {"id": "x", "name": "X", "description": "X", "tags": ["x"]}
    ]


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
CARD = Card(b"{}", '"tag"', NOON, True)


@pytest.mark.parametrize(
    ("tag", "since", "fresh"),
    [
        (None, None, False),
        ('"tag"', None, True),
        ('W/"tag"', None, True),
        ('"other", "tag"', None, True),
        ("*", None, True),
        ('"other"', None, False),
        ("", None, False),
        ('"other"', "Sat, 31 Jan 2026 12:00:00 GMT", False),
        (None, "Sat, 31 Jan 2026 12:00:00 GMT", True),
        (None, "Sat, 31 Jan 2026 13:00:00 GMT", True),
        (None, "Sat, 31 Jan 2026 11:59:59 GMT", False),
        (None, "Sat, 31 Jan 2026 12:00:00 -0000", True),
        (None, "yesterday", False),
        (None, "", False),
        (None, "Sat, 31 Jan 99999 12:00:00 GMT", False),
    ],
)
def test_who_has_the_card_already(tag: str | None, since: str | None, fresh: bool) -> None:
    assert CARD.is_fresh(tag, since) is fresh


def test_headers() -> None:
    listed = dict(CARD.headers())
    assert listed == {
        "ETag": '"tag"',
        "Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT",
        "Cache-Control": "public, max-age=300",
        "Vary": "Authorization",
    }
    hidden = dict(Card(b"{}", '"tag"', NOON, False).headers())
    assert hidden["Cache-Control"].startswith("private")
