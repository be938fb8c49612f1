"""Webhooks and what happens to them, over HTTP."""

from __future__ import annotations

from typing import Any

from tests.harness.cast import Person
from tests.harness.wait import until


def make(person: Person, url: str, **fields: Any) -> dict[str, Any]:
    """A new webhook with its secret."""
    made: dict[str, Any] = person.call("POST", "/v1/webhooks", {"url": url, **fields}, status=201)
    return made


def deliveries(person: Person, hook: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    """A webhook's pings, newest first."""
    found: list[dict[str, Any]] = person.call("GET", f"/v1/webhooks/{hook['id']}/deliveries", **params)[
        "items"
    ]
    return found


def state(person: Person, hook: dict[str, Any]) -> str:
    """active or disabled."""
    found: str = person.call("GET", f"/v1/webhooks/{hook['id']}")["state"]
    return found


def settled(person: Person, hook: dict[str, Any], count: int, seconds: float = 15) -> list[dict[str, Any]]:
    """A webhook's pings, oldest first, once there are `count` and none waits."""

    def ready() -> list[dict[str, Any]]:
        found = deliveries(person, hook)
        return found if len(found) >= count and all(one["state"] != "pending" for one in found) else []

    return until(ready, seconds, f"{count} pings settled")[::-1]


def tell(person: Person, teller: Person, times: int = 1) -> list[int]:
    """Let `teller` make `times` events in the inbox of its friend `person`; their seqs."""
    before = person.call("GET", "/v1/inbox", after=0)["next"]
    for number in range(times):
        teller.ask(person, f"{number}?")
    return list(range(before + 1, before + times + 1))
