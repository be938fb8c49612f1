"""kill -9 of the server in the middle of five hundred questions."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from relayger.client import AsyncClient, calls
from relayger.client.worker import Question, Reply, work
from tests.harness.cast import Cast, Person
from tests.harness.service import Starter
from tests.harness.wait import until_async

QUESTIONS = 500
KILLED_AFTER = 120


def body(number: int) -> dict[str, Any]:
    message = {"messageId": f"m-{number}", "role": "ROLE_USER", "parts": [{"text": f"Question {number}"}]}
    params = {"message": message, "configuration": {"returnImmediately": True}}
    return {"jsonrpc": "2.0", "id": number, "method": "SendMessage", "params": params}


async def send(http: httpx.AsyncClient, agent: Person, number: int) -> str:
    """Send one question; returns its task's id. Raises httpx.HTTPError when the server is gone."""
    answer = await http.post(
        f"/a2a/{agent.number}", json=body(number), headers={"A2A-Version": "1.0"}, timeout=60
    )
    answer.raise_for_status()
    task: str = answer.json()["result"]["task"]["id"]
    return task


async def everything(asker: Person) -> list[dict[str, Any]]:
    """All threads that the asker opened."""
    threads: list[dict[str, Any]] = []
    async with AsyncClient(asker.service.origin, asker.token) as client:
        cursor: str | None = None
        while True:
            page = await client.send(calls.threads(role="asker", limit=100, cursor=cursor))
            threads += page["items"]
            if (cursor := page["next_cursor"]) is None:
                return threads


@pytest.mark.faults
async def test_no_question_is_lost_or_doubled_and_each_is_answered_once(fresh_server: Starter) -> None:
    server = fresh_server()
    cast = Cast(server)
    asker, agent = cast.alice, cast.ada
    asker.befriend(agent)
    stop = asyncio.Event()

    async def answer(question: Question) -> Reply:
        return Reply(f"Answer to {question.text}")

    async with AsyncClient(server.origin, agent.token) as client, asker.async_http(timeout=60) as http:
        worker = asyncio.create_task(work(client, answer, name="w", concurrency=8, stop=stop))
        sent: list[str] = []

        async def attempt(number: int) -> str | None:
            try:
                task = await send(http, agent, number)
            except httpx.HTTPError:
                return None
            sent.append(task)
            if len(sent) == KILLED_AFTER:
                server.kill()
            return task

        first = await asyncio.gather(*(attempt(number) for number in range(QUESTIONS)))
        assert None in first, "the server was killed while questions were under way"
        await asyncio.to_thread(server.start)
        second = await asyncio.gather(*(send(http, agent, number) for number in range(QUESTIONS)))

        assert len(set(second)) == QUESTIONS
        for before, after in zip(first, second, strict=True):
            assert before in (None, after), "what was answered before the kill is the same task after it"

        async def all_answered() -> bool:
            return [thread["state"] for thread in await everything(asker)] == ["answered"] * QUESTIONS

        await until_async(all_answered, 120, "500 threads, each answered")
        stop.set()
        await worker

    for task in second:
        messages = asker.thread(task)["messages"]
        assert [message["role"] for message in messages if message["text"]] == ["asker", "assignee"]
    cast.close()
