"""Sealed messages as the service sees them: an envelope's shape, and that every member can open it."""

from __future__ import annotations

from uuid import UUID

from apps.contacts import sql
from apps.core import ids
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid
from apps.identities import keys
from apps.threads.parts import Part
from relayger.sealed import MEDIA_TYPE, Envelope, Malformed, pair, read


def check(actor: Actor, chat: UUID, parts: list[Part]) -> None:
    """Check every sealed part of a message that `actor` is about to write in `chat`.

    No statement when there is none, else two. Call it in the transaction that writes, under the chat's lock.
    Raises invalid for an envelope's shape, scope, sender or signing key, naming `parts[i].data.…`, and
    sealed_members, with the numbers in `missing`, when it does not have one entry for each member's present key.
    """
    envelopes = {
        place: _envelope(actor, part, f"parts[{place}]") for place, part in enumerate(parts) if _sealed(part)
    }
    if not envelopes:
        return
    audience = sql.audience(chat)
    scope = pair(*map(str, audience.pair)) if audience.pair else ids.show("con", chat)
    in_use = keys.in_use(audience.members)
    signs = in_use[actor.identity].get("sign") if actor.identity in in_use else None
    present = {
        str(number): ids.show("key", found["seal"].key.id) if "seal" in found else None
        for number, found in in_use.items()
    }
    for place, envelope in envelopes.items():
        field = f"parts[{place}].data"
        if envelope.scope != scope:
            raise invalid(f"{field}.scope", f"Must be {scope}, the chat that this is written in.")
        if signs is None or envelope.key_id != ids.show("key", signs.key.id):
            raise invalid(
                f"{field}.key_id",
                "Must be the id of the key that you sign with now.",
                next="Publish it with POST /v1/keys, or look it up with GET /v1/me.",
            )
        _check_entries(envelope, present, field)


def _sealed(part: Part) -> bool:
    """Whether a part says that it is a sealed message, however it spells that."""
    return str(part.get("media_type", "")).partition(";")[0].strip().lower() == MEDIA_TYPE


def _envelope(actor: Actor, part: Part, field: str) -> Envelope:
    if "data" not in part:
        raise invalid(field, f"A part of the type {MEDIA_TYPE} is a data part.")
    try:
        envelope = read(part["data"])
    except Malformed as error:
        inner = f".{error.field[:100]}" if error.field else ""
        raise invalid(f"{field}.data{inner}", error.message) from None
    if envelope.sender != str(actor.identity):
        raise invalid(f"{field}.data.sender", "Must be your own number.")
    return envelope


def _check_entries(envelope: Envelope, present: dict[str, str | None], field: str) -> None:
    """Compare an envelope's entries with the present keys of the members. Raises sealed_members."""
    entries = {entry.to: entry.key_id for entry in envelope.keys}
    missing = [number for number, key in present.items() if key is None or entries.get(number) != key]
    if missing:
        raise DomainError(
            Code.SEALED_MEMBERS,
            "The sealed message has no entry for the present key of some members.",
            field=f"{field}.keys",
            next="Look up the keys of the numbers in `missing`, and seal it again; who has none cannot be sealed to.",
            extra={"missing": sorted(missing)},
        )
    for place, entry in enumerate(envelope.keys):
        if entry.to not in present:
            raise DomainError(
                Code.SEALED_MEMBERS,
                "The sealed message has an entry for somebody who is not a member.",
                field=f"{field}.keys[{place}].to",
                next="Look up the members, and seal it again.",
                extra={"missing": []},
            )
