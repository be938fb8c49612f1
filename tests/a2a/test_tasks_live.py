"""GetTask, ListTasks, CancelTask: one's own tasks, and nothing of anybody else's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.a2a.wire import state
from tests.harness.cast import Cast, Person, reason, send_params
from tests.harness.wait import until

ABSENT = "thr_" + "0" * 32


# -- one's own ----------------------------------------------------------------------------------------------


def test_get_shows_the_whole_task(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    reply = bob.reply(task["id"], "So.")["message"]
    seen = alice.rpc(bob, "GetTask", {"id": task["id"]})
    assert set(seen) == {"id", "contextId", "status", "artifacts", "history"}
    assert seen["artifacts"] == [{"artifactId": reply["id"], "parts": [{"text": "So."}]}]
    assert seen["history"][1]["messageId"] == reply["id"]
    assert seen["status"]["timestamp"] == reply["created_at"]


def test_get_with_a_history_length(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    bob.reply(task["id"], "So.")
    assert "history" not in alice.rpc(bob, "GetTask", {"id": task["id"], "historyLength": 0})
    (newest,) = alice.rpc(bob, "GetTask", {"id": task["id"], "historyLength": 1})["history"]
    assert newest["role"] == "ROLE_AGENT"
    for length in (-1, "x", 1.5, 2**31):
        params = {"id": task["id"], "historyLength": length}
        assert alice.rpc_error(bob, "GetTask", params) == (-32602, "INVALID_PARAMS")


def test_chunks_are_one_artifact_with_its_parts_in_order(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    first = bob.reply(task["id"], "0", state="working", last=False)["message"]["id"]
    for number in range(1, 150):
        bob.reply(task["id"], str(number), state="working", of=first, last=False)
    bob.reply(task["id"], "end", of=first, last=True)
    seen = alice.rpc(bob, "GetTask", {"id": task["id"], "historyLength": 1})
    (artifact,) = seen["artifacts"]
    assert artifact["artifactId"] == first
    assert [part["text"] for part in artifact["parts"]] == [*map(str, range(150)), "end"]
    assert seen["history"][0]["parts"] == artifact["parts"]


def test_cancel(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    canceled = alice.rpc(bob, "CancelTask", {"id": task["id"], "metadata": {"why": "so"}})
    assert state(canceled) == "CANCELED"
    assert alice.rpc_error(bob, "CancelTask", {"id": task["id"]}) == (-32002, "TASK_NOT_CANCELABLE")
    assert bob.refused("POST", f"/v1/threads/{task['id']}/messages", {"text": "Late."}) == "thread_closed"
    assert alice.rpc(bob, "GetTask", {"id": task["id"]}) == canceled


def test_cancels_and_an_answer_at_once_end_in_one_state(cast: Cast) -> None:
    alice, bob = cast.friends
    for _ in range(5):
        task = alice.send(bob)["id"]
        with ThreadPoolExecutor(3) as pool:
            cancels = [pool.submit(alice.a2a, bob, "CancelTask", {"id": task}) for _ in range(2)]
            reply = pool.submit(bob.post, f"/v1/threads/{task}/messages", json={"text": "So."})
            codes = [one.result().json().get("error", {}).get("code") for one in cancels]
            answered = reply.result().status_code == 201
        assert sorted(codes, key=str) in ([-32002, -32002] if answered else [], [-32002, None])
        assert codes.count(None) + answered == 1
        final = state(alice.rpc(bob, "GetTask", {"id": task}))
        assert final == ("COMPLETED" if answered else "CANCELED")


def test_what_was_declined_by_removing_the_contact(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    bob.call("DELETE", f"/v1/contacts/{alice.number}")
    seen = alice.rpc(bob, "GetTask", {"id": task["id"]})
    assert state(seen) == "REJECTED"
    assert "message" not in seen["status"]


# -- nobody else's ------------------------------------------------------------------------------------------


def _as_told(person: Person, to: Person, method: str, task: str) -> tuple[int, str]:
    """The status and body of a call about a task, the task's id taken out."""
    params = send_params(taskId=task) if "Send" in method else {"id": task, "taskId": task}
    response = person.a2a(to, method, params)
    return response.status_code, response.text.replace(task, "TASK")


@pytest.mark.parametrize(
    "method", ["SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask"]
)
def test_a_task_of_another_is_as_absent(cast: Cast, method: str) -> None:
    alice, bob = cast.friends
    mallory = cast.mallory
    if mallory.contact(bob) != "friend":
        mallory.befriend(bob)
    task = alice.send(bob)["id"]
    for caller, to in ((mallory, bob), (cast.charlie, bob), (alice, mallory), (bob, alice), (bob, bob)):
        hidden, absent = _as_told(caller, to, method, task), _as_told(caller, to, method, ABSENT)
        assert hidden == absent
        assert '"code":-32001' in absent[1]
    assert state(alice.rpc(bob, "GetTask", {"id": task})) == "SUBMITTED"
    assert len(alice.rpc(bob, "GetTask", {"id": task})["history"]) == 1


@pytest.mark.parametrize(
    "method",
    [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ],
)
def test_push_methods_tell_nothing(cast: Cast, method: str) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    for caller in (alice, cast.mallory):
        for params in ({"taskId": task, "id": "x", "url": "http://127.0.0.1/"}, {"taskId": ABSENT}, {}):
            assert caller.rpc_error(bob, method, params) == (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED")


def test_no_extended_card(cast: Cast) -> None:
    for params in (None, {}, {"tenant": "x"}):
        code = cast.alice.rpc_error(cast.bob, "GetExtendedAgentCard", params)
        assert code == (-32004, "UNSUPPORTED_OPERATION")


def test_the_agent_itself_sees_no_tasks_through_its_own_address(cast: Cast) -> None:
    alice, bob = cast.friends
    alice.send(bob)
    assert bob.rpc(bob, "ListTasks")["tasks"] == []


# -- lists --------------------------------------------------------------------------------------------------


def _ids(page: dict[str, Any]) -> list[str]:
    return [task["id"] for task in page["tasks"]]


def test_an_empty_list_has_all_four_fields(cast: Cast) -> None:
    alice, bob = cast.friends
    empty = {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}
    assert alice.rpc(bob, "ListTasks") == empty
    alice.send(bob)
    assert alice.rpc(bob, "ListTasks", {"contextId": "unknown"}) == empty
    assert cast.charlie.rpc(bob, "ListTasks") == empty


def test_newest_activity_comes_first(cast: Cast) -> None:
    alice, bob = cast.friends
    tasks = [alice.send(bob)["id"] for _ in range(3)]
    assert _ids(alice.rpc(bob, "ListTasks")) == tasks[::-1]
    bob.reply(tasks[0])
    assert _ids(alice.rpc(bob, "ListTasks")) == [tasks[0], tasks[2], tasks[1]]


def test_filters(cast: Cast) -> None:
    alice, bob = cast.friends
    done, failed, late = (alice.send(bob, contextId=name)["id"] for name in ("a", "a", "b"))
    at = bob.reply(done)["message"]["created_at"]
    bob.reply(failed, state="failed")

    def found(**filters: Any) -> set[str]:
        page = alice.rpc(bob, "ListTasks", filters)
        assert page["totalSize"] == len(page["tasks"])
        return set(_ids(page))

    assert found() == {done, failed, late}
    assert found(contextId="a") == {done, failed}
    assert found(contextId="a", status="TASK_STATE_FAILED") == {failed}
    assert found(status="TASK_STATE_SUBMITTED") == {late}
    assert found(status=1) == {late}
    assert found(status="TASK_STATE_WORKING") == set()
    assert found(statusTimestampAfter=at) == {done, failed}, "inclusive"
    assert found(statusTimestampAfter="2099-01-01T00:00:00Z") == set()
    assert found(statusTimestampAfter="2000-01-01T00:00:00+14:00") == {done, failed, late}


def test_artifacts_only_when_asked_for(cast: Cast) -> None:
    alice, bob = cast.friends
    tasks = [alice.send(bob)["id"] for _ in range(2)]
    bob.reply(tasks[0])
    for params in ({}, {"includeArtifacts": False}):
        assert all("artifacts" not in task for task in alice.rpc(bob, "ListTasks", params)["tasks"])
    page = alice.rpc(bob, "ListTasks", {"includeArtifacts": True})
    assert {task["id"]: len(task["artifacts"]) for task in page["tasks"]} == {tasks[0]: 1, tasks[1]: 0}


def test_history_in_lists(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    bob.reply(task, "Which?", state="input_required")

    def only(**params: Any) -> dict[str, Any]:
        (one,) = alice.rpc(bob, "ListTasks", params)["tasks"]
        found: dict[str, Any] = one
        return found

    assert len(only()["history"]) == 2
    assert len(only(historyLength=1)["history"]) == 1
    for bare in (only(historyLength=0), only(historyLength=0, includeArtifacts=True)):
        assert "history" not in bare
        assert bare["status"]["message"]["parts"] == [{"text": "Which?"}]


def test_pages(cast: Cast) -> None:
    alice, bob = cast.friends
    tasks = [alice.send(bob)["id"] for _ in range(5)][::-1]
    found: list[str] = []
    token = ""
    while True:
        page = alice.rpc(bob, "ListTasks", {"pageSize": 2, "pageToken": token})
        assert (page["pageSize"], page["totalSize"]) == (2, 5)
        found += _ids(page)
        token = page["nextPageToken"]
        if not token:
            break
    assert found == tasks
    assert alice.rpc(bob, "ListTasks", {"pageSize": 5})["nextPageToken"] == ""


def test_a_page_token_is_good_only_where_it_came_from(cast: Cast) -> None:
    alice, bob = cast.friends
    carol = cast.register("carol")
    carol.befriend(bob)
    for _ in range(2):
        alice.send(bob, contextId="a")
        carol.send(bob)
    page = {"pageSize": 1, "contextId": "a"}
    token = alice.rpc(bob, "ListTasks", page)["nextPageToken"]
    assert alice.rpc(bob, "ListTasks", {**page, "pageToken": token})["tasks"]
    assert alice.rpc(bob, "ListTasks", {**page, "pageSize": 7, "pageToken": token})["tasks"]

    def refused(caller: Person, to: Person, params: dict[str, Any]) -> None:
        error = caller.a2a(to, "ListTasks", params).json()["error"]
        assert (error["code"], reason(error)) == (-32602, "INVALID_PARAMS")
        assert error["data"][1]["fieldViolations"][0]["field"] == "pageToken"

    refused(carol, bob, {**page, "pageToken": token})
    refused(alice, carol, {**page, "pageToken": token})
    refused(alice, bob, {"pageSize": 1, "pageToken": token})
    refused(alice, bob, {**page, "status": "TASK_STATE_WORKING", "pageToken": token})
    for bad in ("x", token[:-1], token + "x", "é", "a:b:c", "." + token, "x" * 10_000):
        refused(alice, bob, {**page, "pageToken": bad})


def test_only_the_newest_two_hundred_are_considered(cast: Cast) -> None:
    alice, bob = cast.friends
    first = alice.send(bob, contextId="first")["id"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: alice.send(bob), range(200)))
    page = alice.rpc(bob, "ListTasks", {"pageSize": 100})
    assert (page["totalSize"], len(page["tasks"])) == (200, 100)
    assert alice.rpc(bob, "ListTasks", {"contextId": "first"})["totalSize"] == 0
    assert alice.rpc(bob, "GetTask", {"id": first})["id"] == first


def test_a_worker_of_the_service_and_the_caller_see_one_state(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)["id"]
    bob.call("POST", f"/v1/threads/{task}/working", {"worker": "w", "seconds": 60})
    assert until(lambda: state(alice.rpc(bob, "GetTask", {"id": task})) == "WORKING")
    assert bob.thread(task)["state"] == "working"
