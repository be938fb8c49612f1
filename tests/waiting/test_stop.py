"""SIGTERM: waits answer, streams end, what was accepted is kept, the process goes."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

from tests.harness.cast import Cast, a2a_path, send_params
from tests.harness.service import Starter
from tests.harness.wait import until

SOON = 8.0


async def test_the_waits_answer_and_the_process_goes(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_JOB_SECONDS="86400")
    cast = Cast(service)
    alice, bob = cast.friends
    thread = alice.ask(bob)
    inbox = f"/v1/inbox?after={bob.inbox()['next'] + 2}&wait=25"
    before = service.vitals()["tasks"]
    async with alice.async_http() as asking, bob.async_http() as answering:
        blocking = asyncio.create_task(a2a(asking, bob, "SendMessage", send_params(wait=True)))
        stream = asyncio.create_task(a2a(asking, bob, "SendStreamingMessage", send_params()))
        await asyncio.to_thread(
            until, lambda: len(bob.call("GET", "/v1/threads", state="open")["items"]) == 3, 20
        )
        polls = [asyncio.create_task(answering.get(inbox)) for _ in range(5)]
        path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
        looks = [asyncio.create_task(asking.get(path)) for _ in range(5)]
        await asyncio.to_thread(until, lambda: service.vitals()["tasks"] >= before + 24, 20, "all waits")
        start = time.monotonic()
        code = await asyncio.to_thread(service.terminate)
        answers = [answer.json() for answer in await asyncio.gather(*polls, *looks)]
        texts = await asyncio.gather(blocking, stream)
        assert time.monotonic() - start < SOON
    assert code in (0, -signal.SIGTERM)  # in good order; uvicorn hands the signal on at its end
    assert all(answer.get("events", answer.get("messages")) == [] for answer in answers)
    assert all("TASK_STATE_SUBMITTED" in text for text in texts)
    await asyncio.to_thread(service.start)
    assert len(bob.call("GET", "/v1/threads", state="open")["items"]) == 3
    cast.close()


async def a2a(http: Any, to: Any, method: str, params: Any) -> str:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await http.post(a2a_path(to), json=body, headers={"A2A-Version": "1.0"})
    assert answer.status_code == 200
    return str(answer.text)
