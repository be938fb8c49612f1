"""What the tests of an account's life share: a look into a service's own database, and time that has passed there."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from nacl.signing import SigningKey

from tests.harness.cast import Cast, Person
from tests.harness.service import Service


def rows(service: Service, sql: str) -> list[tuple[Any, ...]]:
    """Run one statement on a service's own database."""
    with _connected(service) as connection:
        cursor = connection.execute(sql)
        found = cursor.fetchall() if cursor.description else []
        connection.commit()
    return found


@contextmanager
def _connected(service: Service) -> Iterator[Any]:
    if service.setup == "embedded":
        with closing(sqlite3.connect(service.database, timeout=20)) as lite:
            yield lite
    else:
        with psycopg.connect(str(service.database)) as connection:
            yield connection


def public_key() -> str:
    """A fresh key to sign with, as it is published."""
    key = bytes(SigningKey.generate().verify_key)
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


def grace_passes(person: Person) -> None:
    """Let a deleted identity's time be over."""
    rows(
        person.service,
        f"UPDATE identities_identity SET purge_at = '2020-01-01 00:00:00' WHERE number = {person.number}",
    )


def gone(person: Person) -> bool:
    """Whether the job has removed an identity for good."""
    found = rows(
        person.service,
        f"SELECT 1 FROM identities_identity WHERE number = {person.number} AND purge_at IS NULL"
        f" AND handle = 'deleted-{person.number}'",
    )
    return bool(found)


def busy(cast: Cast) -> tuple[Person, Person, dict[str, str]]:
    """Two friends, the first of whom has something of every kind; the ids of some of it by kind."""
    alice, bob = cast.friends
    made: dict[str, str] = {}
    alice.call(
        "PATCH",
        "/v1/me",
        {"display_name": "Alice Liddell", "description": "Falls", "skills": [{"name": "Fall"}]},
    )
    made["token"] = alice.call("POST", "/v1/tokens", {"name": "on my laptop", "client_id": "t"})["id"]
    made["key"] = alice.call("POST", "/v1/keys", {"purpose": "sign", "public_key": public_key()})["id"]
    made["thread"] = alice.ask(bob, "A question")["id"]
    bob.reply(made["thread"], "An answer")
    made["asked"] = bob.ask(alice, "Another")["id"]
    said = alice.call("POST", f"/v1/chats/{bob.number}/messages", {"text": "A message", "client_id": "m"})
    made["message"], made["direct"] = said["message"]["id"], said["message"]["chat"]
    body = {"topic": "Engines", "visibility": "public", "invite": [bob.number]}
    made["room"] = alice.call("POST", "/v1/chats", body)["chat"]["id"]
    (invite,) = bob.call("GET", "/v1/invites")["items"]
    bob.call("POST", f"/v1/invites/{invite['id']}/accept")
    made["invite"] = invite["id"]
    stranger = cast.register("stranger")
    alice.call("POST", "/v1/contacts", {"to": stranger.number, "note": "May I?"})
    alice.call("POST", f"/v1/contacts/{cast.mallory.number}/block")
    hook = alice.call("POST", "/v1/webhooks", {"url": "http://127.0.0.1:9/hook", "name": "my hook"})
    made["webhook"] = hook["id"]
    file = {"name": "hello.txt", "content": "SGVsbG8="}
    made["file"] = alice.call("POST", f"/v1/chats/{bob.number}/files", file)["file"]["id"]
    report = {"about": bob.number, "reason": "other", "text": "He sulks"}
    made["report"] = alice.call("POST", "/v1/reports", report)["id"]
    return alice, bob, made
