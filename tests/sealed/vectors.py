"""The published test vectors, made again from their seeds: `python -m tests.sealed.vectors` writes the file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from relayger import sealed

PATH = Path(__file__).parent.parent.parent / "docs" / "sealed-vectors.json"

PEOPLE = ("1234567897", "2000000008", "9876543217")


class Counted:
    """Bytes in place of random ones: SHA-256 of a label and a count."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._count = 0

    def __call__(self, size: int) -> bytes:
        self._count += 1
        return hashlib.sha256(f"{self._label} {self._count}".encode()).digest()[:size]


def seed(number: str) -> bytes:
    return hashlib.sha256(f"relayger test vector {number}".encode()).digest()


def key_id(purpose: str, number: str) -> str:
    return "key_" + hashlib.sha256(f"{purpose} {number}".encode()).hexdigest()[:32]


def person(number: str) -> dict[str, str]:
    public = sealed.public_of(seed(number))
    return {
        "number": number,
        "seed": seed(number).hex(),
        "ed25519_public": public.hex(),
        "x25519_private": sealed.derived_private(seed(number)).hex(),
        "x25519_public": sealed.derived_public(public).hex(),
        "sign_key_id": key_id("sign", number),
        "seal_key_id": key_id("seal", number),
        "sign_fingerprint": sealed.fingerprint("sign", public),
    }


def message(name: str, scope: str, numbers: tuple[str, ...], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """A message from the first of some people to all of them."""
    plaintext = sealed.pack(parts)
    envelope = sealed.seal(
        plaintext,
        scope=scope,
        sender=numbers[0],
        key_id=key_id("sign", numbers[0]),
        signing_key=seed(numbers[0]),
        members=[
            sealed.Member(
                number, key_id("seal", number), sealed.derived_public(sealed.public_of(seed(number)))
            )
            for number in numbers
        ],
        random=Counted(name),
    )
    return {
        "name": name,
        "scope": scope,
        "sender": numbers[0],
        "plaintext": plaintext.hex(),
        "signed": sealed.read(envelope).signed().hex(),
        "envelope": envelope,
    }


def document() -> dict[str, Any]:
    first, second, third = PEOPLE
    return {
        "format": "relayger-sealed-v1",
        "people": [person(number) for number in PEOPLE],
        "messages": [
            message("to a friend", sealed.pair(second, first), (second, first), [{"text": "Hello"}]),
            message("to oneself", sealed.pair(first, first), (first,), [{"text": ""}]),
            message(
                "to a room",
                "con_0190a0b1c2d37e4f8a9b0c1d2e3f4a5b",
                (third, first, second),
                [
                    {"text": "Grüße ✓"},
                    {"data": {"n": 1.0, "z": [None, True]}, "media_type": "application/json"},
                ],
            ),
        ],
    }


def text() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
