"""kill -9 of the server in the middle of five hundred questions with a `client_id` each."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.harness.cast import Cast
from tests.harness.service import Starter

QUESTIONS = 500
KILLED_AFTER = 150


@pytest.mark.faults
async def test_five_hundred_questions_are_asked_and_answered_once(fresh_server: Starter) -> None:
    service = fresh_server()
    cast = Cast(service)
    alice, bob = cast.friends

    async with alice.async_http(timeout=120) as asking, bob.async_http(timeout=120) as answering:
        some = asyncio.Semaphore(100)  # at once; all at once only fills the queue of connections
        done: list[str] = []

        async def post(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
            async with some:
                try:
                    answer = await http.post(path, json=body)
                except httpx.TransportError:
                    return None
            if answer.status_code == 503:
                return None
            assert answer.status_code in (200, 201), answer.text
            found: dict[str, Any] = answer.json()
            done.append(found["message"]["id"])
            if len(done) == KILLED_AFTER:
                service.kill()
            return found

        async def ask(place: int) -> dict[str, Any] | None:
            body = {"to": bob.number, "text": f"Question {place}", "client_id": f"q-{place}"}
            return await post(asking, "/v1/threads", body)

        async def reply(thread: str) -> dict[str, Any] | None:
            path = f"/v1/threads/{thread}/messages"
            return await post(answering, path, {"text": "So.", "client_id": f"a-{thread}"})

        async def all_of(call: Any, given: list[Any]) -> list[dict[str, Any]]:
            """Every call's answer, each repeated until it has one."""
            answers = await asyncio.gather(*(call(one) for one in given))
            while None in answers:
                if not service.running:
                    await asyncio.to_thread(service.start)
                again = await asyncio.gather(
                    *(call(one) for one, answer in zip(given, answers, strict=True) if answer is None)
                )
                answers = [answer if answer is not None else again.pop(0) for answer in answers]
            return answers

        first = await all_of(ask, list(range(QUESTIONS)))
        second = await all_of(ask, list(range(QUESTIONS)))
        threads = [answer["thread"]["id"] for answer in second]
        assert [answer["thread"]["id"] for answer in first] == threads
        assert all(answer["duplicate"] for answer in second)
        assert len(set(threads)) == QUESTIONS

        done.clear()
        replies = await all_of(reply, threads)
        assert {answer["thread"]["state"] for answer in replies} == {"answered"}

    listed: dict[str, Any] = {}
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = alice.call("GET", "/v1/threads", **query)
        listed |= {item["id"]: item for item in page["items"]}
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert sorted(listed) == sorted(threads)
    assert {item["state"] for item in listed.values()} == {"answered"}
    for thread in threads[::25]:
        assert [message["role"] for message in alice.thread(thread)["messages"]] == ["asker", "assignee"]

    seqs: list[int] = []
    while (page := bob.inbox(seqs[-1] if seqs else 0, limit=100))["events"]:
        seqs += [event["seq"] for event in page["events"]]
    assert seqs == list(range(1, QUESTIONS + 2)), "each question told once, after the contact request"
    cast.close()
