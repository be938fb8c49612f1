"""SendStreamingMessage and SubscribeToTask: the task first, then each change, in one order for all."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.a2a.wire import agent, echo, kinds, open_stream, revoke, state, streamed
from tests.harness.cast import Cast, Person, reason, send_params
from tests.harness.environment import SETUP
from tests.harness.service import Service, Starter
from tests.harness.wait import until


def test_a_stream_from_question_to_answer(cast: Cast) -> None:
    alice, bob = cast.friends
    with agent(bob, echo(bob)), streamed(alice, bob, "Hello") as stream:
        headers = stream.response.headers
        results = stream.rest()
    assert headers["cache-control"] == "no-store"
    assert headers["x-accel-buffering"] == "no"
    assert headers["access-control-allow-origin"] == "*"
    assert "content-encoding" not in headers
    assert kinds(results) == ["task", "artifactUpdate", "COMPLETED"]
    task, artifact, status = (next(iter(result.values())) for result in results)
    assert state(task) == "SUBMITTED"
    assert artifact["artifact"]["parts"] == [{"text": "You said: Hello"}]
    assert (artifact["append"], artifact["lastChunk"]) == (False, True)
    for update in (artifact, status):
        assert (update["taskId"], update["contextId"]) == (task["id"], task["contextId"])
    assert alice.rpc(bob, "GetTask", {"id": task["id"]})["status"] == status["status"]


def test_the_first_byte_comes_at_once_and_uncompressed(cast: Cast) -> None:
    alice, bob = cast.friends
    alice.http.headers["Accept-Encoding"] = "gzip, br"
    started = time.monotonic()
    with streamed(alice, bob) as stream:
        assert kinds([stream.next() or {}]) == ["task"]
        assert time.monotonic() - started < 2
        assert "content-encoding" not in stream.response.headers


def test_every_change_in_order(cast: Cast) -> None:
    alice, bob = cast.friends
    with streamed(alice, bob) as stream:
        task = (stream.next() or {})["task"]["id"]
        bob.call("POST", f"/v1/threads/{task}/working", {})
        first = bob.reply(task, "a", state="working", last=False)["message"]["id"]
        alice.send(bob, "Hurry.", taskId=task)
        bob.reply(task, "b", state="working", of=first, last=False)
        bob.reply(task, "c", of=first, last=True)
        results = stream.rest()
    assert kinds(results) == ["WORKING", "artifactUpdate", "artifactUpdate", "artifactUpdate", "COMPLETED"]
    updates = [result["artifactUpdate"] for result in results if "artifactUpdate" in result]
    assert {update["artifact"]["artifactId"] for update in updates} == {first}
    assert [(update["append"], update["lastChunk"]) for update in updates] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    (artifact,) = alice.rpc(bob, "GetTask", {"id": task})["artifacts"]
    assert [part["text"] for part in artifact["parts"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("input_required", "INPUT_REQUIRED"),
        ("auth_required", "AUTH_REQUIRED"),
        ("failed", "FAILED"),
        ("declined", "REJECTED"),
    ],
)
def test_the_stream_closes_when_it_is_the_askers_turn_or_over(cast: Cast, said: str, shown: str) -> None:
    alice, bob = cast.friends
    with streamed(alice, bob) as stream:
        task = (stream.next() or {})["task"]["id"]
        bob.reply(task, "Why?", state=said)
        results = stream.rest()
    assert kinds(results) == ["artifactUpdate", shown]
    assert results[-1]["statusUpdate"]["status"]["message"]["parts"] == [{"text": "Why?"}]


def test_a_follow_up_streams_from_the_whole_task_on(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob, contextId="c")
    bob.reply(task["id"], "Which?", state="input_required")
    with streamed(alice, bob, "This.", taskId=task["id"]) as stream:
        first = (stream.next() or {})["task"]
        assert (state(first), len(first["history"])) == ("WORKING", 3)
        bob.reply(task["id"], "So.")
        results = stream.rest()
    assert kinds(results) == ["artifactUpdate", "COMPLETED"]
    assert {next(iter(result.values()))["contextId"] for result in results} == {"c"}


def test_a_subscription_starts_with_the_task_as_it_stands(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    bob.reply(task, "Soon.", state="working")
    with open_stream(alice, bob, "SubscribeToTask", {"id": task}, id=5) as stream:
        first = (stream.next() or {})["task"]
        assert (state(first), len(first["artifacts"]), len(first["history"])) == ("WORKING", 1, 2)
        bob.reply(task, "So.")
        assert kinds(stream.rest()) == ["artifactUpdate", "COMPLETED"]


def test_a_subscription_while_input_is_needed_waits_for_the_next_change(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    bob.reply(task, "Which?", state="input_required")
    with open_stream(alice, bob, "SubscribeToTask", {"id": task}) as stream:
        assert state((stream.next() or {})["task"]) == "INPUT_REQUIRED"
        alice.send(bob, "This.", taskId=task)
        assert kinds([stream.next() or {}]) == ["WORKING"]
        bob.reply(task, "And?", state="input_required")
        assert kinds(stream.rest()) == ["artifactUpdate", "INPUT_REQUIRED"]


@pytest.mark.parametrize("final", ["answered", "failed", "declined", "canceled"])
def test_a_subscription_to_what_has_ended_is_refused(cast: Cast, final: str) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    if final == "canceled":
        alice.rpc(bob, "CancelTask", {"id": task})
    else:
        bob.reply(task, state=final)
    assert alice.rpc_error(bob, "SubscribeToTask", {"id": task}) == (-32004, "UNSUPPORTED_OPERATION")


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("SendStreamingMessage", {}, -32602),
        ("SendStreamingMessage", send_params(taskId="thr_" + "0" * 32), -32001),
        ("SubscribeToTask", {}, -32602),
        ("SubscribeToTask", {"id": "x"}, -32001),
    ],
)
def test_errors_before_the_first_event_are_plain_json(
    cast: Cast, method: str, params: dict[str, Any], code: int
) -> None:
    alice, bob = cast.friends
    response = alice.a2a(bob, method, params, Accept="text/event-stream")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json()["error"]["code"] == code


def test_a_retry_of_what_was_answered_is_a_stream_of_one(cast: Cast) -> None:
    alice, bob = cast.friends
    params = send_params()
    task = alice.rpc(bob, "SendMessage", params)["task"]["id"]
    bob.reply(task)
    with open_stream(alice, bob, "SendStreamingMessage", params) as stream:
        (only,) = stream.rest()
    assert (only["task"]["id"], state(only["task"])) == (task, "COMPLETED")


@pytest.mark.parametrize("length", [0, 1])
def test_history_length_holds_for_the_first_event(cast: Cast, length: int) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    params = send_params(taskId=task)
    params["configuration"] = {"historyLength": length, "returnImmediately": True}
    with open_stream(alice, bob, "SendStreamingMessage", params) as stream:
        assert len((stream.next() or {})["task"].get("history", [])) == length
        bob.reply(task)
        assert kinds(stream.rest()) == ["artifactUpdate", "COMPLETED"]


def test_all_streams_of_a_task_see_the_same_in_one_order(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]

    def follow(_: int) -> list[dict[str, Any]]:
        with open_stream(alice, bob, "SubscribeToTask", {"id": task}) as stream:
            first = stream.next()
            assert first
            return [{"seen": len(first["task"]["history"])}, *stream.rest()]

    with ThreadPoolExecutor(9) as pool:
        following = [pool.submit(follow, number) for number in range(8)]
        for number in range(30):
            bob.reply(task, str(number), state="working")
        bob.reply(task, "end")
        found = [one.result(30) for one in following]
    whole = max(found, key=len)
    for results in found:
        assert results[1:] == whole[len(whole) - len(results) + 1 :]
        replies = [result for result in results[1:] if "artifactUpdate" in result]
        assert results[0]["seen"] - 1 + len(replies) == 31, "the snapshot and what follows it are the whole"


def test_one_that_goes_away_changes_nothing_for_others(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    with open_stream(alice, bob, "SubscribeToTask", {"id": task}) as stays:
        stays.next()
        with open_stream(alice, bob, "SubscribeToTask", {"id": task}) as goes:
            goes.next()
        bob.reply(task)
        assert kinds(stays.rest()) == ["artifactUpdate", "COMPLETED"]


def test_streams_that_were_left_leave_nothing_behind(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    task = alice.send(bob)["id"]
    before = quiet_server.vitals()["tasks"]
    for _ in range(50):
        with open_stream(alice, bob, "SubscribeToTask", {"id": task}) as stream:
            stream.next()
    until(lambda: quiet_server.vitals()["tasks"] <= before + 2)


@pytest.fixture(scope="module")
def hasty(_start: Starter) -> Service:
    """A service whose streams are short."""
    return _start(
        RELAYGER_KEEPALIVE_SECONDS="0.2", RELAYGER_STREAM_SECONDS="1.5", RELAYGER_SWEEP_SECONDS="0.3"
    )


def test_silence_is_filled_with_comments_until_the_stream_is_too_old(hasty: Service) -> None:
    alice, bob = Cast(hasty).friends
    with streamed(alice, bob) as stream:
        assert kinds(stream.rest()) == ["task"]
        assert 1.4 < time.monotonic() - stream.opened < 10
        assert len(stream.comments) >= 4
        assert (
            max(b - a for a, b in zip([stream.opened, *stream.comments], stream.comments, strict=False)) < 1
        )


def test_a_credential_taken_away_ends_the_stream(hasty: Service) -> None:
    cast = Cast(hasty)
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    with streamed(alice, bob) as stream:
        task = (stream.next() or {})["task"]["id"]
        revoke(alice)
        bob.reply(task, "Secret.")
        (last,) = stream.rest()
    assert last["error"]["code"] == -32000
    assert reason(last["error"]) == "UNAUTHENTICATED"


def test_a_stream_ends_when_the_process_drains(fresh_server: Starter) -> None:
    service = fresh_server()
    alice, bob = Cast(service).friends
    with streamed(alice, bob) as stream, ThreadPoolExecutor() as pool:
        stream.next()
        blocked = pool.submit(alice.send, bob, wait=True)
        until(lambda: alice.rpc(bob, "ListTasks")["totalSize"] == 2)
        ending = pool.submit(service.terminate)
        assert stream.rest() == []
        assert state(blocked.result(10)) == "SUBMITTED"
        assert ending.result(30) in (0, -15)


def test_tasks_outlive_a_restart(fresh_server: Starter) -> None:
    service = fresh_server()
    alice, bob = Cast(service).friends
    task = alice.send(bob)
    service.restart()
    assert alice.rpc(bob, "GetTask", {"id": task["id"]}) == task
    with open_stream(alice, bob, "SubscribeToTask", {"id": task["id"]}) as stream:
        assert stream.next() == {"task": task}
        bob.reply(task["id"])
        assert kinds(stream.rest()) == ["artifactUpdate", "COMPLETED"]


@pytest.mark.skipif(SETUP != "deployment", reason="one process is all of the embedded service")
def test_an_answer_in_one_process_reaches_who_waits_in_another(fresh_server: Starter) -> None:
    quiet = {"RELAYGER_SWEEP_SECONDS": "600"}  # only the wake-up itself can bring it
    first = fresh_server(**quiet)
    same = {name: first.environ[name] for name in ("DATABASE_URL", "REDIS_URL", "RELAYGER_ORIGIN")}
    second = fresh_server(**quiet, **same)
    alice, bob = Cast(first).friends
    elsewhere = Person(second, bob.me, bob.token)
    with streamed(alice, bob) as stream, ThreadPoolExecutor() as pool:
        task = (stream.next() or {})["task"]["id"]
        blocked = pool.submit(alice.send, bob, "Wait", wait=True)
        other = until(
            lambda: [one["id"] for one in alice.rpc(bob, "ListTasks")["tasks"] if one["id"] != task]
        )[0]
        started = time.monotonic()
        elsewhere.reply(task)
        assert kinds(stream.rest()) == ["artifactUpdate", "COMPLETED"]
        elsewhere.reply(other)
        assert state(blocked.result(10)) == "COMPLETED"
        assert time.monotonic() - started < 5
