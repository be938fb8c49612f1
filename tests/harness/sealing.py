"""People who seal: their seeds stay here, their public keys are published like anybody's."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from relayger import sealed
from tests.harness.cast import Person


def seed(person: Person) -> bytes:
    """A person's signing seed, always the same one."""
    return hashlib.sha256(person.number.encode()).digest()


def publish(person: Person) -> None:
    """Publish the person's key to sign with; its other form is the key to seal to."""
    text = base64.urlsafe_b64encode(sealed.public_of(seed(person))).decode().rstrip("=")
    person.call("POST", "/v1/keys", {"purpose": "sign", "public_key": text})


def member(viewer: Person, person: Person) -> sealed.Member:
    """A person as a member to seal to, as `viewer` sees its keys."""
    shown = viewer.call("GET", f"/v1/identities/{person.number}")["keys"]["seal"]
    return sealed.Member(person.number, shown["id"], base64.urlsafe_b64decode(shown["public_key"] + "="))


def sealed_part(
    sender: Person, *others: Person, scope: str | None = None, text: str = "Hush"
) -> dict[str, Any]:
    """A sealed part from `sender` to itself and others; the scope is the pair's unless a room's id is given."""
    for person in (sender, *others):
        publish(person)
    signs = sender.call("GET", "/v1/me")["keys"]["sign"]
    envelope = sealed.seal(
        sealed.pack([{"text": text}]),
        scope=scope or sealed.pair(sender.number, others[0].number),
        sender=sender.number,
        key_id=signs["id"],
        signing_key=seed(sender),
        members=[member(sender, person) for person in (sender, *others)],
    )
    return sealed.part(envelope)


def opened(reader: Person, sender: Person, envelope: Any, scope: str) -> list[dict[str, Any]]:
    """The parts that `reader` finds in an envelope from `sender`."""
    signs = reader.call("GET", f"/v1/identities/{sender.number}")["keys"]["sign"]
    mine = reader.call("GET", "/v1/me")["keys"]["seal"]
    plaintext = sealed.open_(
        envelope,
        scope=scope,
        sender=sender.number,
        sender_keys={signs["id"]: base64.urlsafe_b64decode(signs["public_key"] + "=")},
        reader=reader.number,
        reader_keys={mine["id"]: sealed.derived_private(seed(reader))},
    )
    return sealed.unpack(plaintext)
