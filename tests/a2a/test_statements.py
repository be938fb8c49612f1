"""What a call costs: statements counted in the server, and what waiting holds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.a2a.wire import open_stream, streamed
from tests.harness.cast import Cast, send_params
from tests.harness.service import Service
from tests.harness.wait import until


def authentications(statements: list[str]) -> int:
    return sum("credential" in sql for sql in statements)


def test_the_hot_calls(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    alice.send(bob)

    def cost(method: str, params: object) -> int:
        with quiet_server.counting() as made:
            response = alice.a2a(bob, method, params)
        assert "result" in response.json(), response.text
        assert authentications(made.sql) == 1, made
        return len(made)

    params = send_params()
    assert cost("SendMessage", params) <= 10
    assert cost("SendMessage", params) <= 8, "the same again, which writes nothing"
    task = alice.send(bob)["id"]
    bob.reply(task, "Which?", state="input_required")
    assert cost("SendMessage", send_params(taskId=task)) <= 11, "its whole history comes back"
    assert cost("GetTask", {"id": task}) == 4
    assert cost("ListTasks", {}) == 4
    assert cost("ListTasks", {"historyLength": 0}) == 4
    assert cost("CancelTask", {"id": task}) <= 10


def test_an_error_costs_no_more_than_it_must(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    for method, most in (("Nope", 2), ("GetTask", 2), ("CreateTaskPushNotificationConfig", 2)):
        with quiet_server.counting() as made:
            alice.a2a(bob, method)
        assert len(made) == most, made
    absent, foreign = {"id": "thr_" + "0" * 32}, {"id": bob.send(alice)["id"]}
    with quiet_server.counting() as for_absent:
        alice.a2a(bob, "GetTask", absent)
    with quiet_server.counting() as for_foreign:
        alice.a2a(bob, "GetTask", foreign)
    assert for_absent.sql == for_foreign.sql
    assert len(for_absent) == 3


def test_a_stream_reads_once_per_change(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    with streamed(alice, bob) as stream:
        task = (stream.next() or {})["task"]["id"]
        with quiet_server.counting() as made:
            bob.reply(task, "a", state="working")
            assert stream.next()
            assert stream.next()
        watched = [sql for sql in made.sql if "LEFT JOIN threads_entry" in sql]
        assert len(watched) <= 2, made  # one more for the read that follows joining
        bob.reply(task)
        stream.rest()


def test_waiting_holds_no_thread_and_no_connection(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    task = alice.send(bob)["id"]
    tasks_before = alice.rpc(bob, "ListTasks")["totalSize"]
    before = quiet_server.vitals()
    with ExitStack() as stack, ThreadPoolExecutor(40) as pool:
        streams = [
            stack.enter_context(open_stream(alice, bob, "SubscribeToTask", {"id": task}, seconds=60))
            for _ in range(40)
        ]
        for stream in streams:
            assert stream.next()
        blocked = [pool.submit(alice.send, bob, wait=True) for _ in range(40)]
        until(lambda: alice.rpc(bob, "ListTasks", {"pageSize": 1})["totalSize"] == tasks_before + 40)
        during = quiet_server.vitals()
        for one in alice.rpc(bob, "ListTasks", {"pageSize": 100})["tasks"]:
            bob.reply(one["id"])
        for stream in streams:
            assert stream.rest()
        for waiting in blocked:
            assert waiting.result(30)["status"]["state"] == "TASK_STATE_COMPLETED"
    assert during["threads"] <= before["threads"] + 4, "the pool's own threads, made when first needed"
    assert during["connections"] <= before["connections"] + 4
