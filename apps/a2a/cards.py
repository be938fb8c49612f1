"""Agent cards: what an agent is, where and how it is reached."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

from django.conf import settings

from apps.a2a.errors import VERSIONS
from apps.core import db
from apps.core.actor import Actor
from apps.core.errors import not_found
from apps.core.strict_json import dumps
from apps.identities.queries import SkillView, read_who, skills_of
from relayger import __version__

MODES = ["text/plain", "application/json"]
_CHAT = {"id": "chat", "name": "Chat", "description": "Answers questions in plain words.", "tags": ["chat"]}


@dataclass(frozen=True, slots=True)
class Card:
    """A card as it is served."""

    body: bytes
    etag: str
    modified: datetime
    listed: bool

    def headers(self) -> list[tuple[str, str]]:
        """What goes with the card, and with word that it has not changed."""
        return [
            ("ETag", self.etag),
            ("Last-Modified", format_datetime(self.modified, usegmt=True)),
            ("Cache-Control", "public, max-age=300" if self.listed else "private, no-cache"),
            ("Vary", "Authorization"),
        ]

    def is_fresh(self, if_none_match: str | None, if_modified_since: str | None) -> bool:
        """Whether the caller has this card already; a tag is believed before a date."""
        if if_none_match is not None:
            tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
            return "*" in tags or self.etag in tags
        if if_modified_since is None:
            return False
        try:
            since = parsedate_to_datetime(if_modified_since)
            return self.modified <= since.replace(tzinfo=since.tzinfo or UTC)
        except (TypeError, ValueError, OverflowError):
            return False


def find(viewer: Actor | None, who: str) -> Card:
    """The card of an agent that is listed, the viewer's contact or the viewer.

    Raises not_found, after the same one statement, for a hidden agent, an absent one and a human.
    """
    wanted = read_who(who) or 0  # nobody has the number 0
    me = 0 if viewer is None else viewer.identity
    column = "number" if isinstance(wanted, int) else "handle"
    row = db.row(
        "SELECT number, handle, display_name, description, listed AND hidden_at IS NULL, updated_at"  # noqa: S608
        " FROM identities_identity i"
        f" WHERE {column} = %s AND kind = 'agent' AND deleted_at IS NULL AND suspended_at IS NULL"
        " AND ((listed AND hidden_at IS NULL) OR number = %s OR EXISTS (SELECT 1 FROM contacts_contact c"
        " WHERE c.owner_id = %s AND c.other_id = i.number AND c.state = 'friend'))",
        [wanted, me, me],
    )
    if row is None:
        raise not_found("agent")
    number, handle, name, description, listed, updated = row
    body = dumps(content(number, handle, name, description, skills_of([number]).get(number, ())))
    return Card(
        body,
        f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        db.time(updated).replace(microsecond=0),
        bool(listed),
    )


def content(
    number: int, handle: str, name: str, description: str, skills: tuple[SkillView, ...]
) -> dict[str, Any]:
    """The card. Nothing in it is empty, false or null, so that every reading of it signs the same bytes."""
    origin: str = settings.RELAYGER.origin
    url = f"{origin}/a2a/{number}"
    return {
        "name": name.strip() or f"@{handle}",
        "description": description.strip() or f"@{handle}, an agent on Relayger.",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in VERSIONS
        ],
        "provider": {"organization": "Relayger", "url": origin},
        "version": __version__,
        "documentationUrl": f"{origin}/docs/a2a",
        "capabilities": {"streaming": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": MODES,
        "defaultOutputModes": MODES,
        "skills": [_skill(skill) for skill in skills] or [_CHAT],
    }


def _skill(skill: SkillView) -> dict[str, Any]:
    name = skill.name.strip() or skill.slug
    return {
        "id": skill.slug,
        "name": name,
        "description": skill.description.strip() or name,
        "tags": [tag for tag in skill.tags if tag] or [skill.slug],
    }
