"""kill -9 of the server in the middle of five hundred questions with a `client_id` each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.harness.cast import Cast, Person
from tests.harness.service import Service, Starter

QUESTIONS = 500
KILLED_AFTER = 150
AT_ONCE = 100  # all five hundred at once would only fill the queue of connections

Answer = dict[str, Any]


class Poster:
    """Posts; kills the service when it has had so many answers, and starts it again."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.answered = 0
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def post(self, http: httpx.AsyncClient, path: str, body: Answer) -> Answer | None:
        """The call's answer, None when there was none or the service said to try again."""
        async with self._turn:
            try:
                answer = await http.post(path, json=body)
            except httpx.TransportError:
                return None
        if answer.status_code == 503:
            return None
        assert answer.status_code in (200, 201), answer.text
        self.answered += 1
        if self.answered == KILLED_AFTER:
            self.service.kill()
        found: Answer = answer.json()
        return found

    async def all_of(self, call: Callable[[Any], Awaitable[Answer | None]], given: list[Any]) -> list[Answer]:
        """Every call's answer, each repeated until it has one."""
        self.answered = 0
        answers: dict[Any, Answer] = {}
        while missing := [one for one in given if one not in answers]:
            if not self.service.running:
                await asyncio.to_thread(self.service.start)
            made = await asyncio.gather(*(call(one) for one in missing))
            answers |= {one: answer for one, answer in zip(missing, made, strict=True) if answer is not None}
        return [answers[one] for one in given]


def listed(person: Person) -> dict[str, Answer]:
    """All threads of a person by their id."""
    found: dict[str, Answer] = {}
    cursor: dict[str, Any] = {}
    while True:
        page = person.call("GET", "/v1/threads", limit=100, **cursor)
        found |= {item["id"]: item for item in page["items"]}
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def told(person: Person) -> list[int]:
    """The seq of every event in an inbox, in the order of reading."""
    seqs: list[int] = []
    while events := person.inbox(seqs[-1] if seqs else 0, limit=100)["events"]:
        seqs += [event["seq"] for event in events]
    return seqs


@pytest.mark.faults
async def test_five_hundred_questions_are_asked_and_answered_once(fresh_server: Starter) -> None:
    service = fresh_server()
    cast = Cast(service)
    alice, bob = cast.friends
    poster = Poster(service)
    async with alice.async_http(timeout=120) as asking, bob.async_http(timeout=120) as answering:

        async def ask(place: int) -> Answer | None:
            body = {"to": bob.number, "text": f"Question {place}", "client_id": f"q-{place}"}
            return await poster.post(asking, "/v1/threads", body)

        async def reply(thread: str) -> Answer | None:
            body = {"text": "So.", "client_id": f"a-{thread}"}
            return await poster.post(answering, f"/v1/threads/{thread}/messages", body)

        first = await poster.all_of(ask, list(range(QUESTIONS)))
        second = await poster.all_of(ask, list(range(QUESTIONS)))
        threads = [answer["thread"]["id"] for answer in second]
        assert [answer["thread"]["id"] for answer in first] == threads
        assert all(answer["duplicate"] for answer in second)
        replies = await poster.all_of(reply, threads)
        assert {answer["thread"]["state"] for answer in replies} == {"answered"}

    assert len(set(threads)) == QUESTIONS
    found = listed(alice)
    assert sorted(found) == sorted(threads)
    assert {item["state"] for item in found.values()} == {"answered"}
    for thread in threads[::25]:
        assert [message["role"] for message in alice.thread(thread)["messages"]] == ["asker", "assignee"]
    assert told(bob) == list(range(1, QUESTIONS + 2)), "each question once, after the contact request"
    cast.close()
