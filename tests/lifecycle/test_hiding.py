"""A message that an operator hid keeps its place, and says nothing on any surface."""

from __future__ import annotations

import json
from uuid import UUID

from tests.chats.test_messages import post
from tests.harness.cast import Cast, Person
from tests.lifecycle.operator import Operator
from tests.lifecycle.test_reports import report
from tests.live.world import socket, stream

VILE = "Something vile"


def hide(operator: Operator, reporter: Person, message: str, act: str = "hide") -> None:
    made = report(reporter, message=message)
    told = operator.act("lifecycle/report", act, [str(UUID(made["id"].removeprefix("rep_")))])
    assert told == "Hidden: 1"


def everywhere(person: Person, chat: str) -> dict[str, str]:
    """What each surface that reads a chat shows, as text."""
    return {
        "history": json.dumps(person.call("GET", f"/v1/chats/{chat}/messages")),
        "inbox": json.dumps(person.inbox()),
        "search": json.dumps(person.call("GET", "/v1/search", q="vile")["items"]),
        "export": person.get("/v1/me/export").text,
        "threads": json.dumps(person.call("GET", "/v1/threads")),
    }


def test_a_plain_message(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    message = post(bob, alice.number, VILE, metadata={"also": VILE})
    chat = message["chat"]
    before = everywhere(alice, chat)
    assert [name for name, text in before.items() if VILE in text] == ["history", "inbox", "search", "export"]
    with stream(alice, after="latest") as live, socket(alice) as line:
        hide(operator, alice, message["id"])
        told = live.event()["data"]
        assert told["type"] == "message.deleted"
        (pushed,) = line.events()
        assert pushed["object"] == told["object"]
        shown = told["object"]["message"]
        assert (shown["id"], shown["text"], shown["parts"]) == (message["id"], None, [])
        assert shown["metadata"] is None
        assert shown["deleted_at"] is not None
    for person in (alice, bob):
        for name, text in everywhere(person, chat).items():
            assert VILE not in text, name
            if name in ("history", "export"):
                assert message["id"] in text, name
    assert bob.refused("PATCH", f"/v1/messages/{message['id']}", {"text": VILE}) == "not_found"
    again = bob.call("POST", f"/v1/chats/{chat}/messages", {"text": "Other", "client_id": "x"})
    assert again["message"]["text"] == "Other"
    log = bob.call("GET", "/v1/me/audit")["items"][0]
    assert (log["action"], log["detail"]) == ("message.hidden", {"message": message["id"]})


def test_a_message_of_a_thread_also_on_a2a(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    thread = alice.ask(bob, "A question")
    reply = bob.reply(thread["id"], VILE)["message"]
    chat = thread["chat"]
    assert VILE in json.dumps(alice.rpc(bob, "GetTask", {"id": thread["id"]}))
    hide(operator, alice, reply["id"])
    task = alice.rpc(bob, "GetTask", {"id": thread["id"]})
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert VILE not in json.dumps(task)
    assert VILE not in json.dumps(
        alice.rpc(bob, "ListTasks", {"includeArtifacts": True, "historyLength": 10})
    )
    for person in (alice, bob):
        shown = person.thread(thread["id"])
        assert VILE not in json.dumps(shown)
        assert reply["id"] in json.dumps(shown)
        for name, text in everywhere(person, chat).items():
            assert VILE not in text, name
    question = alice.thread(thread["id"])["messages"][0]
    assert question["text"] == "A question"


def test_a_hidden_question(people: Cast, operator: Operator) -> None:
    alice, bob = people.friends
    task = alice.send(bob, VILE)
    opened = bob.thread(task["id"])["messages"][0]
    hide(operator, bob, opened["id"])
    assert VILE not in json.dumps(alice.rpc(bob, "GetTask", {"id": task["id"]}))
    assert VILE not in json.dumps(bob.inbox())
    bob.reply(task["id"], "No")
    assert alice.thread(task["id"])["state"] == "answered"
