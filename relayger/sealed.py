"""Sealed messages: what only the members' keys open. The format stands in `docs/sealed.md`, to the byte.

A message is encrypted with a random key; that key is sealed to each member; the sender signs the whole. This file
needs PyNaCl and nothing of the service, which uses it only to read an envelope's shape.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from nacl import bindings, utils
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox
from nacl.signing import SigningKey, VerifyKey

MEDIA_TYPE: Final = "application/vnd.relayger.sealed+json"
VERSION: Final = 1

_LABEL = b"relayger-sealed-v1"
_KEY_LABEL = b"relayger-key-v1"
_KEY = 32
_NONCE = 24
_MAC = 16
_SIGNATURE = 64
_SEALED = 32 + _MAC + _KEY  # the ephemeral public key, then the encrypted key
_FIELDS = ("v", "scope", "sender", "key_id", "nonce", "ciphertext", "keys", "signature")
_ENTRY_FIELDS = ("to", "key_id", "sealed")

_NUMBER = re.compile(r"[1-9][0-9]{9}", re.ASCII)
_KEY_ID = re.compile(r"key_[0-9a-f]{32}", re.ASCII)
_SCOPE = re.compile(r"con_[0-9a-f]{32}|[1-9][0-9]{9}:[1-9][0-9]{9}", re.ASCII)
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)

Purpose = Literal["sign", "seal"]
Random = Callable[[int], bytes]


# -- errors -----------------------------------------------------------------------------------------------------


class SealedError(Exception):
    """A message that cannot be sealed or opened."""


class Malformed(SealedError):
    """An envelope that is not one: `field` is the path to what is wrong, "" for the whole."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


class UnknownVersion(Malformed):
    """An envelope of another version of the format."""


class WrongScope(SealedError):
    """An envelope that was sealed for another chat than the one it was found in."""


class WrongSender(SealedError):
    """An envelope that names another sender than the one it came from."""


class UnknownKey(SealedError):
    """A key that the reader does not have: the sender's to check the signature, or its own to open."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"the key {key_id} is not known")
        self.key_id = key_id


class BadSignature(SealedError):
    """An envelope that its sender did not sign as it is."""


class NotForYou(SealedError):
    """An envelope without an entry for the reader."""


class Damaged(SealedError):
    """A signed envelope that cannot be decrypted: it was sealed wrongly, or to another key."""


# -- keys -------------------------------------------------------------------------------------------------------


def fingerprint(purpose: Purpose, public_key: bytes) -> str:
    """128 bits of a public key that two people can compare: eight groups of four hexadecimal digits."""
    digest = hashlib.sha256(_KEY_LABEL + purpose.encode() + public_key).hexdigest()[:32]
    return " ".join(digest[at : at + 4] for at in range(0, 32, 4))


def derived_public(sign_key: bytes) -> bytes:
    """The X25519 public key that stands for an Ed25519 one whose identity has published no other for sealing."""
    return bindings.crypto_sign_ed25519_pk_to_curve25519(sign_key)


def derived_private(seed: bytes) -> bytes:
    """The X25519 private key that belongs to it, from the 32-byte seed of the Ed25519 key."""
    return bindings.crypto_sign_ed25519_sk_to_curve25519(bytes(SigningKey(seed)) + public_of(seed))


def public_of(seed: bytes) -> bytes:
    """The Ed25519 public key of a 32-byte seed."""
    return bytes(SigningKey(seed).verify_key)


# -- envelopes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Member:
    """Whom a message is sealed to: the number, and the id and bytes of its active X25519 key."""

    number: str
    key_id: str
    public_key: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """The message's key as one member gets it."""

    to: str
    key_id: str
    sealed: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope whose shape is right; nothing of it is proven yet."""

    scope: str
    sender: str
    key_id: str
    nonce: bytes
    ciphertext: bytes
    keys: tuple[Entry, ...]
    signature: bytes

    def signed(self) -> bytes:
        """The bytes that the signature covers."""
        fields = [
            self.scope.encode(),
            self.sender.encode(),
            self.key_id.encode(),
            self.nonce,
            self.ciphertext,
        ]
        for entry in sorted(self.keys, key=lambda entry: entry.to):
            fields += [entry.to.encode(), entry.key_id.encode(), entry.sealed]
        return _LABEL + b"".join(len(field).to_bytes(4, "big") + field for field in fields)

    def show(self) -> dict[str, Any]:
        """The JSON of it."""
        return {
            "v": VERSION,
            "scope": self.scope,
            "sender": self.sender,
            "key_id": self.key_id,
            "nonce": _encode(self.nonce),
            "ciphertext": _encode(self.ciphertext),
            "keys": [
                {"to": entry.to, "key_id": entry.key_id, "sealed": _encode(entry.sealed)}
                for entry in self.keys
            ],
            "signature": _encode(self.signature),
        }


def pair(one: str, other: str) -> str:
    """The scope of a direct chat: both numbers, the lower first. A room's scope is its id, `con_…`."""
    return ":".join(sorted([one, other]))


def part(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """The one part of a message that carries an envelope."""
    return {"data": dict(envelope), "media_type": MEDIA_TYPE}


def pack(parts: Sequence[Mapping[str, Any]]) -> bytes:
    """The plaintext of a message: its parts, as they would be sent unsealed, in UTF-8 JSON."""
    return json.dumps({"parts": list(parts)}, ensure_ascii=False, separators=(",", ":")).encode()


def unpack(plaintext: bytes) -> list[dict[str, Any]]:
    """The parts of a plaintext. Raises Damaged for anything else: its sender packed something of its own."""
    try:
        parts = json.loads(plaintext)["parts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Damaged("the plaintext is not a JSON object with parts") from None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise Damaged("the parts are not a list of objects")
    return parts


def seal(
    plaintext: bytes,
    *,
    scope: str,
    sender: str,
    key_id: str,
    signing_key: bytes,
    members: Sequence[Member],
    random: Random = utils.random,
) -> dict[str, Any]:
    """Seal `plaintext` to all `members` of a chat, the sender among them; the envelope as JSON values.

    `signing_key` is the 32-byte seed of the sender's active Ed25519 key, `key_id` that key's id. `random` is replaced
    only to make test vectors: a key or nonce used twice gives the messages away. Raises SealedError when a number,
    id or key is none, a number is there twice, or the sender is not a member.
    """
    numbers = [member.number for member in members]
    if len(set(numbers)) < len(numbers):
        raise SealedError("a member is there twice")
    if sender not in numbers:
        raise SealedError("the sender must be among the members, to read its own message")
    key, nonce = random(_KEY), random(_NONCE)
    entries = tuple(
        Entry(member.number, member.key_id, _seal_to(member, key, random(_KEY)))
        for member in sorted(members, key=lambda member: member.number)
    )
    ciphertext = SecretBox(key).encrypt(plaintext, nonce).ciphertext
    unsigned = Envelope(scope, sender, key_id, nonce, ciphertext, entries, bytes(_SIGNATURE))
    read(unsigned.show())  # what nobody could open is not made
    signature = SigningKey(signing_key).sign(unsigned.signed()).signature
    return {**unsigned.show(), "signature": _encode(signature)}


def open_(
    envelope: object,
    *,
    scope: str,
    sender: str,
    sender_keys: Mapping[str, bytes],
    reader: str,
    reader_keys: Mapping[str, bytes],
) -> bytes:
    """The plaintext of an envelope that was found in the chat `scope`, in a message from `sender`.

    `sender_keys` are the Ed25519 public keys of the sender that the reader trusts, `reader_keys` the reader's own
    X25519 private keys, both by key id. Raises Malformed, UnknownVersion, WrongScope, WrongSender, UnknownKey,
    BadSignature, NotForYou, Damaged; nothing is decrypted before the signature is good.
    """
    found = read(envelope)
    if found.scope != scope:
        raise WrongScope(f"the message was sealed for {found.scope}")
    if found.sender != sender:
        raise WrongSender(f"the message was sealed by {found.sender}")
    if found.key_id not in sender_keys:
        raise UnknownKey(found.key_id)
    try:
        VerifyKey(sender_keys[found.key_id]).verify(found.signed(), found.signature)
    except CryptoError:
        raise BadSignature("the signature does not fit the message") from None
    mine = next((entry for entry in found.keys if entry.to == reader), None)
    if mine is None:
        raise NotForYou(f"the message is not sealed to {reader}")
    if mine.key_id not in reader_keys:
        raise UnknownKey(mine.key_id)
    try:
        private = reader_keys[mine.key_id]
        public = bindings.crypto_scalarmult_base(private)
        key = bindings.crypto_box_seal_open(mine.sealed, public, private)
        return SecretBox(key).decrypt(found.ciphertext, found.nonce)
    except CryptoError:
        raise Damaged("the message cannot be decrypted") from None


def read(envelope: object) -> Envelope:
    """An envelope out of JSON values, by its shape alone. Raises UnknownVersion, Malformed."""
    fields = _object(envelope, "", _FIELDS)
    version = fields["v"]
    if not isinstance(version, int) or isinstance(version, bool) or version != VERSION:
        raise UnknownVersion("v", f"Must be {VERSION}.")
    keys = fields["keys"]
    if not isinstance(keys, list) or not keys:
        raise Malformed("keys", "Must be a list of at least one entry.")
    found = Envelope(
        scope=_match(_SCOPE, fields["scope"], "scope", "a room's id, or two numbers with a colon"),
        sender=_match(_NUMBER, fields["sender"], "sender", "a number"),
        key_id=_match(_KEY_ID, fields["key_id"], "key_id", "a key's id"),
        nonce=_decode(fields["nonce"], "nonce", _NONCE),
        ciphertext=_decode(fields["ciphertext"], "ciphertext"),
        keys=tuple(_entry(entry, f"keys[{place}]") for place, entry in enumerate(keys)),
        signature=_decode(fields["signature"], "signature", _SIGNATURE),
    )
    if len(found.ciphertext) < _MAC:
        raise Malformed("ciphertext", f"Must be at least {_MAC} bytes.")
    if ":" in found.scope and found.scope != pair(*found.scope.split(":")):
        raise Malformed("scope", "Must name the lower number first.")
    seen: set[str] = set()
    for place, entry in enumerate(found.keys):
        if entry.to in seen:
            raise Malformed(f"keys[{place}].to", "Must be there once.")
        seen.add(entry.to)
    return found


def _entry(entry: object, path: str) -> Entry:
    fields = _object(entry, path, _ENTRY_FIELDS)
    return Entry(
        _match(_NUMBER, fields["to"], f"{path}.to", "a number"),
        _match(_KEY_ID, fields["key_id"], f"{path}.key_id", "a key's id"),
        _decode(fields["sealed"], f"{path}.sealed", _SEALED),
    )


def _object(value: object, path: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(path, "Must be a JSON object.")
    for name in names:
        if name not in value:
            raise Malformed(f"{path}.{name}".lstrip("."), "Must be there.")
    for name in value:
        if name not in names:
            raise Malformed(
                f"{path}.{name}".lstrip("."), f"There is no such field; known: {', '.join(names)}."
            )
    return value


def _match(pattern: re.Pattern[str], value: object, path: str, what: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Malformed(path, f"Must be {what}.")
    return value


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode(value: object, path: str, length: int | None = None) -> bytes:
    """The bytes of base64url without padding, in its one spelling: bits that stand for nothing are zero."""
    if not isinstance(value, str) or not _BASE64URL.fullmatch(value) or len(value) % 4 == 1:
        raise Malformed(path, "Must be base64url without padding.")
    decoded = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    if _encode(decoded) != value:
        raise Malformed(path, "Must be base64url without padding, with its last bits zero.")
    if length is not None and len(decoded) != length:
        raise Malformed(path, f"Must be {length} bytes.")
    return decoded


def _seal_to(member: Member, key: bytes, ephemeral: bytes) -> bytes:
    """libsodium's sealed box, with the ephemeral private key given so that test vectors can fix it."""
    try:
        public = bindings.crypto_scalarmult_base(ephemeral)
        nonce = hashlib.blake2b(public + member.public_key, digest_size=_NONCE).digest()
        return public + bindings.crypto_box(key, nonce, member.public_key, ephemeral)
    except (CryptoError, TypeError, ValueError) as error:
        raise SealedError(f"the key of {member.number} is not an X25519 public key") from error
