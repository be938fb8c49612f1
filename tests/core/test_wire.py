"""HTTP as clients really send it: offers to upgrade, bodies that never come, headers twice, ports taken."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from typing import Any

import httpx
import pytest

from apps.core.wake import Hub
from tests.a2a.wire import VERSION
from tests.harness.cast import Cast, Person, a2a_path, reason
from tests.harness.environment import clean
from tests.harness.service import Service, Starter, free_port
from tests.project.test_files import ROOT

H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
BOTH = pytest.mark.parametrize("surface", ["v1", "a2a"])
TOO_MUCH = 1 << 21
LIST = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}


@contextmanager
def connected(service: Service) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as sock:
        yield sock


def heard(sock: socket.socket) -> tuple[HTTPResponse, Any]:
    """The next answer on a socket, with its JSON."""
    response = HTTPResponse(sock)
    response.begin()
    return response, json.loads(response.read())


def target(surface: str, person: Person, other: Person) -> tuple[str, bytes]:
    """A call that is well whichever way it goes: its address and body."""
    if surface == "v1":
        return "/v1/contacts", json.dumps({"to": other.number}).encode()
    return a2a_path(other), json.dumps(LIST).encode()


def head(path: str, person: Person, length: int | None, more: str = "") -> bytes:
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {person.token}\r\n{more}"
        f"A2A-Version: 1.0\r\nContent-Type: application/json\r\n{size}\r\n\r\n"
    ).encode()


def told(surface: str, body: Any) -> str:
    """The code of an error, whichever way it is told."""
    return str(reason(body["error"])).lower() if surface == "a2a" else str(body["error"]["code"])


# -- offers to upgrade --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("cut", [None, 0, 4, 7])
def test_an_offer_of_http_2_is_ignored(cast: Cast, surface: str, cut: int | None) -> None:
    path, body = target(surface, cast.alice, cast.bob)
    mark = cast.service.log_size
    whole = head(path, cast.alice, len(body), H2C) + body
    # In one piece, and in two with the cut before, inside and after the header's name.
    at = len(whole) if cut is None else whole.index(b"Upgrade: h2c") + cut
    with connected(cast.service) as sock:
        sock.sendall(whole[:at])
        time.sleep(0 if cut is None else 0.1)
        sock.sendall(whole[at:])
        for again in range(2):
            response, answer = heard(sock)
            assert response.status in (200, 201), answer
            assert "error" not in answer
            if not again:
                sock.sendall(whole)  # the connection is as good as before
    assert "upgrade" not in cast.service.log(mark).lower()
    assert "WebSocket" not in cast.service.log(mark)


# -- bodies that do not come --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_stands_still_is_408(fresh_server: Starter, surface: str, chunked: bool) -> None:
    service = fresh_server(RELAYGER_BODY_SECONDS="1")
    cast = Cast(service)
    path, _ = target(surface, cast.alice, cast.bob)
    with connected(service) as sock:
        sock.sendall(head(path, cast.alice, None if chunked else 20) + (b"1\r\n{\r\n" if chunked else b"{"))
        begin = time.monotonic()
        response, answer = heard(sock)
        assert 0.8 < time.monotonic() - begin < 5
        assert response.status == 408
        assert response.headers["connection"] == "close"
        assert told(surface, answer) == "request_timeout"
        assert sock.recv(1) == b""
    with connected(service) as sock:  # one that trickles in is no better
        sock.sendall(head(path, cast.alice, 1000))
        for _ in range(6):
            sock.sendall(b" ")
            time.sleep(0.3)
        assert heard(sock)[0].status == 408
    # What is whole in time may take as long to answer as it likes.
    waited = cast.alice.http.get("/v1/inbox", params={"after": cast.alice.inbox()["next"], "wait": 2})
    assert waited.status_code == 200
    cast.close()


def test_half_sent_bodies_do_not_hold_up_the_end(fresh_server: Starter) -> None:
    service = fresh_server()
    cast = Cast(service)
    with ExitStack() as stack:
        for number in range(20):
            path, _ = target(("v1", "a2a")[number % 2], cast.alice, cast.bob)
            sock = stack.enter_context(connected(service))
            sock.sendall(head(path, cast.alice, 100) + b"{")
        time.sleep(0.5)
        begin = time.monotonic()
        service.terminate()
        assert time.monotonic() - begin < 5
    assert "Traceback" not in service.log()
    assert "ERROR" not in service.log()
    cast.close()


@BOTH
def test_an_early_413_ends_the_connection(cast: Cast, surface: str) -> None:
    path, _ = target(surface, cast.alice, cast.bob)
    with connected(cast.service) as sock:
        sock.sendall(head(path, cast.alice, TOO_MUCH, "Expect: 100-continue\r\n"))
        response, answer = heard(sock)
        assert (response.status, told(surface, answer)) == (413, "too_large")
        assert response.headers["connection"] == "close"
        assert sock.recv(1) == b""
    with connected(cast.service) as sock:  # who sends it all the same hears why it was not taken
        sock.sendall(head(path, cast.alice, TOO_MUCH) + b" " * TOO_MUCH)
        response, _ = heard(sock)
        assert (response.status, response.headers["connection"]) == (413, "close")


def test_any_answer_before_the_awaited_continue_ends_the_connection(cast: Cast) -> None:
    with connected(cast.service) as sock:
        path = a2a_path(cast.bob)
        sock.sendall(head(path, cast.alice, 5, "Expect: 100-continue\r\n").replace(b"POST", b"PUT"))
        response, _ = heard(sock)
        assert (response.status, response.headers["connection"]) == (405, "close")


@BOTH
def test_who_is_told_to_continue_keeps_the_connection(cast: Cast, surface: str) -> None:
    path, body = target(surface, cast.alice, cast.bob)
    with connected(cast.service) as sock:
        for _ in range(2):
            sock.sendall(head(path, cast.alice, len(body), "Expect: 100-continue\r\n"))
            assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            sock.sendall(body)
            response, _ = heard(sock)
            assert response.status in (200, 201)
            assert response.headers["connection"] is None


# -- encodings and headers ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("coding", ["gzip", "identity, gzip", "br"])
def test_an_encoded_body_is_415(cast: Cast, surface: str, coding: str) -> None:
    path, body = target(surface, cast.alice, cast.bob)
    headers = {**VERSION, "Content-Type": "application/json", "Content-Encoding": coding}
    for content in (gzip.compress(body), body):
        answer = cast.alice.http.post(path, content=content, headers=headers)
        assert answer.status_code == 415
        assert told(surface, answer.json()) == "unsupported_media_type"
        assert answer.headers["accept-encoding"] == "identity"
    plain = {**headers, "Content-Encoding": "identity"}
    assert cast.alice.http.post(path, content=body, headers=plain).is_success


@BOTH
def test_a_transfer_coding_beside_chunked_is_refused(cast: Cast, surface: str) -> None:
    path, body = target(surface, cast.alice, cast.bob)
    packed = gzip.compress(body)
    whole = head(path, cast.alice, None).replace(b": chunked", b": gzip, chunked")
    with connected(cast.service) as sock:
        sock.sendall(whole + b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed))
        response, answer = heard(sock)
        assert (response.status, told(surface, answer)) == (415, "unsupported_media_type")


@BOTH
@pytest.mark.parametrize("twice", ["the same", "another"])
def test_two_authorizations_are_none(cast: Cast, surface: str, twice: str) -> None:
    path, body = target(surface, cast.alice, cast.bob)
    other = cast.alice if twice == "the same" else cast.bob
    more = f"Authorization: Bearer {other.token}\r\n"
    for call in (
        head(path, cast.alice, len(body), more) + body,
        head("/v1/inbox", cast.alice, 0, more).replace(b"POST", b"GET"),
    ):
        with connected(cast.service) as sock:
            sock.sendall(call)
            assert heard(sock)[0].status == 401


def test_two_versions_are_none(cast: Cast) -> None:
    path, body = target("a2a", cast.alice, cast.bob)
    with connected(cast.service) as sock:
        sock.sendall(head(path, cast.alice, len(body), "A2A-Version: 1.0\r\n") + body)
        _, answer = heard(sock)
        assert answer["error"]["code"] == -32009


def test_a_page_of_another_origin_may_read_its_limits(cast: Cast) -> None:
    answer = cast.alice.http.post(a2a_path(cast.bob), json=LIST, headers=VERSION)
    shown = {name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert {"ratelimit", "ratelimit-policy", "retry-after", "etag"} <= shown


def test_a_path_that_leads_nowhere_names_one_that_does(server: Service) -> None:
    error = server.http.get("/nowhere").json()["error"]
    assert "/docs/agents" in error["next"]


# -- health -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_read_only(server: Service, path: str) -> None:
    assert server.http.get(path).status_code == 200
    assert server.http.head(path).status_code == 200
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = server.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
        assert answer.headers["allow"] == "GET, HEAD"


async def test_the_hub_asks_whether_others_can_be_reached(settings: Any) -> None:
    lone = Hub()
    settings.RELAYGER = settings.RELAYGER.model_copy(update={"redis_url": None})
    assert await lone.reachable()
    settings.RELAYGER = settings.RELAYGER.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    backend = "channels_redis.pubsub.RedisPubSubChannelLayer"
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": backend, "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]}}
    }
    assert lone.connected, "nobody asked so far"
    assert not await lone.reachable()
    assert not lone.connected


# -- listening ----------------------------------------------------------------------------------------------


def serve(port: int, host: str, folder: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "relayger.cli", "serve", "--no-agent", "--host", host, "--port", str(port)],
        cwd=ROOT,
        env={**clean(dict(os.environ)), "RELAYGER_VAR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_a_taken_port_is_told_in_one_line(host: str, shown: str, tmp_path: Any) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        try:
            taken.bind((host, 0))
        except OSError:
            pytest.skip("no IPv6 here")
        taken.listen()
        port = taken.getsockname()[1]
        process = serve(port, host, tmp_path)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err == f"relayger: cannot listen on {shown}:{port}: Address already in use\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_the_greeting_comes_once_it_listens(host: str, tmp_path: Any) -> None:
    port = free_port()
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    with serve(port, host, tmp_path) as process:
        assert process.stderr is not None
        try:
            greeting = next(line for line in process.stderr if line.startswith(("Relayger", "relayger")))
            if ":" in host and "cannot listen" in greeting:
                pytest.skip("no IPv6 here")
            assert greeting == f"Relayger serves {url} (listening on {url})\n"
            assert httpx.get(f"{url}/healthz").status_code == 200
        finally:
            process.terminate()
