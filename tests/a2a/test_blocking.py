"""SendMessage that waits: until the task is settled, at most so long, never in silence."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.a2a.wire import VERSION, agent, echo, revoke, state
from tests.harness.cast import Cast, Person, a2a_path, reason, send_params
from tests.harness.service import Service, Starter
from tests.harness.wait import until


def test_blocking_returns_the_answer(cast: Cast) -> None:
    alice, bob = cast.friends
    with agent(bob, echo(bob)):
        task = alice.send(bob, "Hello", wait=True)
    assert state(task) == "COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "You said: Hello"}]
    assert [said["role"] for said in task["history"]] == ["ROLE_USER", "ROLE_AGENT"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("input_required", "INPUT_REQUIRED"),
        ("auth_required", "AUTH_REQUIRED"),
        ("failed", "FAILED"),
        ("declined", "REJECTED"),
    ],
)
def test_blocking_returns_when_it_is_the_askers_turn_or_over(cast: Cast, said: str, shown: str) -> None:
    alice, bob = cast.friends

    def script(thread: dict[str, Any], message: dict[str, Any]) -> None:
        bob.call("POST", f"/v1/threads/{thread['id']}/working", {})
        bob.reply(thread["id"], "Because.", state=said)

    with agent(bob, script):
        task = alice.send(bob, wait=True)
    assert state(task) == shown
    assert task["status"]["message"]["parts"] == [{"text": "Because."}]
    assert task["status"]["message"]["role"] == "ROLE_AGENT"


def test_blocking_on_a_follow_up(cast: Cast) -> None:
    alice, bob = cast.friends

    def script(thread: dict[str, Any], message: dict[str, Any]) -> None:
        asking = thread["state"] == "open"
        bob.reply(
            thread["id"], "Which?" if asking else "That.", **({"state": "input_required"} if asking else {})
        )

    with agent(bob, script):
        task = alice.send(bob, wait=True)
        assert state(task) == "INPUT_REQUIRED"
        task = alice.send(bob, "This.", wait=True, taskId=task["id"])
    assert state(task) == "COMPLETED"
    assert [said["parts"][0]["text"] for said in task["history"]] == ["How?", "Which?", "This.", "That."]


def test_blocking_on_what_was_answered_already(cast: Cast) -> None:
    alice, bob = cast.friends
    params = send_params()
    task = alice.rpc(bob, "SendMessage", params)["task"]
    bob.reply(task["id"], "So.")
    params["configuration"] = {}
    started = time.monotonic()
    assert state(alice.rpc(bob, "SendMessage", params)["task"]) == "COMPLETED"
    assert time.monotonic() - started < 2


def test_a_cancel_ends_the_waiting(cast: Cast) -> None:
    alice, bob = cast.friends
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(alice.send, bob, wait=True)
        task = until(lambda: alice.rpc(bob, "ListTasks")["tasks"])[0]
        alice.rpc(bob, "CancelTask", {"id": task["id"]})
        assert state(waiting.result(10)) == "CANCELED"


def test_returning_at_once_does_not_wait(cast: Cast) -> None:
    alice, bob = cast.friends
    started = time.monotonic()
    assert state(alice.send(bob)) == "SUBMITTED"
    assert time.monotonic() - started < 1


def _chunks(person: Person, to: Person, params: dict[str, Any]) -> list[bytes]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    with person.http.stream("POST", a2a_path(to), json=body, headers=VERSION) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-accel-buffering"] == "no"
        return list(response.iter_raw())


@pytest.fixture(scope="module")
def hasty(_start: Starter) -> Service:
    """A service that waits for tenths of seconds where others wait for seconds."""
    return _start(
        RELAYGER_BLOCKING_SECONDS="1.5",
        RELAYGER_HOLD_SECONDS="0.2",
        RELAYGER_KEEPALIVE_SECONDS="0.2",
        RELAYGER_SWEEP_SECONDS="0.3",
    )


def test_a_long_silence_is_filled_with_spaces_and_ends_with_the_task_as_it_stands(hasty: Service) -> None:
    alice, bob = Cast(hasty).friends
    started = time.monotonic()
    chunks = _chunks(alice, bob, {**send_params(), "configuration": {}})
    assert 1.4 < time.monotonic() - started < 10
    body = b"".join(chunks)
    assert len(body) - len(body.lstrip(b" ")) >= 4
    answer = httpx.Response(200, content=body).json()
    assert state(answer["result"]["task"]) == "SUBMITTED"
    assert answer["id"] == 1


def test_an_answer_that_comes_late_is_behind_the_spaces(hasty: Service) -> None:
    alice, bob = Cast(hasty).friends
    late = threading.Event()

    def script(thread: dict[str, Any], message: dict[str, Any]) -> None:
        late.wait(0.7)
        bob.reply(thread["id"], "So.")

    with agent(bob, script):
        body = b"".join(_chunks(alice, bob, {**send_params(), "configuration": {}}))
    assert body.startswith(b"  ")
    assert state(httpx.Response(200, content=body).json()["result"]["task"]) == "COMPLETED"


def test_a_credential_taken_away_ends_the_waiting(hasty: Service) -> None:
    alice, bob = Cast(hasty).friends
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(alice.a2a, bob, "SendMessage", send_params(wait=True))
        until(lambda: bob.inbox(types="thread.opened")["events"])
        revoke(alice)
        response = waiting.result(10)
    # By 401 as long as nothing was sent, behind the spaces of a 200 once something was.
    assert response.status_code in (200, 401)
    error = response.json()["error"]
    assert (error["code"], reason(error)) == (-32000, "UNAUTHENTICATED")


def test_the_task_outlives_a_client_that_goes_away(cast: Cast) -> None:
    alice, bob = cast.friends
    params = {**send_params(), "configuration": {}}
    with pytest.raises(httpx.ReadTimeout):
        alice.http.post(
            a2a_path(bob),
            json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params},
            headers=VERSION,
            timeout=0.5,
        )
    (task,) = alice.rpc(bob, "ListTasks")["tasks"]
    assert state(task) == "SUBMITTED"
    bob.reply(task["id"], "So.")
    assert state(alice.rpc(bob, "SendMessage", params)["task"]) == "COMPLETED"


def test_no_more_waits_than_allowed(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_MAX_A2A_WAITS="2")
    alice, bob = Cast(service).friends
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(alice.send, bob, wait=True) for _ in range(2)]
        until(lambda: alice.rpc(bob, "ListTasks")["totalSize"] == 2)
        response = alice.a2a(bob, "SendMessage", send_params(wait=True))
        assert response.status_code == 429
        assert response.json()["error"]["data"][0]["reason"] == "TOO_MANY_WAITS"
        assert response.headers["retry-after"]
        assert state(alice.send(bob)) == "SUBMITTED", "what does not wait needs no slot"
        tasks = alice.rpc(bob, "ListTasks")
        assert tasks["totalSize"] == 3, "what was refused was not stored"
        for task in tasks["tasks"]:
            bob.reply(task["id"])
        assert [state(one.result(10)) for one in waiting] == ["COMPLETED"] * 2
    with agent(bob, echo(bob)):
        assert state(alice.send(bob, wait=True)) == "COMPLETED", "the slots are free again"
