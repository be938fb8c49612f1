"""Who is not in the chat, or not any more, has nothing of its files, and learns nothing of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.chats.test_rooms import bring, room
from tests.files.test_changes import news
from tests.files.world import b64, download, put
from tests.harness.cast import Cast, Person
from tests.harness.service import Service

ABSENT = f"fil_{'0' * 32}"


def nothing(person: Person, file: str, chat: str) -> bool:
    codes = {
        person.refused("GET", f"/v1/files/{file}{suffix}")
        for suffix in ("", "/content", "/content?version=1")
    }
    codes.add(person.refused("PATCH", f"/v1/files/{file}", {"name": "x"}))
    codes.add(person.refused("DELETE", f"/v1/files/{file}"))
    listed = person.get(f"/v1/chats/{chat}/files")
    return codes == {"not_found"} and (listed.status_code == 404 or file not in listed.text)


def trio(cast: Cast) -> tuple[Person, Person, Person, str]:
    alice, bob, charlie = (cast.register(name) for name in ("alice", "bob", "charlie"))
    id = room(alice)
    bring(alice, id, bob, charlie)
    return alice, bob, charlie, id


def test_not_a_member(cast: Cast) -> None:
    alice, bob = cast.friends
    file = put(alice, bob.number)
    assert nothing(cast.mallory, file["id"], file["chat"])
    assert nothing(cast.mallory, ABSENT, file["chat"])
    assert (
        cast.mallory.refused("POST", f"/v1/chats/{file['chat']}/files", {"name": "a", "content": ""})
        == "not_found"
    )


def test_removed_and_left(cast: Cast) -> None:
    alice, bob, charlie, id = trio(cast)
    file, theirs = put(alice, id), put(bob, id, b"mine")
    assert download(bob, file["id"]).status_code == 200
    etag = download(bob, file["id"]).headers["etag"]
    alice.call("POST", f"/v1/chats/{id}/remove", {"who": bob.number})
    charlie.call("POST", f"/v1/chats/{id}/leave")
    assert nothing(bob, file["id"], id)
    assert nothing(charlie, file["id"], id)
    assert bob.get(f"/v1/files/{file['id']}/content", headers={"If-None-Match": etag}).status_code == 404
    assert bob.http.head(f"/v1/files/{file['id']}/content").status_code == 404
    assert [about for _, about in news(bob)] == [None]
    # What it put there stays for the others, and is still its own to delete.
    assert download(alice, theirs["id"]).content == b"mine"
    assert bob.refused("GET", f"/v1/files/{theirs['id']}") == "not_found"
    assert bob.refused("PATCH", f"/v1/files/{theirs['id']}", {"name": "x"}) == "not_found"
    bob.call("DELETE", f"/v1/files/{theirs['id']}", status=204)
    assert nothing(alice, theirs["id"], id)


@pytest.mark.parametrize("whose", ["reader", "owner"])
def test_blocked(cast: Cast, whose: str) -> None:
    alice, bob, charlie, id = trio(cast)
    file = put(alice, id)
    if whose == "reader":
        bob.call("POST", f"/v1/contacts/{alice.number}/block")
    else:
        alice.call("POST", f"/v1/contacts/{bob.number}/block")
    assert nothing(bob, file["id"], id)
    assert not [about for _, about in news(bob) if about and "name" in about]
    assert download(charlie, file["id"]).status_code == 200
    later = put(alice, id, name="later.txt")
    assert nothing(bob, later["id"], id)


def test_blocked_between_two(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    file = put(alice, bob.number)
    bob.call("POST", f"/v1/contacts/{alice.number}/block")
    assert nothing(bob, file["id"], file["chat"])
    assert alice.refused("PATCH", f"/v1/files/{file['id']}", {"content": b64(b"x")}) == "contact_declined"
    assert (
        alice.refused("POST", f"/v1/chats/{file['chat']}/files", {"name": "a", "content": ""})
        == "contact_declined"
    )
    assert download(alice, file["id"]).content == b"Hello"
    alice.call("DELETE", f"/v1/files/{file['id']}")


def test_who_comes_later_sees_what_comes_later(cast: Cast) -> None:
    alice, _, _, id = trio(cast)
    old, growing = put(alice, id, b"old"), put(alice, id, b"one")
    dora = cast.register("dora")
    bring(alice, id, dora)
    assert nothing(dora, old["id"], id)
    alice.call("PATCH", f"/v1/files/{growing['id']}", {"content": b64(b"two")})
    shown = dora.call("GET", f"/v1/files/{growing['id']}")
    assert [one["version"] for one in shown["versions"]] == [2]
    assert download(dora, growing["id"]).content == b"two"
    assert download(dora, growing["id"], version=1).status_code == 404


def test_a_deleted_owner_takes_its_files_along(cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")
    alice.befriend(bob)
    file = put(alice, bob.number)
    alice.call("DELETE", "/v1/me")
    assert nothing(bob, file["id"], file["chat"])
    alice.call("POST", "/v1/me/restore")
    assert download(bob, file["id"]).content == b"Hello"


def test_hidden_and_absent_are_asked_for_alike(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    file = put(alice, bob.number)
    mallory = quiet_cast.mallory
    mallory.call("GET", "/v1/me")

    def asked(id: str, call: Callable[[str], Any]) -> tuple[list[str], Any]:
        with quiet_server.counting() as made:
            response = call(id)
        assert response.status_code == 404
        return made.sql, response.json()

    calls: list[Callable[[str], Any]] = [
        lambda id: mallory.get(f"/v1/files/{id}"),
        lambda id: mallory.get(f"/v1/files/{id}/content"),
        lambda id: mallory.patch(f"/v1/files/{id}", json={"name": "x"}),
        lambda id: mallory.delete(f"/v1/files/{id}"),
    ]
    for call in calls:
        assert asked(file["id"], call) == asked(ABSENT, call) == asked("nonsense", call)


def test_statements_do_not_grow(quiet_server: Service, quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends

    def counts() -> list[int]:
        found = []
        for call in (
            lambda: bob.call("GET", f"/v1/chats/{alice.number}/files", limit=100),
            lambda: bob.call("GET", f"/v1/chats/{alice.number}/messages", limit=100),
            lambda: bob.inbox(types="file.created,file.updated", limit=100),
            lambda: bob.call("GET", f"/v1/files/{file['id']}"),
            lambda: download(bob, file["id"]),
            lambda: put(alice, bob.number),
        ):
            with quiet_server.counting() as made:
                call()
            found.append(len(made))
        return found

    file = put(alice, bob.number)
    few = counts()
    for n in range(12):
        put(alice, bob.number, name=f"{n}.txt")
    alice.call("PATCH", f"/v1/files/{file['id']}", {"content": ""})
    assert counts() == few
    assert few[:5] == [4, 5, 4, 2, 2]
