"""SendMessage: contacts first, then a new thread or a message on one; once, or again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from relayger.sealed import MEDIA_TYPE
from tests.a2a.wire import only_scopes, state
from tests.harness.cast import Cast, Person, send_params
from tests.harness.sealing import sealed_part
from tests.harness.service import Starter


def violations(person: Person, to: Person, params: dict[str, Any]) -> list[str]:
    """The fields that a refused SendMessage is told."""
    body = person.a2a(to, "SendMessage", params).json()
    assert body["error"]["code"] == -32602, body
    return [violation["field"] for violation in body["error"]["data"][1]["fieldViolations"]]


# -- contacts first -----------------------------------------------------------------------------------------


def test_contacts_first(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    for _ in range(2):
        params = send_params("  \nHow do rooms work?\nPlease.")
        assert alice.rpc_error(bob, "SendMessage", params) == (-32000, "CONTACT_REQUESTED")
    (contact,) = bob.call("GET", "/v1/contacts", state="incoming")["items"]
    assert contact["note"] == "How do rooms work?"
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 0
    bob.call("POST", f"/v1/contacts/{alice.number}/accept")
    assert state(alice.send(bob)) == "SUBMITTED"


def test_to_one_who_asked_me_it_accepts_first(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    bob.call("POST", "/v1/contacts", {"to": alice.number})
    assert state(alice.send(bob)) == "SUBMITTED"
    assert alice.contact(bob) == bob.contact(alice) == "friend"


def test_to_one_who_takes_anyone(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    bob.call("PATCH", "/v1/me", {"policy": "anyone"})
    assert state(alice.send(bob)) == "SUBMITTED"


def test_to_one_who_declined(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    assert alice.rpc_error(bob, "SendMessage", send_params()) == (-32000, "CONTACT_REQUESTED")
    bob.call("POST", f"/v1/contacts/{alice.number}/decline")
    assert alice.rpc_error(bob, "SendMessage", send_params()) == (-32000, "CONTACT_DECLINED")
    assert alice.rpc_error(bob, "SendStreamingMessage", send_params()) == (-32000, "CONTACT_DECLINED")


def test_scopes(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    only_scopes(alice, "messages:read messages:write")
    assert alice.rpc_error(bob, "SendMessage", send_params()) == (-32000, "CONTACT_REQUIRED")
    assert bob.contact(alice) is None
    only_scopes(alice, "contacts messages:read")
    for method in ("SendMessage", "SendStreamingMessage"):
        assert alice.rpc_error(bob, method, send_params()) == (-32000, "INSUFFICIENT_SCOPE")
    only_scopes(alice, "contacts messages:write")
    assert alice.rpc_error(bob, "SendMessage", send_params()) == (-32000, "INSUFFICIENT_SCOPE")
    for method in ("GetTask", "CancelTask", "SubscribeToTask"):
        assert alice.rpc_error(bob, method, {"id": "thr_" + "0" * 32}) == (-32000, "INSUFFICIENT_SCOPE")
    assert alice.rpc_error(bob, "ListTasks") == (-32000, "INSUFFICIENT_SCOPE")
    assert bob.contact(alice) is None


def test_nobody_asks_itself(cast: Cast) -> None:
    alice = cast.alice
    assert alice.rpc_error(alice, "SendMessage", send_params()) == (-32004, "UNSUPPORTED_OPERATION")


# -- what is stored -----------------------------------------------------------------------------------------


def test_what_is_sent_is_what_both_see(cast: Cast) -> None:
    alice, bob = cast.friends
    parts = [
        {"text": "Grüße 👋 \u202eabc", "metadata": {"one": 1, "float": 1.0}},
        {"data": {"n": [1, 1.0, -0.5, 2**60, None, True], "s": ""}, "mediaType": "application/json"},
        {"raw": "AP8=", "mediaType": "image/png", "filename": "a.png"},
        {"url": "https://example.com/a.png"},
        {"data": None},
    ]
    metadata = {"z": 1, "a": 1.0, "deep": {"list": [[]]}}
    task = alice.send(bob, messageId="mine", parts=parts, metadata=metadata, contextId="ctx 👋")
    assert task["contextId"] == "ctx 👋"
    (said,) = task["history"]
    assert said == {
        "messageId": "mine",
        "contextId": "ctx 👋",
        "taskId": task["id"],
        "role": "ROLE_USER",
        "parts": parts,
        "metadata": metadata,
    }
    text = alice.a2a(bob, "GetTask", {"id": task["id"]}).text
    assert '"one":1,"float":1.0' in text
    assert '"n":[1,1.0,-0.5,1152921504606846976,null,true]' in text
    (message,) = bob.thread(task["id"])["messages"]
    assert message["metadata"] == metadata
    assert [next(iter(part)) for part in message["parts"]] == ["text", "data", "raw", "url", "data"]


def test_snake_case_is_taken_too(cast: Cast) -> None:
    alice, bob = cast.friends
    message = {
        "message_id": "m",
        "role": "ROLE_USER",
        "context_id": "c",
        "parts": [{"text": "Hi", "media_type": "text/x"}],
    }
    task = alice.rpc(bob, "SendMessage", {"message": message, "configuration": {"return_immediately": True}})[
        "task"
    ]
    assert task["contextId"] == "c"
    assert task["history"][0]["parts"] == [{"text": "Hi", "mediaType": "text/x"}]


def test_sealed_parts_are_data_parts(cast: Cast) -> None:
    alice, bob = cast.friends
    sealed = sealed_part(alice, bob)
    task = alice.send(bob, parts=[{"data": sealed["data"], "mediaType": sealed["media_type"]}])
    reply = sealed_part(bob, alice)
    bob.call("POST", f"/v1/threads/{task['id']}/messages", {"parts": [reply]})
    seen = alice.rpc(bob, "GetTask", {"id": task["id"]})
    assert seen["history"][0]["parts"] == [{"data": sealed["data"], "mediaType": MEDIA_TYPE}]
    assert seen["artifacts"][0]["parts"] == [{"data": reply["data"], "mediaType": MEDIA_TYPE}]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"messageId": ""}, "message.messageId"),
        ({"role": "user"}, "message.role"),
        ({"role": "ROLE_AGENT"}, "message.role"),
        ({"role": None}, "message.role"),
        ({"parts": []}, "message.parts"),
        ({"parts": [{}]}, "message.parts[0]"),
        ({"parts": [{"text": "a", "data": 1}]}, "message.parts[0]"),
        ({"parts": [{"raw": "not base64!"}]}, "message.parts[0].raw"),
        ({"parts": [{"text": "x" * 32_769}]}, "message.parts[0].text"),
        ({"parts": [{"data": "x" * 131_072}]}, "message.parts"),
        ({"contextId": "x" * 129}, "message.contextId"),
        ({"metadata": [1]}, "message.metadata"),
        ({"metadata": {"x": "y" * 140_000}}, "message.metadata"),
        ({"taskId": 5}, "message.taskId"),
    ],
)
def test_a_refused_message_names_the_field_and_stores_nothing(
    cast: Cast, fields: dict[str, Any], named: str
) -> None:
    alice, bob = cast.friends
    assert violations(alice, bob, send_params(**fields)) == [named]
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 0


def test_push_configuration_in_line_is_refused_before_anything_is_stored(cast: Cast) -> None:
    alice, bob = cast.friends
    params = send_params()
    params["configuration"]["taskPushNotificationConfig"] = {"url": "http://127.0.0.1/"}
    for method in ("SendMessage", "SendStreamingMessage"):
        assert alice.rpc_error(bob, method, params) == (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED")
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 0


@pytest.mark.parametrize("length", [0, 1, 2, None])
def test_history_length(cast: Cast, length: int | None) -> None:
    alice, bob = cast.friends
    task = alice.send(bob, "One")
    bob.reply(task["id"], "Which?", state="input_required")
    params = send_params("Two", taskId=task["id"])
    params["configuration"]["historyLength"] = length
    said = alice.rpc(bob, "SendMessage", params)["task"].get("history")
    texts = ["One", "Which?", "Two"]
    if length == 0:
        assert said is None
    else:
        assert [one["parts"][0]["text"] for one in said] == texts[-(length or 3) :]


# -- more turns ---------------------------------------------------------------------------------------------


def test_follow_ups_by_task_id_alone_keep_the_context(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob, contextId="trip")
    for number in range(3):
        bob.reply(task["id"], "And?", state="input_required")
        more = alice.send(bob, f"{number}", taskId=task["id"])
        assert (more["id"], more["contextId"], state(more)) == (task["id"], "trip", "WORKING")
        assert {said["contextId"] for said in more["history"]} == {"trip"}
    bob.reply(task["id"], "Done.")
    assert state(alice.rpc(bob, "GetTask", {"id": task["id"]})) == "COMPLETED"


def test_more_on_an_open_task_changes_no_state(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    more = alice.send(bob, "And this.", taskId=task["id"])
    assert (state(more), len(more["history"])) == ("SUBMITTED", 2)


def test_a_message_in_auth_required_is_taken(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    bob.reply(task["id"], "Sign in.", state="auth_required")
    seen = alice.rpc(bob, "GetTask", {"id": task["id"]})
    assert state(seen) == "AUTH_REQUIRED"
    assert seen["status"]["message"]["parts"] == [{"text": "Sign in."}]
    assert state(alice.send(bob, "Did.", taskId=task["id"])) == "WORKING"


def test_another_context_is_refused_before_anything_is_stored(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob, contextId="one")
    assert violations(alice, bob, send_params(taskId=task["id"], contextId="two")) == ["message.contextId"]
    assert len(alice.rpc(bob, "GetTask", {"id": task["id"]})["history"]) == 1
    assert len(alice.send(bob, taskId=task["id"], contextId="one")["history"]) == 2


def test_one_context_holds_many_tasks(cast: Cast) -> None:
    alice, bob = cast.friends
    first = alice.send(bob)
    second = alice.send(bob, contextId=first["contextId"])
    assert second["contextId"] == first["contextId"]
    assert second["id"] != first["id"]


@pytest.mark.parametrize(
    "task", ["00000000-0000-0000-0000-000000000000", "thr_" + "0" * 32, "x", "thr_é", "x" * 5000]
)
def test_an_unknown_task_makes_none(cast: Cast, task: str) -> None:
    alice, bob = cast.friends
    assert alice.rpc_error(bob, "SendMessage", send_params(taskId=task)) == (-32001, "TASK_NOT_FOUND")
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 0


def test_a_task_that_has_ended_takes_nothing(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    bob.reply(task["id"], "So.")
    assert alice.rpc_error(bob, "SendMessage", send_params(taskId=task["id"])) == (
        -32004,
        "UNSUPPORTED_OPERATION",
    )
    assert len(alice.rpc(bob, "GetTask", {"id": task["id"]})["history"]) == 2


def test_a_reference_to_a_task_of_mine_is_its_parent(cast: Cast) -> None:
    alice, bob = cast.friends
    carol = cast.register("carol")
    bob.befriend(carol)
    mine = alice.send(bob)["id"]
    other = alice.send(bob)["id"]
    foreign = "thr_" + "0" * 32
    task = bob.send(carol, referenceTaskIds=["nonsense", foreign, mine, other])
    assert bob.thread(task["id"])["parent"] == mine
    assert bob.thread(task["id"])["hops"] == 1
    assert alice.thread(alice.send(bob, referenceTaskIds=[mine])["id"])["parent"] is None, (
        "asked, not assigned"
    )


def test_hops_are_bounded(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_MAX_HOPS="1"))
    alice, bob, carol, dave = cast.alice, cast.bob, cast.register("carol"), cast.register("dave")
    alice.befriend(bob)
    bob.befriend(carol)
    carol.befriend(dave)
    first = alice.send(bob)
    second = bob.send(carol, referenceTaskIds=[first["id"]])
    params = send_params(referenceTaskIds=[second["id"]])
    assert carol.rpc_error(dave, "SendMessage", params) == (-32000, "LOOP_GUARD")


# -- again --------------------------------------------------------------------------------------------------


def test_the_same_message_again_is_the_same_task(cast: Cast) -> None:
    alice, bob = cast.friends
    params = send_params("Once", metadata={"a": 1, "b": [1.0]}, contextId="c")
    first = alice.rpc(bob, "SendMessage", params)["task"]
    params["message"] = dict(reversed(params["message"].items()))
    params["message"]["metadata"] = {"b": [1.0], "a": 1}
    assert alice.rpc(bob, "SendMessage", params)["task"] == first
    bob.reply(first["id"], "So.")
    again = alice.rpc(bob, "SendMessage", params)["task"]
    assert (again["id"], state(again), len(again["history"])) == (first["id"], "COMPLETED", 2)
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 1
    assert len(bob.inbox(types="thread.opened")["events"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [{"text": "Twice"}]},
        {"parts": [{"text": "Once", "metadata": {}}]},
        {"contextId": "d"},
        {"metadata": {"a": 1.0}},
        {"messageId": "other"},
    ],
)
def test_the_same_id_with_other_content_is_a_new_message(cast: Cast, change: dict[str, Any]) -> None:
    alice, bob = cast.friends
    fields: dict[str, Any] = {"messageId": "same", "contextId": "c", "metadata": {"a": 1}}
    first = alice.send(bob, "Once", **fields)
    assert alice.send(bob, "Once", **{**fields, **change})["id"] != first["id"]


def test_a_follow_up_again_is_stored_once_even_when_the_task_has_ended(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    bob.reply(task["id"], "Which?", state="input_required")
    params = send_params("This.", taskId=task["id"])
    alice.rpc(bob, "SendMessage", params)
    bob.reply(task["id"], "So.")
    again = alice.rpc(bob, "SendMessage", params)["task"]
    assert (state(again), len(again["history"])) == ("COMPLETED", 4)


def test_two_people_may_use_one_message_id(cast: Cast) -> None:
    alice, bob = cast.friends
    carol = cast.register("carol")
    carol.befriend(bob)
    params = send_params("Same", messageId="same")
    assert (
        alice.rpc(bob, "SendMessage", params)["task"]["id"]
        != carol.rpc(bob, "SendMessage", params)["task"]["id"]
    )


def test_twenty_at_once_make_one(cast: Cast) -> None:
    alice, bob = cast.friends
    params = send_params()
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda _: alice.rpc(bob, "SendMessage", params)["task"]["id"], range(20)))
    assert len(set(found)) == 1
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 1


def test_no_retry_when_it_is_off(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_RETRY_SECONDS="0"))
    alice, bob = cast.friends
    params = send_params()
    ids = {alice.rpc(bob, "SendMessage", params)["task"]["id"] for _ in range(2)}
    assert len(ids) == 2
