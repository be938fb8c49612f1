"""Public keys: one to sign with and one to seal to, published, changed, retired."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from nacl.bindings import crypto_core_ed25519_is_valid_point, crypto_scalarmult
from nacl.exceptions import CryptoError

from apps.core import audit, db, ids, paging, times
from apps.core.actor import Actor
from apps.core.errors import Code, DomainError, invalid, not_found
from apps.core.paging import Page
from apps.identities import sql
from apps.identities.models import Identity, Key
from relayger import sealed

Purpose = Literal["sign", "seal"]
PURPOSES: tuple[Purpose, ...] = ("sign", "seal")

_TEXT = re.compile(r"([A-Za-z0-9_-]{43})=?", re.ASCII)
_FIELD_PRIME = 2**255 - 19


@dataclass(frozen=True, slots=True)
class KeyView:
    """A public key as shown. A `derived` one bears the id of the signing key that it comes from."""

    id: UUID
    purpose: Purpose
    public: bytes
    created_at: datetime
    retired_at: datetime | None
    derived: bool = False

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "id": ids.show("key", self.id),
            "purpose": self.purpose,
            "public_key": encode(self.public),
            "fingerprint": sealed.fingerprint(self.purpose, self.public),
            "created_at": times.show(self.created_at),
            "retired_at": times.show_maybe(self.retired_at),
            "derived": self.derived,
        }


@dataclass(frozen=True, slots=True)
class Active:
    """The key that an identity uses now. `changed_at` is when it replaced another, None when it is the first."""

    key: KeyView
    changed_at: datetime | None

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        changed = times.show_maybe(self.changed_at)
        return {**self.key.show(), "changed_at": changed}


Pair = dict[str, dict[str, Any] | None]


# -- reading ----------------------------------------------------------------------------------------------------


def active(numbers: Sequence[int]) -> dict[int, Pair]:
    """The keys in use of each of some identities, as shown: `{"sign": …|None, "seal": …|None}` (one statement)."""
    return {number: show(found) for number, found in in_use(numbers).items()}


def show(found: dict[Purpose, Active]) -> Pair:
    """The JSON of one identity's keys in use."""
    return {purpose: found[purpose].show() if purpose in found else None for purpose in PURPOSES}


def in_use(numbers: Sequence[int]) -> dict[int, dict[Purpose, Active]]:
    """The keys in use of each of some identities (one statement).

    Who has published no key to seal to is sealed to by the X25519 form of its signing key.
    """
    found: dict[int, dict[Purpose, Active]] = {number: {} for number in numbers}
    unsealed: dict[int, datetime | None] = {}
    for row in sql.keys_in_use(numbers):
        view = KeyView(db.uuid(row.id), row.purpose, row.public, db.time(row.created_at), None)
        found[row.identity][row.purpose] = Active(view, view.created_at if row.followed else None)
        unsealed[row.identity] = db.maybe_time(row.unsealed_at)
    for number, keys in found.items():
        if "sign" in keys and "seal" not in keys:
            keys["seal"] = _derived(keys["sign"], unsealed[number])
    return found


def _derived(sign: Active, unsealed_at: datetime | None) -> Active:
    """The key to seal to that comes from a signing key, in use since the last published one was retired."""
    view = replace(sign.key, purpose="seal", public=sealed.derived_public(sign.key.public), derived=True)
    if unsealed_at is None:
        return Active(view, sign.changed_at)
    return Active(view, max(view.created_at, unsealed_at))


def listed(actor: Actor, purpose: str | None, limit: int, cursor: str | None) -> Page[KeyView]:
    """A page of the actor's keys, newest first, retired ones too. Raises invalid for another list's cursor."""
    scope = f"keys:{actor.identity}:{purpose or ''}"
    rows = Key.objects.filter(identity=actor.identity)
    if purpose is not None:
        rows = rows.filter(purpose=purpose)
    page = paging.newest(rows, "created_at", scope, limit, cursor)
    return Page([_view(row) for row in page.items], page.next_cursor)


# -- writing ----------------------------------------------------------------------------------------------------


def publish(actor: Actor, purpose: Purpose, public_key: str) -> tuple[KeyView, bool]:
    """Make `public_key` the actor's key of a purpose, in place of the one before, which is retired.

    Returns the key, and whether it was the one in use already: then nothing is written. Raises
    insufficient_scope, invalid, key_taken for a key that anybody ever published, quota_exceeded.
    """
    actor.need("profile")
    public = read_sign(public_key) if purpose == "sign" else read_seal(public_key)
    with db.write():
        Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
        known = Key.objects.filter(public=public).first()
        if known is not None:
            mine = known.identity_id == actor.identity and known.purpose == purpose
            if mine and known.retired_at is None:
                return _view(known), True
            raise taken()
        _room_for_one(actor)
        now = times.now()
        former = Key.objects.filter(identity=actor.identity, purpose=purpose, retired_at=None).first()
        if former is not None:
            _retire(actor, former, now)
        try:
            with transaction.atomic():
                made = Key.objects.create(
                    identity_id=actor.identity, purpose=purpose, public=public, created_at=now
                )
        except IntegrityError:
            raise taken() from None  # somebody else published it at the same moment
        view = _view(made)
        audit.record(actor, "key.published", **_detail(view))
    return view, False


def retire(actor: Actor, id: UUID) -> KeyView:
    """Take one of the actor's keys out of use; a retired one stays as it is. Raises insufficient_scope, not_found."""
    actor.need("profile")
    with db.write():
        Identity.objects.select_for_update(no_key=True).get(pk=actor.identity)
        found = Key.objects.filter(pk=id, identity=actor.identity).first()
        if found is None:
            raise absent()
        if found.retired_at is None:
            _retire(actor, found, times.now())
    return _view(found)


def _retire(actor: Actor, key: Key, now: datetime) -> None:
    key.retired_at = now
    key.save(update_fields=["retired_at"])
    audit.record(actor, "key.retired", **_detail(_view(key)))


def _room_for_one(actor: Actor) -> None:
    most: int = settings.RELAYGER.max_keys
    if Key.objects.filter(identity=actor.identity).count() >= most:
        raise DomainError(
            Code.QUOTA_EXCEEDED,
            f"An identity publishes at most {most} keys, retired ones included.",
            next="Keep the key that you have.",
        )


def _detail(key: KeyView) -> dict[str, str]:
    shown = key.show()
    return {name: shown[name] for name in ("id", "purpose", "fingerprint")}


def _view(row: Key) -> KeyView:
    purpose: Purpose = "sign" if row.purpose == Key.Purpose.SIGN else "seal"
    return KeyView(row.id, purpose, bytes(row.public), row.created_at, row.retired_at)


# -- bytes ------------------------------------------------------------------------------------------------------


def read_sign(text: str) -> bytes:
    """The bytes of an Ed25519 public key. Raises invalid unless it is a point that keys may be (RFC 8032 §5.1.3)."""
    key = _bytes(text)
    if not key or not crypto_core_ed25519_is_valid_point(key):
        raise invalid("public_key", "Must be an Ed25519 public key: 32 bytes, base64url without padding.")
    return key


def read_seal(text: str) -> bytes:
    """The bytes of an X25519 public key. Raises invalid for a point of low order, or in a second spelling."""
    key = _bytes(text)
    if not key or int.from_bytes(key, "little") >= _FIELD_PRIME or not _of_high_order(key):
        raise invalid("public_key", "Must be an X25519 public key: 32 bytes, base64url without padding.")
    return key


def _of_high_order(key: bytes) -> bool:
    """Whether a shared secret with this key depends on the other side's at all."""
    try:
        crypto_scalarmult(b"\x01" * 32, key)
    except CryptoError:
        return False
    return True


def _bytes(text: str) -> bytes:
    match = _TEXT.fullmatch(text)
    return base64.urlsafe_b64decode(f"{match[1]}=") if match else b""


def encode(public: bytes) -> str:
    """The bytes of a key as they are written: base64url without padding."""
    return base64.urlsafe_b64encode(public).decode().rstrip("=")


def taken() -> DomainError:
    """The refusal of a key that somebody published before, whoever it was."""
    return DomainError(
        Code.KEY_TAKEN, "This public key was used before.", field="public_key", next="Make a new key."
    )


def absent() -> DomainError:
    """The refusal of a key that is not there or another's."""
    return not_found("key")
