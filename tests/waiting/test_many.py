"""Two hundred waiters of every kind on one process."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import httpx
import psycopg

from tests.harness.cast import Cast, Person, a2a_path, send_params
from tests.harness.service import Service, Starter
from tests.harness.wait import until, until_async
from tests.waiting.test_live import MOST_CONNECTIONS, reads

SWEEP = 1.0
SWEEPS = 3
KINDS = 3  # inbox, thread, cred: one statement each
POLLS, LOOKS, BLOCKING, STREAMS, SUBSCRIBED = 60, 60, 30, 25, 25


class Crowd:
    """Waiters: long-polls, blocking calls and streams of one asker and one agent."""

    def __init__(self, cast: Cast) -> None:
        self.asker, self.agent = cast.friends
        self.service = cast.service
        self.stack = AsyncExitStack()
        self.answers: list[asyncio.Task[Any]] = []

    async def gather(self) -> None:
        asker = await self.stack.enter_async_context(self.asker.async_http(timeout=120))
        thread = await asyncio.to_thread(self.asker.ask, self.agent)
        self._start(self._call(asker, "SendMessage", send_params(wait=True)) for _ in range(BLOCKING))
        self._start(self._stream(asker, "SendStreamingMessage", send_params()) for _ in range(STREAMS))
        task = {"id": thread["id"]}
        self._start(self._stream(asker, "SubscribeToTask", task) for _ in range(SUBSCRIBED))
        opened = 1 + BLOCKING + STREAMS
        await until_async(lambda: self._opened(opened), 60, "all questions")
        after = (await asyncio.to_thread(self.asker.inbox, 0))["next"]
        path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
        self._start(self._get(asker, path) for _ in range(LOOKS))
        self._start(self._get(asker, f"/v1/inbox?after={after}&wait=25") for _ in range(POLLS))

    def _start(self, calls: Any) -> None:
        self.answers += [asyncio.create_task(call) for call in calls]

    async def _opened(self, threads: int) -> bool:
        page = await asyncio.to_thread(self.agent.call, "GET", "/v1/threads", limit=100)
        return len(page["items"]) >= threads

    async def _get(self, http: httpx.AsyncClient, path: str) -> Any:
        answer = await http.get(path)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body.get("events") or body.get("messages"), body
        return body

    def _request(self, http: httpx.AsyncClient, method: str, params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return http.stream("POST", a2a_path(self.agent), json=body, headers={"A2A-Version": "1.0"})

    async def _call(self, http: httpx.AsyncClient, method: str, params: Any) -> Any:
        async with self._request(http, method, params) as answer:
            text = (await answer.aread()).decode()
        assert "TASK_STATE_COMPLETED" in text, text

    async def _stream(self, http: httpx.AsyncClient, method: str, params: Any) -> Any:
        await self._call(http, method, params)

    async def answer_all(self) -> None:
        for thread in self.open_threads():
            await asyncio.to_thread(self.agent.reply, thread)

    def open_threads(self) -> list[str]:
        page = self.agent.call("GET", "/v1/threads", limit=100, state="open")
        return [item["id"] for item in page["items"]]


async def warm(service: Service, person: Person) -> dict[str, int]:
    """The vitals once every thread and connection that serving takes is there."""
    async with person.async_http() as http:
        await asyncio.gather(*(http.get("/v1/inbox") for _ in range(40)))
        await asyncio.gather(*(http.get("/v1/threads") for _ in range(20)))
    return await settled(service)


async def settled(service: Service) -> dict[str, int]:
    """The vitals once two looks at them are the same."""
    seen: list[dict[str, int]] = []

    async def same() -> bool:
        seen.append(await asyncio.to_thread(service.vitals))
        keys = ("threads", "connections", "tasks")
        return len(seen) > 3 and all(seen[-1][key] == seen[-4][key] for key in keys)

    await until_async(same, 30, "vitals that stay")
    return seen[-1]


async def test_two_hundred_waiters(fresh_server: Starter) -> None:
    service = fresh_server(
        RELAYGER_SWEEP_SECONDS=str(SWEEP),
        RELAYGER_JOB_SECONDS="86400",
        RELAYGER_OUTBOX_SECONDS="86400",
        RELAYGER_MAX_LONG_POLLS="500",
        RELAYGER_BLOCKING_SECONDS="100",
    )
    cast = Cast(service)
    crowd = Crowd(cast)
    before = await warm(service, crowd.asker)
    service.http.delete("/_test/statements")
    async with crowd.stack:
        await crowd.gather()
        total = POLLS + LOOKS + BLOCKING + STREAMS + SUBSCRIBED
        await asyncio.to_thread(until, lambda: reads(service) >= total, 60, f"{total} waits")
        during = await settled(service)
        assert during["threads"] <= before["threads"]
        assert during["connections"] <= MOST_CONNECTIONS
        await asyncio.to_thread(until, lambda: busy(service) == 0, 5, "a moment between two sweeps")

        made = await asyncio.to_thread(silence, service)
        assert made, "the sweep comes"
        span = made[-1]["at"] - made[0]["at"]
        assert len(made) <= KINDS * (round(span / SWEEP) + 1), [one["sql"] for one in made]

        start = time.monotonic()
        await crowd.answer_all()
        await asyncio.wait_for(asyncio.gather(*crowd.answers), 60)
        assert time.monotonic() - start < 60
    after = await settled(service)
    assert after["threads"] <= before["threads"]
    assert after["connections"] <= MOST_CONNECTIONS
    cast.close()


def busy(service: Service) -> int:
    """How many of the service's connections do anything now, be it to stand in a transaction."""
    if service.setup == "embedded":
        return 0
    with psycopg.connect(str(service.database)) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'"
        ).fetchone()
    assert found is not None
    return int(found[0])


def silence(service: Service) -> list[dict[str, Any]]:
    """The statements of some sweeps during which nobody does anything."""
    service.http.delete("/_test/statements")

    def swept() -> list[dict[str, Any]] | None:
        made: list[dict[str, Any]] = service.http.get("/_test/statements").json()
        return made if len(made) >= KINDS * SWEEPS else None

    made = until(swept, 5 * SWEEP * SWEEPS, "the sweeps")
    assert made is not None
    return made
