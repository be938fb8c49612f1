"""What is too large, too much or too often is refused, while it arrives and whoever comes at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.core.test_wire import connected, heard
from tests.files.test_changes import b64
from tests.files.world import download, put, rows, stored, upload
from tests.harness.cast import Cast, Person
from tests.harness.service import Service, Starter
from tests.harness.wait import until

KIB = 1 << 10


@pytest.fixture
def small(fresh_server: Starter) -> Service:
    """A service with little room."""
    return fresh_server(
        RELAYGER_FILE_INLINE_BYTES=str(8 * KIB),
        RELAYGER_FILE_BYTES=str(256 * KIB),
        RELAYGER_FILES_QUOTA_BYTES=str(1024 * KIB),
        RELAYGER_MAX_FILES="6",
        RELAYGER_MAX_FILE_VERSIONS="3",
        RELAYGER_MAX_TRANSFERS="2",
        RELAYGER_BODY_SECONDS="2",
        RELAYGER_FILE_SECONDS="3",
    )


@pytest.fixture
def pair(small: Service) -> Iterator[tuple[Person, Person]]:
    cast = Cast(small)
    yield cast.friends
    cast.close()


def head(person: Person, path: str, size: int | None, kind: str = "multipart/form-data; boundary=b") -> bytes:
    length = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {person.token}\r\n"
        f"Content-Type: {kind}\r\n{length}\r\n\r\n"
    ).encode()


def test_sizes(small: Service, pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    put(alice, bob.number, b"x" * 8 * KIB)
    path = f"/v1/chats/{bob.number}/files"
    assert alice.refused("POST", path, {"name": "a", "content": b64(b"x" * (8 * KIB + 1))}) == "too_large"
    assert upload(alice, bob.number, b"x" * 256 * KIB).status_code == 201
    refused = upload(alice, bob.number, b"x" * (256 * KIB + 1))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
    assert "262144" in refused.json()["error"]["message"]
    assert upload(alice, bob.number, b"x" * 512 * KIB).status_code == 413
    assert len(stored(small)) == 2
    assert (
        alice.post("/v1/contacts", content=b"x" * (2 << 20)).status_code == 413
    )  # others' bodies stay small


def test_counted_while_it_arrives(small: Service, pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    path = f"/v1/chats/{bob.number}/files"
    with connected(small) as sock:
        sock.sendall(head(alice, path, 1 << 30))
        response, body = heard(sock)  # without one byte of it
    assert (response.status, body["error"]["code"]) == (413, "too_large")
    with connected(small) as sock:
        sock.sendall(head(alice, path, None))
        sock.sendall((b"10000\r\n" + b"x" * (1 << 16) + b"\r\n") * 10)  # and no end of it
        response, body = heard(sock)
    assert (response.status, body["error"]["code"]) == (413, "too_large")


def test_refused_before_the_body(small: Service, pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    stranger = Cast(small).mallory
    for person, path, status in (
        (stranger, f"/v1/chats/{bob.number}/files", 404),
        (alice, "/v1/chats/con_" + "0" * 32 + "/files", 404),
    ):
        with connected(small) as sock:
            sock.sendall(head(person, path, 200_000))
            assert heard(sock)[0].status == status
    with connected(small) as sock:
        sock.sendall(head(alice, f"/v1/chats/{bob.number}/files", 200_000).replace(b"rgt_", b"rgx_"))
        assert heard(sock)[0].status == 401
    stranger.close()


def test_an_upload_has_its_time_and_holds_nothing(small: Service, pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    path = f"/v1/chats/{bob.number}/files"
    before = small.vitals()
    with connected(small) as first, connected(small) as second:
        started = time.monotonic()
        for sock in (first, second):
            sock.sendall(head(alice, path, 1000).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
            assert sock.recv(100).startswith(b"HTTP/1.1 100")
            sock.sendall(b"--b\r\n")
        refused = upload(alice, bob.number).json()["error"]
        assert refused["code"] == "too_many_waits"
        assert upload(bob, alice.number).status_code == 201
        during = small.vitals()
        assert during["threads"] - before["threads"] <= 6  # those for files, which are few
        response, body = heard(first)
        assert (response.status, body["error"]["code"]) == (408, "request_timeout")
        assert 2.5 < time.monotonic() - started < 10
    until(lambda: upload(alice, bob.number).status_code == 201, 5, "the places to be free again")


def test_quota(small: Service, pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    big = b"x" * 250 * KIB
    file = upload(alice, bob.number, big).json()["file"]
    path = f"/v1/files/{file['id']}"
    for _ in range(2):
        assert alice.patch(path, files={"file": ("a", big)}).status_code == 200
    full = alice.patch(path, files={"file": ("a", b"")})
    assert (full.status_code, full.json()["error"]["code"]) == (409, "quota_exceeded")
    assert "3 versions" in full.json()["error"]["message"]
    upload(alice, bob.number, big)
    over = upload(alice, bob.number, big).json()["error"]
    assert over["code"] == "quota_exceeded"
    assert "1048576 bytes" in over["message"]
    assert upload(bob, alice.number, big).status_code == 201  # each has its own
    for _ in range(4):
        upload(alice, bob.number, b"")
    assert "6 files" in upload(alice, bob.number, b"").json()["error"]["message"]
    assert len(stored(small)) == 9
    alice.call("DELETE", path)
    assert upload(alice, bob.number, big).status_code == 201
    assert rows(small, "SELECT key FROM threads_storedblob") == []


def test_two_at_once_share_one_quota(small: Service, pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    for _ in range(3):
        upload(alice, bob.number, b"x" * 250 * KIB)

    def once(_: int) -> int:
        while True:
            status = upload(alice, bob.number, b"x" * 200 * KIB).status_code
            if status != 429:
                return status

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(once, range(6))) == [201, 409, 409, 409, 409, 409]
    assert len(stored(small)) == 4
    assert rows(small, "SELECT key FROM threads_storedblob") == []


def test_rate(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_FILE="3/h")
    cast = Cast(service)
    alice, bob = cast.friends
    file = put(alice, bob.number)
    alice.call("PATCH", f"/v1/files/{file['id']}", {"name": "b"})
    assert alice.refused("POST", f"/v1/chats/{bob.number}/files", []) == "invalid"
    response = upload(alice, bob.number)
    assert (response.status_code, response.json()["error"]["code"]) == (429, "rate_limited")
    assert int(response.headers["retry-after"]) > 0
    assert alice.patch(f"/v1/files/{file['id']}", json={"name": "c"}).status_code == 429
    assert download(bob, file["id"]).status_code == 200
    cast.close()


def slow(service: Service, person: Person, file: str) -> socket.socket:
    """Ask for a file, and read nothing of it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(20)
    sock.connect(("127.0.0.1", service.port))
    asking = f"GET /v1/files/{file}/content HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    sock.sendall(f"{asking}Authorization: Bearer {person.token}\r\n\r\n".encode())
    assert sock.recv(12) == b"HTTP/1.1 200"
    return sock


def rest(sock: socket.socket, pause: float = 0) -> int:
    """Read until the connection ends; how many bytes came."""
    size = 0
    try:
        while piece := sock.recv(1 << 14):
            size += len(piece)
            time.sleep(pause)
    except OSError:
        pass
    sock.close()
    return size


def test_slow_readers_hold_nothing_and_not_for_ever(fresh_server: Starter) -> None:
    service = fresh_server(
        RELAYGER_FILE_SECONDS="4", RELAYGER_WRITE_SECONDS="30", RELAYGER_MAX_TRANSFERS="40"
    )
    cast = Cast(service)
    alice, bob = cast.friends
    size = 20 << 20
    file = upload(alice, bob.number, b"x" * size).json()["file"]["id"]
    download(bob, file)
    before = service.vitals()
    readers = [slow(service, bob, file) for _ in range(30)]
    time.sleep(1.5)
    during = service.vitals()
    assert during["threads"] <= before["threads"] + 6
    assert during["connections"] <= before["connections"] + 4
    assert during["rss_kib"] - before["rss_kib"] < 30 * 1024
    assert bob.call("GET", f"/v1/files/{file}")["size"] == size
    with ThreadPoolExecutor(30) as pool:
        got = list(pool.map(lambda sock: rest(sock, 0.05), readers))
    assert max(got) < size  # they dawdled longer than a download may take
    until(lambda: service.vitals()["tasks"] <= before["tasks"] + 2, 10, "their calls to end")
    assert len(download(bob, file).content) == size
    cast.close()


def test_a_reader_who_takes_nothing_is_cut_off(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_WRITE_SECONDS="1", RELAYGER_MAX_TRANSFERS="1")
    cast = Cast(service)
    alice, bob = cast.friends
    file = upload(alice, bob.number, b"x" * (20 << 20)).json()["file"]["id"]
    sock = slow(service, bob, file)
    assert download(bob, file).json()["error"]["code"] == "too_many_waits"
    until(lambda: download(bob, file).status_code == 200, 10, "the place to be free again")
    assert rest(sock) < 20 << 20
    cast.close()


def test_removed_while_it_reads(fresh_server: Starter) -> None:
    service = fresh_server()
    cast = Cast(service)
    alice, bob = cast.friends
    size = 20 << 20
    file = upload(alice, bob.number, b"x" * size).json()["file"]["id"]
    sock = slow(service, bob, file)
    alice.call("POST", f"/v1/contacts/{bob.number}/block")
    time.sleep(1.2)
    assert rest(sock) < size
    cast.close()
