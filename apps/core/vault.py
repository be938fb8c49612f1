"""Secrets that must be used again are kept encrypted. All others are kept as hashes, elsewhere."""

from __future__ import annotations

import hashlib
from functools import cache

from django.conf import settings
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from relayger.config import read_keys


class Lost(Exception):
    """No key of this service opens the secret: the one that closed it was taken out of SECRETS_KEY."""


def close(secret: bytes) -> bytes:
    """The secret as it is kept: encrypted with the first key, never twice the same."""
    return bytes(_boxes()[0].encrypt(secret))


def open(kept: bytes) -> bytes:
    """The secret again. Raises Lost."""
    for box in _boxes():
        try:
            return box.decrypt(bytes(kept))
        except CryptoError:
            continue
    raise Lost


def _boxes() -> tuple[SecretBox, ...]:
    given = settings.RELAYGER.secrets_key
    return _made("" if given is None else given.get_secret_value(), settings.SECRET_KEY)


@cache
def _made(given: str, secret_key: str) -> tuple[SecretBox, ...]:
    if given:
        return tuple(SecretBox(key) for key in read_keys(given))
    derived = hashlib.blake2b(secret_key.encode(), digest_size=SecretBox.KEY_SIZE, person=b"relayger.secrets")
    return (SecretBox(derived.digest()),)
