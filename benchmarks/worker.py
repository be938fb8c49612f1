"""The agent in another process: takes questions by long-poll and answers each with its own text, many at a time.

`python -m benchmarks.worker --port N` works for the relay of `benchmarks.peer`, with `--token` for our service.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvloop

from benchmarks.wire import Connection, fetch

LEASE = 60  # seconds

Answer = Callable[[Connection, dict[str, Any]], Awaitable[None]]


async def _opened(connection: Connection, token: str) -> AsyncIterator[dict[str, Any]]:
    """Every question that comes to the inbox from now on, as its event's object."""
    inbox = "/v1/inbox?types=thread.opened&limit=100"
    after, events = 0, [None]
    while events:  # what came before is not ours to answer
        page = await fetch(connection, "GET", f"{inbox}&after={after}", token)
        after, events = page["next"], page["events"]
    print("ready", flush=True)
    while True:
        page = await fetch(connection, "GET", f"{inbox}&after={after}&wait=25", token)
        after = page["next"]
        for event in page["events"]:
            yield event["object"]


def _leased(token: str) -> Answer:
    """Answers in two requests, as our own worker does: the lease, then the reply under it."""

    async def answer(connection: Connection, question: dict[str, Any]) -> None:
        path = f"/v1/threads/{question['thread']['id']}"
        lease = {"worker": "bench", "seconds": LEASE}
        taken = await fetch(connection, "POST", f"{path}/working", token, lease)
        reply = {"text": question["message"]["text"], "attempt": taken["attempt"]}
        await fetch(connection, "POST", f"{path}/messages", token, reply)

    return answer


async def _relayed(connection: Connection) -> AsyncIterator[dict[str, Any]]:
    """Every question of the peer's relay; the poll takes it."""
    print("ready", flush=True)
    while True:
        page = await fetch(connection, "GET", "/agent/questions")
        for question in page["questions"]:
            yield question


async def _echo(connection: Connection, question: dict[str, Any]) -> None:
    await fetch(connection, "POST", "/agent/answers", body=question)


async def work(port: int, token: str | None, slots: int) -> None:
    """Answer for ever, `slots` questions at a time. Raises BenchmarkError when a call fails."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(slots):
        free.put_nowait(await Connection.open(port))
    poll = await Connection.open(port)
    questions = _relayed(poll) if token is None else _opened(poll, token)
    answer = _echo if token is None else _leased(token)

    async def one(connection: Connection, question: dict[str, Any]) -> None:
        await answer(connection, question)
        free.put_nowait(connection)

    async with asyncio.TaskGroup() as tasks:
        async for question in questions:
            tasks.create_task(one(await free.get(), question))


def main() -> None:
    """Answer until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--token")
    parser.add_argument("--slots", type=int, default=16)
    arguments = parser.parse_args()
    uvloop.run(work(arguments.port, arguments.token, arguments.slots))


if __name__ == "__main__":
    main()
