"""A file's versions, names and end, who may change it, and who is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.chats.test_rooms import bring, room
from tests.files.world import b64, download, put, rows, sha256, stored, upload
from tests.harness.cast import Cast, Person
from tests.harness.service import Starter


def news(person: Person, after: int = 0) -> list[tuple[str, Any]]:
    events = person.inbox(after)["events"]
    return [
        (event["type"], event["object"] and event["object"]["message"]["about"]["file"])
        for event in events
        if event["type"].startswith("file.")
    ]


def test_versions(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number, b"one", "a.txt")
    path = f"/v1/files/{file['id']}"
    second = alice.call("PATCH", path, {"content": b64(b"two")})
    assert (second["duplicate"], second["file"]["version"], second["file"]["name"]) == (False, 2, "a.txt")
    third = alice.patch(
        path, files={"file": ("b.md", b"three", "text/markdown")}, data={"expected_version": "2"}
    )
    assert (third.status_code, third.json()["file"]["version"]) == (200, 3)
    assert (third.json()["file"]["name"], third.json()["file"]["media_type"]) == ("b.md", "text/markdown")

    shown = bob.call("GET", path)
    assert shown["created_at"] <= shown["updated_at"]
    assert [(one["version"], one["name"], one["sha256"]) for one in shown["versions"]] == [
        (3, "b.md", sha256(b"three")),
        (2, "a.txt", sha256(b"two")),
        (1, "a.txt", sha256(b"one")),
    ]
    assert [download(bob, file["id"], version=n).content for n in (1, 2, 3)] == [b"one", b"two", b"three"]
    assert download(bob, file["id"]).content == b"three"
    assert bob.get(shown["versions"][2]["content_url"]).content == b"one"
    (listed, *_) = bob.call("GET", f"/v1/chats/{alice.number}/files")["items"]
    assert (listed["id"], listed["version"]) == (file["id"], 3)


def test_renamed(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number, name="a.txt")
    path = f"/v1/files/{file['id']}"
    changed = alice.call("PATCH", path, {"name": "b.pdf", "media_type": "application/pdf"})["file"]
    assert (changed["version"], changed["name"], changed["media_type"]) == (1, "b.pdf", "application/pdf")
    assert alice.refused("PATCH", path, {}) == "invalid"
    assert alice.refused("PATCH", path, {"name": "a/b"}) == "invalid"
    assert alice.refused("PATCH", path, {"nam": "x"}) == "invalid"
    assert alice.refused("PATCH", path, {"expected_version": 1}) == "invalid"
    assert alice.refused("PATCH", path, {"name": "x", "expected_version": 2}) == "version_conflict"
    assert alice.call("GET", path)["name"] == "b.pdf"


def test_one_of_two_changes_of_the_same_version(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number)

    def change(n: int) -> int:
        body = {"content": b64(bytes([n])), "expected_version": 1}
        return alice.patch(f"/v1/files/{file['id']}", json=body).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(change, range(6))) == [200, 409, 409, 409, 409, 409]
    assert [one["version"] for one in alice.call("GET", f"/v1/files/{file['id']}")["versions"]] == [2, 1]


def test_only_its_owner_changes_it(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number)
    path = f"/v1/files/{file['id']}"
    assert bob.refused("PATCH", path, {"name": "mine"}) == "not_owner"
    assert bob.patch(path, files={"file": ("a", b"x")}).json()["error"]["code"] == "not_owner"
    assert bob.refused("DELETE", path) == "not_owner"
    assert cast.charlie.refused("PATCH", path, {"name": "mine"}) == "not_found"
    assert cast.charlie.refused("DELETE", path) == "not_found"


def test_deleted(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_JOB_SECONDS="86400")
    cast = Cast(service)
    alice, bob = cast.friends
    file = put(alice, bob.number, b"one", "secret-plan.txt")
    alice.call("PATCH", f"/v1/files/{file['id']}", {"content": b64(b"two")})
    assert len(stored(service)) == 2
    seq = bob.inbox()["next"]
    alice.call("DELETE", f"/v1/files/{file['id']}", status=204)
    assert stored(service) == set()
    assert rows(service, "SELECT key FROM threads_storedblob") == []
    for person in (alice, bob):
        for call in (("GET", ""), ("GET", "/content"), ("DELETE", ""), ("PATCH", "")):
            body = {"name": "x"} if call[0] == "PATCH" else None
            assert person.refused(call[0], f"/v1/files/{file['id']}{call[1]}", body) == "not_found"
        assert (
            person.call("GET", f"/v1/chats/{(bob if person is alice else alice).number}/files")["items"] == []
        )
        assert (
            "secret-plan"
            not in person.get(f"/v1/chats/{(bob if person is alice else alice).number}/messages").text
        )
    assert news(bob, seq) == [("file.deleted", {"id": file["id"], "version": 2})]
    assert "secret-plan" not in bob.get("/v1/inbox").text
    cast.close()


def test_news_and_history(cast: Cast) -> None:
    alice, bob, charlie = (cast.register(name) for name in ("alice", "bob", "charlie"))
    id = room(alice)
    bring(alice, id, bob, charlie)
    file = put(bob, id, b"one", "a.txt")
    bob.call("PATCH", f"/v1/files/{file['id']}", {"name": "b.txt"})
    bob.call("PATCH", f"/v1/files/{file['id']}", {"content": b64(b"two")})
    assert news(bob) == []
    for person in (alice, charlie):
        created, renamed, updated = news(person)
        assert [kind for kind, _ in (created, renamed, updated)] == [
            "file.created",
            "file.updated",
            "file.updated",
        ]
        assert (created[1]["id"], created[1]["version"], created[1]["name"]) == (file["id"], 1, "b.txt")
        assert (updated[1]["version"], updated[1]["sha256"]) == (2, sha256(b"two"))
        items = person.call("GET", f"/v1/chats/{id}/messages")["items"]
        told = [item for item in items if item["type"].startswith("file.")]
        assert [item["kind"] for item in told] == ["event"] * 3
        assert told[0]["from"]["number"] == bob.number
        assert told[0]["about"]["file"] == created[1]
    assert charlie.call("GET", f"/v1/chats/{id}")["unread"] == 0


def test_made_twice_is_once(cast: Cast) -> None:
    alice, bob = cast.friends
    path = f"/v1/chats/{bob.number}/files"
    body = {"name": "a.txt", "content": b64(b"x"), "client_id": "f1"}
    made = alice.call("POST", path, body, status=201)
    again = alice.call("POST", path, body, status=200)
    assert (made["duplicate"], again["duplicate"]) == (False, True)
    assert again["file"] == made["file"]
    assert alice.refused("POST", path, {**body, "content": ""}) == "idempotency_conflict"
    assert alice.refused("POST", path, {**body, "name": "b"}) == "idempotency_conflict"
    header = {"Idempotency-Key": "f2"}
    answers = [alice.post(path, files={"file": ("a", b"x")}, headers=header).json() for _ in range(2)]
    assert [answer["duplicate"] for answer in answers] == [False, True]
    assert (
        upload(alice, bob.number, data={"client_id": "f2"}).json()["error"]["code"] == "idempotency_conflict"
    )

    file = f"/v1/files/{made['file']['id']}"
    change = {"content": b64(b"y"), "client_id": "f1"}
    assert [alice.call("PATCH", file, change)["duplicate"] for _ in range(2)] == [False, True]
    assert alice.call("GET", file)["version"] == 2
    alice.call("DELETE", file)
    assert alice.refused("POST", path, body) == "not_found"


def test_made_at_once_is_once(cast: Cast) -> None:
    alice, bob = cast.friends

    def make(_: int) -> tuple[int, str]:
        response = upload(alice, bob.number, data={"client_id": "same"})
        return response.status_code, response.json()["file"]["id"]

    with ThreadPoolExecutor(5) as pool:
        made = list(pool.map(make, range(5)))
    assert sorted(code for code, _ in made) == [200, 200, 200, 200, 201]
    assert len({id for _, id in made}) == 1
