"""Files in messages, and what A2A makes of them."""

from __future__ import annotations

from typing import Any

from tests.chats.test_messages import post
from tests.chats.test_rooms import room
from tests.files.world import b64, download, put
from tests.harness.cast import Cast, Person


def written(person: Person, chat: str, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = person.call("POST", f"/v1/chats/{chat}/messages", {"parts": list(parts), **fields})
    message: dict[str, Any] = answer["message"]
    return message


def test_a_message_shows_a_file_of_its_chat(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number, b"one", "a.txt")
    alice.call("PATCH", f"/v1/files/{file['id']}", {"content": b64(b"two"), "name": "b.txt"})
    sent = written(
        alice, bob.number, {"text": "See"}, {"file": file["id"]}, {"file": file["id"], "version": 1}
    )
    assert sent["parts"][1:] == [
        {"media_type": "text/plain", "filename": "b.txt", "file": file["id"], "version": 2},
        {"media_type": "text/plain", "filename": "a.txt", "file": file["id"], "version": 1},
    ]
    named = written(bob, alice.number, {"file": file["id"], "filename": "mine.txt", "media_type": "text/csv"})
    assert named["parts"] == [
        {"media_type": "text/csv", "filename": "mine.txt", "file": file["id"], "version": 2}
    ]
    edited = alice.call("PATCH", f"/v1/messages/{sent['id']}", {"parts": [{"file": file["id"]}]})
    assert edited["parts"][0]["version"] == 2
    again = [written(alice, bob.number, {"file": file["id"]}, client_id="p")["id"] for _ in range(2)]
    assert again[0] == again[1]


def test_only_of_its_chat(cast: Cast) -> None:
    alice, bob = cast.friends
    elsewhere = put(alice, room(alice))
    here = put(alice, bob.number)
    path = f"/v1/chats/{bob.number}/messages"
    for part in (
        {"file": elsewhere["id"]},
        {"file": f"fil_{'0' * 32}"},
        {"file": "fil_x"},
        {"file": 1},
        {"file": here["id"], "version": 2},
    ):
        response = alice.post(path, json={"parts": [part]})
        assert (response.status_code, response.json()["error"]["field"]) == (400, "parts[0].file"), part
    for part in (
        {"file": here["id"], "version": 0},
        {"file": here["id"], "version": True},
        {"text": "x", "version": 1},
    ):
        response = alice.post(path, json={"parts": [part]})
        assert (response.status_code, response.json()["error"]["field"]) == (400, "parts[0].version"), part
    assert alice.refused("POST", path, {"parts": [{"file": here["id"], "text": "x"}]}) == "invalid"
    ask = {"to": bob.number, "parts": [{"file": elsewhere["id"]}]}
    assert alice.refused("POST", "/v1/threads", ask) == "invalid"


def test_in_a_task_it_is_a_url(cast: Cast) -> None:
    alice, bob = cast.friends
    question, answer = put(alice, bob.number, b"?", "q.txt"), put(bob, alice.number, b"!", "answer.pdf")
    asked = alice.call(
        "POST", "/v1/threads", {"to": bob.number, "parts": [{"text": "So?"}, {"file": question["id"]}]}
    )
    thread = asked["thread"]["id"]
    bob.call(
        "POST", f"/v1/threads/{thread}/messages", {"parts": [{"file": answer["id"], "metadata": {"n": 1.0}}]}
    )
    task = alice.rpc(bob, "GetTask", {"id": thread})
    assert task["history"][0]["parts"] == [
        {"text": "So?"},
        {"url": question["content_url"], "mediaType": "text/plain", "filename": "q.txt"},
    ]
    (part,) = task["artifacts"][0]["parts"]
    assert part == {
        "url": f"{cast.service.origin}/v1/files/{answer['id']}/content?version=1",
        "mediaType": "application/pdf",
        "filename": "answer.pdf",
        "metadata": {"n": 1.0},
    }
    assert alice.get(part["url"]).content == b"!"
    assert cast.mallory.get(part["url"]).status_code == 404
    bob.call("DELETE", f"/v1/files/{answer['id']}")
    assert alice.get(part["url"]).status_code == 404
    assert alice.thread(thread)["messages"][-1]["parts"][0]["file"] == answer["id"]


def test_raw_and_url_parts_go_through(cast: Cast) -> None:
    alice, bob = cast.friends
    parts = [
        {"raw": b64(b"\x00\xff"), "mediaType": "image/png", "filename": "dot.png"},
        {
            "url": "https://example.com/a.pdf",
            "mediaType": "application/pdf",
            "filename": "a.pdf",
            "metadata": {"k": 1},
        },
        {"raw": ""},
    ]
    task = alice.send(bob, parts=parts)
    assert task["history"][0]["parts"] == parts
    (message,) = bob.thread(task["id"])["messages"]
    assert message["parts"] == [
        {"raw": b64(b"\x00\xff"), "media_type": "image/png", "filename": "dot.png"},
        {
            "url": "https://example.com/a.pdf",
            "media_type": "application/pdf",
            "filename": "a.pdf",
            "metadata": {"k": 1},
        },
        {"raw": ""},
    ]
    bob.call("POST", f"/v1/threads/{task['id']}/messages", {"parts": message["parts"]})
    assert alice.rpc(bob, "GetTask", {"id": task["id"]})["artifacts"][0]["parts"] == parts


def test_a_deleted_file_leaves_its_name_to_the_message(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number)
    written(alice, bob.number, {"file": file["id"]})
    alice.call("DELETE", f"/v1/files/{file['id']}")
    shown = bob.call("GET", f"/v1/chats/{alice.number}/messages")["items"]
    assert [item["parts"][0]["file"] for item in shown if item["parts"] and "file" in item["parts"][0]][
        -1
    ] == file["id"]
    assert download(bob, file["id"]).status_code == 404
    post(alice, bob.number)
