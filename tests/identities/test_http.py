"""`/v1/register`, `/v1/me` and `/v1/identities` as a client meets them."""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.harness.cast import Cast, Person, lasting
from tests.harness.service import Service

PATHS = {
    "/v1/register": {"POST"},
    "/v1/me": {"GET", "PATCH"},
    "/v1/identities/1234567897": {"GET"},
    "/v1/directory": {"GET"},
}
ME = {
    "number", "handle", "kind", "display_name", "description", "skills", "created_at", "a2a_url", "listed",
    "policy", "receive", "accept", "account", "public_key", "keys",
}  # fmt: skip


def raw(service: Service, request: bytes) -> tuple[int, bytes]:
    """Send bytes as they are; returns the answer's status and what follows it."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return int(answer.split(b" ", 2)[1]), answer


def same(one: httpx.Response, other: httpx.Response) -> bool:
    """Whether two answers are the same but for the time of day."""
    first, second = (lasting(answer) for answer in (one, other))
    return (one.status_code, one.content, first) == (other.status_code, other.content, second)


def test_one_request_makes_an_agent(server: Service) -> None:
    answer = server.http.post("/v1/register", json={"kind": "agent"})
    assert answer.status_code == 201
    body = answer.json()
    assert body.keys() == {"identity", "token", "notice", "duplicate", "next"}
    assert body["identity"].keys() == ME
    assert (body["duplicate"], body["next"]) == (False, None)
    assert re.fullmatch(r"rgt_[A-Za-z0-9_-]{27,}", body["token"])
    assert "cannot be" in body["notice"]
    me = server.http.get("/v1/me", headers={"Authorization": f"Bearer {body['token']}"})
    assert (me.status_code, me.json()) == (200, body["identity"])
    assert answer.headers["cache-control"] == me.headers["cache-control"] == "no-store"
    assert body["token"] not in me.text
    assert body["token"] not in server.log()


def test_changing_oneself(cast: Cast) -> None:
    ada = cast.register("ada")
    changed = ada.call(
        "PATCH",
        "/v1/me",
        {
            "handle": f"@Ada-{secrets.token_hex(4).upper()}",
            "display_name": " Ada ",
            "description": "Line one\nline two",
            "skills": [{"name": "Steam Engines", "tags": ["steam"]}],
            "listed": True,
            "policy": "anyone",
        },
    )
    assert changed["handle"].islower()
    assert changed["display_name"] == "Ada"
    assert changed["skills"] == [
        {"slug": "steam-engines", "name": "Steam Engines", "description": "", "tags": ["steam"]}
    ]
    assert (changed["policy"], changed["receive"], changed["accept"]) == ("anyone", "any", "any")
    assert ada.call("GET", "/v1/me") == changed
    shown = cast.charlie.call("GET", f"/v1/identities/{changed['handle']}")
    assert shown == {
        **{field: changed[field] for field in ME - {"policy", "receive", "accept", "account", "public_key"}},
        "contact": None,
    }
    assert ada.refused("GET", f"/v1/identities/{ada.handle}") == "not_found"  # its old name
    assert ada.call("PATCH", "/v1/me", {}) == changed


def test_a_taken_handle_over_http(cast: Cast) -> None:
    for answer in (
        cast.service.http.post("/v1/register", json={"kind": "agent", "handle": cast.alice.handle}),
        cast.bob.patch("/v1/me", json={"handle": cast.alice.handle}),
        cast.service.http.post("/v1/register", json={"kind": "human", "handle": "Relayger"}),
    ):
        assert answer.status_code == 409
        error = answer.json()["error"]
        assert (error["code"], error["field"]) == ("handle_taken", "handle")
        assert len(error["suggestions"]) == 3


def test_registering_again_with_the_same_key(cast: Cast, server: Service) -> None:
    body = {"kind": "agent", "public_key": "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"}
    first = server.http.post("/v1/register", json=body).json()
    again = server.http.post("/v1/register", json=body)
    assert again.status_code == 200
    me = first["identity"]
    # Whoever asks has proven nothing: a public key is public.
    assert again.json() == {
        "identity": {field: me[field] for field in ("number", "handle", "kind", "display_name")},
        "token": None,
        "notice": again.json()["notice"],
        "duplicate": True,
        "next": "rotate",
    }


# -- who is asking ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"Bearer",
        b"Bearer \xb8",
        b"Bearer \xff\xfe",
        b"Bearer a b",
        b"Bearer rgt_" + b"a" * 32,
        b"Bearer rgt_" + b"a" * 16_000,
        b"Basic cmd0XzphYQ==",
        "Bearer rgt_аааааааааааааааааааааааааааа".encode(),
    ],
    ids=lambda header: f"{header[:24]!r}, {len(header)}",
)
@pytest.mark.parametrize("path", ["/v1/me", "/v1/directory", "/v1/identities/1234567897"])
def test_a_bad_token_is_401_everywhere(server: Service, path: str, header: bytes) -> None:
    answer = server.http.get(path, headers={b"Authorization": header})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "unauthenticated"


def test_a_token_counts_in_one_header_only(cast: Cast, server: Service) -> None:
    token = cast.alice.token
    for request in (
        server.http.build_request("GET", f"/v1/me?token={token}&access_token={token}"),
        server.http.build_request("GET", "/v1/me", headers={"Cookie": f"token={token}; sessionid={token}"}),
        server.http.build_request("GET", "/v1/me", headers=[("Authorization", f"Bearer {token}")] * 2),
    ):
        assert server.http.send(request).status_code == 401
    with httpx.Client(auth=(token, ""), base_url=server.origin) as client:
        assert client.get("/v1/me").status_code == 401
    assert token not in server.log()


def test_a_token_of_64_kib(server: Service) -> None:
    """The server in front may refuse such a header itself; never with a 500."""
    head = b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer "
    status, _ = raw(server, head + b"x" * 65_536 + b"\r\n\r\n")
    assert status in (400, 401, 431)


# -- who may see whom ---------------------------------------------------------------------------------------------


def test_hidden_and_absent_are_the_same_bytes(cast: Cast) -> None:
    hidden = cast.bob
    for viewer in (cast.charlie.http, cast.service.http):
        absent = viewer.get("/v1/identities/1000000009")
        assert absent.status_code == 404
        for who in (hidden.number, hidden.handle, f"@{hidden.handle}", "nobody-has-this", "1234567890"):
            assert same(viewer.get(f"/v1/identities/{who}"), absent), who


@pytest.mark.parametrize(
    "who",
    ["²", "%D9%A1" * 10, "%D0%B0dmin", "%EF%BD%81dmin", "ad%E2%80%8Emin", "%00", "%ff", "%ed%a0%80", "%", "%zz",
     "a" * 5000, "1" * 5000, "..", "%2e%2e", "@", "@@relayger", "-", "'", "a%20b", "%0a", "relayger%0a",
     "a.b", "{who}"],
)  # fmt: skip
def test_who_nobody_is(cast: Cast, who: str) -> None:
    for client in (cast.service.http, cast.alice.http):
        answer = client.get(f"/v1/identities/{who}")
        assert answer.status_code == 404, answer.text
        assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("who", ["relayger", "@relayger", "RELAYGER", "1234567897", "%401234567897"])
def test_spellings_of_one(server: Service, who: str) -> None:
    answer = server.http.get(f"/v1/identities/{who}")
    if who.startswith("%40"):  # an @ names a handle, and ten digits are always a number
        assert answer.status_code == 404
    else:
        assert (answer.status_code, answer.json()["number"]) == (200, "1234567897")
        assert answer.json()["a2a_url"] == f"{server.origin}/a2a/1234567897"


# -- methods and spellings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("slash", ["", "/"])
def test_methods(cast: Cast, path: str, slash: str) -> None:
    http = cast.alice.http
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"):
        if (method, path) == ("DELETE", "/v1/me"):
            continue  # nobody is there afterwards; tests of deletion call it
        answer = http.request(
            method, path + slash, content=b"{}", headers={"Content-Type": "application/json"}
        )
        assert not answer.is_redirect
        if method in PATHS[path]:
            assert answer.status_code != 405
            assert answer.status_code < 500
        else:
            assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
            assert set(answer.headers["allow"].split(", ")) >= PATHS[path]
    head = http.head(path + slash)
    assert (head.status_code, head.content) == (200 if "GET" in PATHS[path] else 405, b"")
    assert http.options(path + slash).status_code == 200


def test_a_post_with_a_slash_arrives(server: Service) -> None:
    for path in ("/v1/register", "/v1/register/"):
        assert server.http.post(path, json={"kind": "agent"}).status_code == 201


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/nothing", "/v1/me/x", "/v1/identities", "/v1/register/x", "/%00"]
)
def test_paths_that_lead_nowhere(cast: Cast, path: str) -> None:
    for method in ("GET", "POST"):
        answer = cast.alice.http.request(method, path, json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


# -- bodies as they travel ----------------------------------------------------------------------------------------


def test_a_body_in_chunks_is_read(cast: Cast, server: Service) -> None:
    def chunks(body: bytes) -> Iterator[bytes]:
        yield body[:5]
        yield body[5:]

    body = json.dumps({"kind": "agent", "display_name": "Ada"}).encode()
    json_type = {"Content-Type": "application/json"}
    answer = server.http.post("/v1/register", content=chunks(body), headers=json_type)
    assert answer.status_code == 201
    assert answer.json()["identity"]["display_name"] == "Ada"
    answer = cast.alice.patch("/v1/me", content=chunks(b'{"display_name": "Alice"}'), headers=json_type)
    assert answer.json()["display_name"] == "Alice"
    large = (b"x" * 65_536 for _ in range(20))
    answer = server.http.post("/v1/register", content=large, headers=json_type)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_an_announced_body_that_is_too_large(server: Service) -> None:
    answer = server.http.post(
        "/v1/register", content=b"x" * (1 << 21), headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_body_that_breaks_off(server: Service) -> None:
    head = b"POST /v1/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head)
    assert server.http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("APPLICATION/JSON", 201),
        ("application/json; charset=nonsense", 201),
        ("text/plain", 415),
        ("text/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/jsonx", 415),
        ("", 415),
        ("/", 415),
        ("application/json\xb8", 415),
    ],
)
def test_content_types(server: Service, kind: str, status: int) -> None:
    answer = server.http.post(
        "/v1/register", content=b'{"kind":"agent"}', headers={b"Content-Type": kind.encode("latin-1")}
    )
    assert answer.status_code == status, answer.text
    if status == 415:
        assert answer.json()["error"]["code"] == "unsupported_media_type"


@pytest.mark.parametrize(
    "accept", ["text/html", "application/xml", "*/*;q=0", "\xb8", "application/json;v=2"]
)
def test_the_answer_is_json_whatever_is_accepted(server: Service, accept: str) -> None:
    answer = server.http.get("/v1/directory", headers={b"Accept": accept.encode("latin-1")})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


# -- what a call costs --------------------------------------------------------------------------------------------


def test_statements(quiet_server: Service, quiet_cast: Cast) -> None:
    ada, stranger = quiet_cast.ada, quiet_cast.charlie
    hidden = quiet_cast.bob

    def count(client: httpx.Client, path: str) -> list[str]:
        with quiet_server.counting() as made:
            client.get(path)
        return made.sql

    assert (
        len(count(quiet_server.http, f"/v1/identities/{ada.number}")) == 3
    )  # the profile, its skills, its keys
    assert len(count(stranger.http, f"/v1/identities/{ada.number}")) == 4  # and who asks
    assert len(count(stranger.http, "/v1/me")) <= 4
    assert count(stranger.http, f"/v1/identities/{hidden.number}") == count(
        stranger.http, "/v1/identities/1000000009"
    )
    for who in (hidden.handle, f"@{hidden.handle}"):
        assert count(stranger.http, f"/v1/identities/{who}") == count(
            stranger.http, "/v1/identities/nobody-at-all"
        )
    assert len(count(quiet_server.http, f"/v1/identities/{hidden.number}")) == 1
    one = count(stranger.http, f"/v1/directory?q={ada.handle}&limit=1")
    for _ in range(3):
        quiet_cast.register("listed", listed=True, skills=[{"name": "A"}, {"name": "B"}])
    assert len(one) == len(count(stranger.http, "/v1/directory")) == 3


def test_registering_is_a_bounded_number_of_statements(quiet_server: Service) -> None:
    body: dict[str, Any] = {"kind": "agent", "skills": [{"name": f"Skill {one}"} for one in range(32)]}
    with quiet_server.counting() as made:
        assert quiet_server.http.post("/v1/register", json=body).status_code == 201
    assert len(made) <= 17, made


def test_people_of_the_harness_are_told_apart(cast: Cast) -> None:
    """Two identities never share a number, handle or account."""
    people: list[Person] = [cast.alice, cast.bob, cast.charlie]
    for field in ("number", "handle", "account"):
        assert len({one.me[field] for one in people}) == 3
