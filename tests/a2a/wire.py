"""What the A2A tests call with: a scripted agent, streams read event by event, and raw bodies."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.harness.cast import Person, a2a_path, send_params
from tests.harness.service import Service

VERSION = {"A2A-Version": "1.0"}
Script = Callable[[dict[str, Any], dict[str, Any]], None]


@contextmanager
def agent(person: Person, script: Script) -> Iterator[list[Exception]]:
    """Answer as `person` while the block runs: each message of an asker goes to `script(thread, message)`.

    The script replies with `person`'s own calls. What it raises ends it and fails the block.
    """
    failed: list[Exception] = []
    stop = threading.Event()
    after = 0
    while (page := person.inbox(after))["events"]:
        after = page["next"]  # what was asked before is not this script's to answer

    def listen() -> None:
        nonlocal after
        with httpx.Client(base_url=person.service.origin, headers=person.headers, timeout=30) as http:
            while not stop.is_set():
                query = {"after": after, "wait": 1, "types": "thread.opened,thread.message"}
                page = http.get("/v1/inbox", params=query).raise_for_status().json()
                after = page["next"]
                for event in page["events"]:
                    script(event["object"]["thread"], event["object"]["message"])

    def guarded() -> None:
        try:
            listen()
        except Exception as error:  # shown by the block, whatever it is
            failed.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    try:
        yield failed
    finally:
        stop.set()
        thread.join(30)
    assert failed == []


def echo(person: Person) -> Script:
    """Answers with what was asked."""

    def script(thread: dict[str, Any], message: dict[str, Any]) -> None:
        person.reply(thread["id"], f"You said: {message['text']}")

    return script


def raw(
    person: Person, to: Person | str, body: bytes | str, *, query: str = "", **headers: str
) -> httpx.Response:
    """A body as it is, as JSON unless a header says otherwise."""
    whole = {**VERSION, "Content-Type": "application/json", **headers}
    return person.http.post(a2a_path(to) + query, content=body, headers=whole)


class Stream:
    """A stream that is open: `next()` gives its results one by one."""

    def __init__(self, response: httpx.Response, id: Any) -> None:
        self.response = response
        self.id = id
        self.comments: list[float] = []
        self.opened = time.monotonic()
        self._lines = response.iter_lines()

    def next(self) -> dict[str, Any] | None:
        """The next result; None when the stream has ended."""
        for line in self._lines:
            if line.startswith(":"):
                self.comments.append(time.monotonic())
            elif line:
                assert line.startswith("data: "), line
                event = json.loads(line.removeprefix("data: "))
                assert event["jsonrpc"] == "2.0"
                assert event["id"] == self.id
                assert type(event["id"]) is type(self.id)
                result: dict[str, Any] = event.get("result") or {"error": event["error"]}
                assert len(result) == 1
                return result
        return None

    def rest(self) -> list[dict[str, Any]]:
        """All results until the stream ends."""
        found = []
        while (result := self.next()) is not None:
            found.append(result)
        return found


@contextmanager
def open_stream(
    person: Person,
    to: Person | str,
    method: str,
    params: dict[str, Any],
    *,
    id: Any = "s-1",
    seconds: float = 30,
) -> Iterator[Stream]:
    """A streaming call that is answered by a stream."""
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    headers = {**VERSION, "Accept": "text/event-stream"}
    with person.http.stream("POST", a2a_path(to), json=body, headers=headers, timeout=seconds) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream"), response.read()
        yield Stream(response, id)


def streamed(person: Person, to: Person, text: str = "How?", **message: Any) -> Any:
    """SendStreamingMessage."""
    return open_stream(person, to, "SendStreamingMessage", send_params(text, **message))


def state(task: dict[str, Any]) -> str:
    """A task's state without its prefix."""
    text: str = task["status"]["state"]
    return text.removeprefix("TASK_STATE_")


def kinds(results: list[dict[str, Any]]) -> list[str]:
    """What each result of a stream is; of a change of state, which."""
    return [
        state(result["statusUpdate"]) if "statusUpdate" in result else next(iter(result))
        for result in results
    ]


def store(service: Service, statement: str, *values: Any) -> None:
    """Change a running service's data behind its back; `?` stands for a value."""
    if isinstance(service.database, Path):
        with sqlite3.connect(service.database, timeout=20) as connection:
            connection.execute(statement, values)
        connection.close()
    else:
        with psycopg.connect(service.database) as postgres:
            postgres.execute(statement.replace("?", "%s").encode(), values)


def only_scopes(person: Person, scopes: str) -> None:
    """Let a person's token carry these scopes alone."""
    store(
        person.service,
        "UPDATE identities_credential SET scopes = ? WHERE identity_id = ?",
        scopes,
        int(person.number),
    )


def revoke(person: Person) -> None:
    """Take a person's token away."""
    store(
        person.service,
        "UPDATE identities_credential SET revoked_at = created_at WHERE identity_id = ?",
        int(person.number),
    )
