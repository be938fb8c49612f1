"""The address of an agent: methods, statuses, headers, and the order in which a call is checked."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.a2a.wire import VERSION, raw, store
from tests.harness.cast import Cast, Person, a2a_path, lasting, reason, send_params
from tests.harness.service import Service, Starter

GET_TASK = b'{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"x"}}'


def error(response: httpx.Response, status: int, code: int, why: str, id: Any = None) -> dict[str, Any]:
    """The error of a response, which is JSON-RPC whatever its status."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers
    body = response.json()
    assert (body["jsonrpc"], body["id"]) == ("2.0", id)
    found: dict[str, Any] = body["error"]
    assert (found["code"], reason(found)) == (code, why)
    return found


def test_every_other_method_is_405(cast: Cast) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        response = cast.alice.http.request(method, a2a_path(cast.bob), content=b"{bad")
        error(response, 405, -32000, "METHOD_NOT_ALLOWED")
        assert response.headers["allow"] == "POST, OPTIONS"
    assert cast.alice.http.head(a2a_path(cast.bob)).status_code == 405


def test_a_body_too_large_is_413_before_anything_else(server: Service) -> None:
    response = server.http.post("/a2a/1", content=b"x" * (1 << 20) + b"x", headers=VERSION)
    error(response, 413, -32000, "TOO_LARGE")

    def pieces() -> Any:
        for _ in range(20):
            yield b"x" * (1 << 16)

    error(server.http.post("/a2a/1", content=pieces(), headers=VERSION), 413, -32000, "TOO_LARGE")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer a b",
        "Bearer rgt_nobody",
        "Basic YTpi",
        "rgt_x",
        "Bearer \xb8",
        "Bearer " + "x" * 65_000,
    ],
)
def test_without_a_valid_token_401(server: Service, cast: Cast, header: str | None) -> None:
    headers = {**VERSION} if header is None else {**VERSION, "Authorization": header}
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    response = server.http.post(a2a_path(cast.bob), content=GET_TASK, headers=encoded)
    if len(header or "") > 60_000 and response.status_code in (400, 431):
        return  # the server in front of the application has a limit of its own
    error(response, 401, -32000, "UNAUTHENTICATED", id=7)
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_the_extended_card_is_no_way_around_a_token(server: Service, cast: Cast) -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"GetExtendedAgentCard"}'
    for headers in (VERSION, {**VERSION, "Authorization": "Bearer rgt_nobody"}):
        response = server.http.post(a2a_path(cast.bob), content=body, headers=headers)
        error(response, 401, -32000, "UNAUTHENTICATED", id=7)


def test_401_stands_before_404_and_both_before_the_body(server: Service, cast: Cast) -> None:
    assert server.http.post("/a2a/nobody", content=b"{bad", headers=VERSION).status_code == 401
    error(raw(cast.alice, "nobody", b"{bad"), 404, -32000, "AGENT_NOT_FOUND")
    error(raw(cast.alice, "nobody", GET_TASK), 404, -32000, "AGENT_NOT_FOUND", id=7)
    error(raw(cast.alice, cast.bob, b"{bad"), 200, -32700, "PARSE_ERROR")


def test_then_the_envelope_the_version_the_method_and_the_params(cast: Cast) -> None:
    alice, bob = cast.friends

    def check(body: dict[str, Any], code: int, why: str, version: str = "99.0", id: Any = 1) -> None:
        whole = {"jsonrpc": "2.0", "id": 1, "method": "Nope", "params": {"pageSize": 0}, **body}
        response = raw(alice, bob, json.dumps(whole), **{"A2A-Version": version})
        error(response, 200, code, why, id)

    check({"jsonrpc": "1.0"}, -32600, "INVALID_REQUEST")
    check({"id": {}}, -32600, "INVALID_REQUEST", id=None)
    check({}, -32009, "VERSION_NOT_SUPPORTED")
    check({}, -32601, "METHOD_NOT_FOUND", version="1.0")
    check({"method": "ListTasks"}, -32602, "INVALID_PARAMS", version="1.0")


@pytest.mark.parametrize(
    "name", ["message/send", "message/stream", "tasks/get", "tasks/cancel", "sendMessage", ""]
)
def test_methods_of_other_dialects_are_unknown(cast: Cast, name: str) -> None:
    error(cast.alice.a2a(cast.bob, name, id="q"), 200, -32601, "METHOD_NOT_FOUND", id="q")


def test_the_limit_stands_between_method_and_params(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_READ="5/h", RELAYGER_RATE_WRITE="5/h")
    cast = Cast(service)
    alice, bob = cast.alice, cast.bob
    for _ in range(5):
        error(alice.a2a(bob, "GetTask"), 200, -32602, "INVALID_PARAMS", id=1)
        error(alice.a2a(bob, "SendMessage"), 200, -32602, "INVALID_PARAMS", id=1)
    for method in ("GetTask", "SendMessage", "SubscribeToTask", "GetExtendedAgentCard"):
        response = alice.a2a(bob, method)
        error(response, 429, -32000, "RATE_LIMITED", id=1)
        assert int(response.headers["retry-after"]) > 0
    error(alice.a2a(bob, "Nope"), 200, -32601, "METHOD_NOT_FOUND", id=1)
    error(bob.a2a(alice, "GetTask"), 200, -32602, "INVALID_PARAMS", id=1)


def test_versions_by_header_and_query(cast: Cast) -> None:
    alice, bob = cast.alice, cast.bob

    def code(query: str = "", **headers: str) -> int:
        request = {"Content-Type": "application/json", **headers}
        response = alice.http.post(a2a_path(bob) + query, content=GET_TASK, headers=request)
        assert response.status_code == 200
        found: int = response.json()["error"]["code"]
        return found

    for query, header in (
        ("", "1.0"),
        ("", "1.0.3"),
        ("?A2A-Version=1.0", None),
        ("?A2A-Version=1.0.7", None),
        ("?A2A-Version=99.0", "1.0"),
    ):
        assert code(query, **({"A2A-Version": header} if header else {})) == -32001, (query, header)
    for query, header in (
        ("", None),
        ("", ""),
        ("", "0.3"),
        ("", "1.1"),
        ("", "99.0"),
        ("", "latest"),
        ("?A2A-Version=0.3", None),
        ("?A2A-Version=", None),
        ("?A2A-Version=%ff", None),
        ("?A2A-Version=1.0", "0.3"),
    ):
        assert code(query, **({"A2A-Version": header} if header is not None else {})) == -32009, (
            query,
            header,
        )


def test_an_unknown_version_names_the_known_ones(cast: Cast) -> None:
    found = error(
        raw(cast.alice, cast.bob, GET_TASK, **{"A2A-Version": "99.0"}),
        200,
        -32009,
        "VERSION_NOT_SUPPORTED",
        7,
    )
    assert "1.0" in found["message"]
    assert found["data"][0]["domain"] == "a2a-protocol.org"


def test_with_and_without_a_slash(cast: Cast) -> None:
    alice, bob = cast.friends
    for path in (a2a_path(bob), a2a_path(bob) + "/"):
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send_params()}
        response = alice.http.post(path, json=body, headers=VERSION, follow_redirects=False)
        assert response.status_code == 200
        assert "task" in response.json()["result"]


def test_by_number_and_by_handle(cast: Cast) -> None:
    alice, bob = cast.friends
    task = alice.send(bob)
    for who in (bob.number, bob.handle, f"@{bob.handle}", bob.handle.upper()):
        assert alice.rpc(who, "GetTask", {"id": task["id"]})["id"] == task["id"]


@pytest.mark.parametrize(
    "who",
    ["nobody-at-all", "0000000000", "1234567890", "١٢٣٤٥٦٧٨٩٠", "x" * 3000, "%00", "%ff", "..%2f", "a b"],
)
def test_who_is_not_there(cast: Cast, who: str) -> None:
    response = cast.alice.http.post(f"/a2a/{who}", content=GET_TASK, headers=VERSION)
    assert response.status_code == 404
    assert response.headers["access-control-allow-origin"] == "*"


def test_absent_deleted_suspended_and_human_read_alike(cast: Cast) -> None:
    alice = cast.alice
    human, suspended, deleted = (
        cast.register("person", kind="human"),
        cast.register("suspended"),
        cast.register("deleted"),
    )
    for person, column in ((suspended, "suspended_at"), (deleted, "deleted_at")):
        store(
            person.service,
            f"UPDATE identities_identity SET {column} = created_at WHERE number = ?",
            int(person.number),
        )
    absent = raw(alice, "nobody-here", GET_TASK)
    error(absent, 404, -32000, "AGENT_NOT_FOUND", id=7)
    for person in (human, suspended, deleted):
        response = raw(alice, person, GET_TASK)
        assert response.content == absent.content
        assert lasting(response) == lasting(absent)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("application/json", -32001),
        ("application/json; charset=utf-8", -32001),
        ("application/a2a+json", -32001),
        ("text/plain", -32005),
        ("application/x-www-form-urlencoded", -32005),
        ("multipart/form-data; boundary=x", -32005),
        ("application/json; charset=utf-16", -32005),
        ("application/xml", -32005),
    ],
)
def test_content_types(cast: Cast, kind: str, code: int) -> None:
    response = raw(cast.alice, cast.bob, GET_TASK, **{"Content-Type": kind})
    assert (response.status_code, response.json()["error"]["code"], response.json()["id"]) == (200, code, 7)


def test_preflight(server: Service, cast: Cast) -> None:
    paths = (
        a2a_path(cast.bob),
        a2a_path(cast.bob) + "/",
        a2a_path(cast.bob) + "/.well-known/agent-card.json",
        "/a2a/nobody",
    )
    for path in paths:
        response = server.http.options(
            path,
            headers={
                "Origin": "https://app.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type,a2a-version,a2a-extensions",
            },
        )
        assert response.is_success
        allowed = {
            name.strip().lower() for name in response.headers["access-control-allow-headers"].split(",")
        }
        assert allowed >= {"authorization", "content-type", "a2a-version", "a2a-extensions"}
        assert "POST" in response.headers["access-control-allow-methods"]
        assert response.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in response.headers
        exposed = response.headers["access-control-expose-headers"].lower()
        assert "retry-after" in exposed
        assert "www-authenticate" in exposed


@pytest.mark.parametrize(
    "path",
    [
        "/a2a",
        "/a2a/",
        "/a2a/{bob}/tasks",
        "/a2a/{bob}/.well-known",
        "/a2a/{bob}/.well-known/other.json",
        "/a2a//x",
    ],
)
def test_every_other_address_is_a_json_404(server: Service, cast: Cast, path: str) -> None:
    for method in ("GET", "POST"):
        response = server.http.request(method, path.format(bob=cast.bob.number))
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "not_found"
        assert response.headers["access-control-allow-origin"] == "*"


def test_unknown_extensions_are_ignored(cast: Cast) -> None:
    alice, bob = cast.friends
    response = alice.a2a(
        bob, "SendMessage", send_params(), **{"A2A-Extensions": "urn:x, urn:y", "X-A2A-Extensions": "z"}
    )
    assert "task" in response.json()["result"]


def test_a_cookie_is_no_token(server: Service, cast: Cast) -> None:
    cookie = {"Cookie": f"sessionid={cast.alice.token}; token={cast.alice.token}", **VERSION}
    assert server.http.post(a2a_path(cast.bob), content=GET_TASK, headers=cookie).status_code == 401


@pytest.mark.parametrize("id", [1, 0, -7, 2**53, "a", "", "ä", None])
def test_the_id_comes_back_as_it_was(cast: Cast, id: Any) -> None:
    body = cast.alice.a2a(cast.bob, "ListTasks", id=id).json()
    assert body["id"] == id
    assert type(body["id"]) is type(id)


def test_a_call_without_an_id_is_done_and_answered(cast: Cast) -> None:
    alice, bob = cast.friends
    body = json.dumps({"jsonrpc": "2.0", "method": "SendMessage", "params": send_params("No id")})
    answer = raw(alice, bob, body).json()
    assert answer["id"] is None
    assert alice.rpc(bob, "GetTask", {"id": answer["result"]["task"]["id"]})


def _batch(person: Person) -> str:
    one = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send_params()}
    return json.dumps([one, one])


def test_a_batch_is_one_error_and_does_nothing(cast: Cast) -> None:
    alice, bob = cast.friends
    for body in (_batch(bob), "[]"):
        error(raw(alice, bob, body), 200, -32600, "INVALID_REQUEST")
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 0
