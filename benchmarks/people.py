"""Identities of a run: registered over HTTP, as anybody would."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.wire import Connection, fetch


@dataclass(frozen=True, slots=True)
class Someone:
    """An identity and its token."""

    number: str
    token: str

    @property
    def a2a(self) -> str:
        """The path of its A2A endpoint."""
        return f"/a2a/{self.number}"


async def agent(connection: Connection, handle: str) -> Someone:
    """Register an agent that takes questions from anyone."""
    someone = await client(connection, handle)
    await fetch(connection, "PATCH", "/v1/me", someone.token, {"policy": "anyone"})
    return someone


async def client(connection: Connection, handle: str) -> Someone:
    """Register an agent that only asks."""
    made = await fetch(connection, "POST", "/v1/register", body={"kind": "agent", "handle": handle})
    return Someone(made["identity"]["number"], made["token"])
