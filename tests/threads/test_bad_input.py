"""What no client should send to `/v1/threads`: always a 4xx that tells what is wrong, never a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.cast import Cast, Person

DEEP = 10_000
JSON = {"Content-Type": "application/json"}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# Wrong in any body that holds a message: the fields, and the field that is named.
MESSAGE: list[tuple[dict[str, Any], str]] = [
    ({}, "text"),
    ({"text": ""}, "text"),
    ({"text": None}, "text"),
    ({"text": 1}, "text"),
    ({"text": True}, "text"),
    ({"text": ["x"]}, "text"),
    ({"text": {"text": "x"}}, "text"),
    ({"text": "x" * (32 * 1024 + 1)}, "text"),
    ({"text": "é" * (16 * 1024 + 1)}, "text"),
    ({"text": "x", "parts": [{"text": "x"}]}, "text"),
    ({"parts": None}, "parts"),
    ({"parts": []}, "parts"),
    ({"parts": {}}, "parts"),
    ({"parts": "text"}, "parts"),
    ({"parts": [None]}, "parts"),
    ({"parts": ["x"]}, "parts"),
    ({"parts": [[]]}, "parts"),
    ({"parts": [{}]}, "parts"),
    ({"parts": [{"text": "x", "data": 1}]}, "parts"),
    ({"parts": [{"text": 1}]}, "parts"),
    ({"parts": [{"text": "x", "size": 1}]}, "parts"),
    ({"parts": [{"raw": "not base64!"}]}, "parts"),
    ({"parts": [{"raw": "YQ"}]}, "parts"),
    ({"parts": [{"raw": "é"}]}, "parts"),
    ({"parts": [{"url": ""}]}, "parts"),
    ({"parts": [{"url": "x" * 2049}]}, "parts"),
    ({"parts": [{"text": "x", "media_type": 1}]}, "parts"),
    ({"parts": [{"text": "x", "filename": "x" * 256}]}, "parts"),
    ({"parts": [{"text": "x", "metadata": []}]}, "parts"),
    ({"parts": [{"text": "x"}] * 65}, "parts"),
    ({"parts": [{"data": "x" * 130_000}, {"data": "x" * 2_000}]}, "parts"),
    ({"text": "x", "metadata": []}, "metadata"),
    ({"text": "x", "metadata": "x"}, "metadata"),
    ({"text": "x", "metadata": {"a": "x" * 131_072}}, "metadata"),
    ({"text": "x", "client_id": ""}, "client_id"),
    ({"text": "x", "client_id": 7}, "client_id"),
    ({"text": "x", "client_id": "x" * 129}, "client_id"),
    ({"text": "x", "from": "me"}, "from"),
    ({"text": "x", "taskId": "t"}, "taskId"),
]
ASK: list[tuple[dict[str, Any], str]] = [
    ({"text": "x", "to": None}, "to"),
    ({"text": "x", "to": 1234567897}, "to"),
    ({"text": "x", "to": ["1234567897"]}, "to"),
    ({"text": "x", "to": ""}, "to"),
    ({"text": "x", "to": "x" * 41}, "to"),
    ({"text": "x", "context": ""}, "context"),
    ({"text": "x", "context": 1}, "context"),
    ({"text": "x", "context": "x" * 129}, "context"),
    ({"text": "x", "parent": ""}, "parent"),
    ({"text": "x", "parent": 1}, "parent"),
    ({"text": "x", "parent": "thr_"}, "parent"),
    ({"text": "x", "parent": "msg_" + "0" * 32}, "parent"),
    ({"text": "x", "parent": "thr_" + "0" * 32}, "parent"),
    ({"text": "x", "parent": "thr_" + "٠" * 32}, "parent"),
    ({"text": "x", "state": "answered"}, "state"),
]
NO_STATES: list[Any] = ["", None, 1, [], {}, "open", "canceled", "expired", "ANSWERED", "answered "]
NO_ATTEMPTS: list[Any] = [0, -1, 1.5, "1", True, None, [], "١"]
NO_MESSAGES: list[Any] = ["", 1, None, "msg_", "thr_" + "0" * 32, "msg_" + "0" * 32]
NO_FLAGS: list[Any] = ["true", 1, 0, None, []]
SAY: list[tuple[dict[str, Any], str]] = [
    *(({"text": "x", "state": state}, "state") for state in NO_STATES),
    *(({"text": "x", "attempt": attempt}, "attempt") for attempt in NO_ATTEMPTS),
    *(({"text": "x", "of": of}, "of") for of in NO_MESSAGES),
    *(({"text": "x", "last": last}, "last") for last in NO_FLAGS),
    ({"text": "x", "to": "1234567897"}, "to"),
]
NO_NAMES: list[Any] = ["", None, 1, [], {}, "x" * 121]
NO_SECONDS: list[Any] = [0, -1, 3601, 1.5, "60", True, None, [], 2**63]
WORK: list[tuple[Any, str | None]] = [
    *(({"worker": worker}, "worker") for worker in NO_NAMES),
    *(({"worker": "w", "seconds": seconds}, "seconds") for seconds in NO_SECONDS),
    *(({"worker": "w", "attempt": attempt}, "attempt") for attempt in (0, -1, "1", True, None, 1.5)),
    ({"state": "working"}, "state"),
    ([], None),
    ("w", None),
    (7, None),
]
# Whatever the call: not JSON, or JSON that nothing here takes.
BYTES = [
    b"",
    b"{",
    b"nonsense",
    b"{'text': 'x'}",
    b'{"text":"x"} {}',
    b'{"text":"x",}',
    b"\xef\xbb\xbf{}",
    '{"text":"x"}'.encode("utf-16"),
    '{"text":"x"}'.encode("utf-32"),
    b'{"text":"\xff"}',
    b'{"text":"x","text":"y"}',
    b'{"text":"\\u0000"}',
    b'{"text":"a\x00b"}',
    b'{"text":"\\ud800"}',
    b'{"text":"x","metadata":{"\\udfff":1}}',
    b'{"text":"x","metadata":{"a":"\\u0000"}}',
    b'{"text":"x","metadata":' + b"[" * DEEP + b"]" * DEEP + b"}",
    b'{"text":"x","metadata":' + b'{"a":' * 40 + b"1" + b"}" * 40 + b"}",
    json.dumps({"parts": [{"data": nested(40)}]}).encode(),
    b"[" * 20_000,
    b'{"text":' + b"9" * 5_000 + b"}",
    b'{"parts":[{"data":1e400}]}',
    b'{"parts":[{"data":' + b"1" * 400 + b"}]}",
    b'{"parts":[{"data":18446744073709551616}]}',
    b'{"parts":[{"data":NaN}]}',
    b'{"parts":[{"data":-Infinity}]}',
    b"null",
    b"[]",
    b'"text"',
    b'[{"text":"x"}]',
    json.dumps({"text": "x" * (1 << 20)}).encode(),
]


class Stage:
    """Two friends, and a live thread between them."""

    def __init__(self, cast: Cast) -> None:
        self.alice, self.bob = cast.friends
        self.thread = self.alice.ask(self.bob)["id"]

    def path(self, call: str) -> str:
        return f"/v1/threads/{self.thread}/{call}"


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    stage = Stage(cast)
    before = stage.alice.thread(stage.thread)
    yield stage
    after = stage.alice.thread(stage.thread)
    assert after == before, "a refused call changes nothing"


def check(person: Person, path: str, body: Any, field: str | None) -> None:
    answer = person.post(path, json=body)
    assert answer.status_code == 400, f"{str(body)[:200]}: {answer.status_code} {answer.text}"
    error = answer.json()["error"]
    assert error["code"] == "invalid", str(body)[:200]
    assert (error["field"] or "").split("[")[0].split(".")[0] == (field or ""), f"{str(body)[:200]} {error}"


def test_questions(stage: Stage) -> None:
    for body, field in MESSAGE:
        check(stage.alice, "/v1/threads", {"to": stage.bob.number, **body}, field)
    for body, field in ASK:
        check(stage.alice, "/v1/threads", {"to": stage.bob.number, **body}, field)
    check(stage.alice, "/v1/threads", {"text": "x"}, "to")


def test_replies(stage: Stage) -> None:
    for body, field in MESSAGE + SAY:
        check(stage.bob, stage.path("messages"), body, field)


def test_working(stage: Stage) -> None:
    for body, field in WORK:
        check(stage.bob, stage.path("working"), body, field)


@pytest.mark.parametrize("call", ["", "messages", "working"])
def test_bytes(stage: Stage, call: str) -> None:
    path = stage.path(call) if call else "/v1/threads"
    for body in BYTES:
        if call == "working" and body == b"":
            continue  # an empty body is an empty object to a call that needs no field
        answer = stage.bob.post(path, content=body, headers=JSON)
        shown = f"{body[:60]!r}: {answer.status_code} {answer.text[:200]}"
        assert answer.status_code in (400, 413), shown
        assert answer.json()["error"]["code"] in ("invalid", "invalid_json", "too_large"), shown


@pytest.mark.parametrize("call", ["", "messages", "working"])
def test_content_types(stage: Stage, call: str) -> None:
    path = stage.path(call) if call else "/v1/threads"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "x"):
        answer = stage.bob.post(path, content=b'{"text":"x"}', headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type"), kind
    answer = stage.bob.post(
        path,
        content='{"text":"x"}'.encode("utf-16"),
        headers={"Content-Type": "application/json; charset=utf-16"},
    )
    assert answer.status_code == 400


def test_too_large(stage: Stage) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * (1 << 16)

    for path in ("/v1/threads", stage.path("messages"), stage.path("working")):
        for content in (b" " * ((1 << 20) + 1), endless()):
            answer = stage.bob.post(path, content=content, headers=JSON)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


IDS = [
    "thr_",
    "thr_0",
    "thr_" + "0" * 33,
    "thr_" + "G" * 32,
    "msg_" + "0" * 32,
    "%00",
    "%ff",
    "é",
    "thr_%0a",
    "x" * 3000,
]


@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:20])
def test_ids_in_paths(stage: Stage, id: str) -> None:
    for method, tail in (("GET", ""), ("POST", "/messages"), ("POST", "/working"), ("POST", "/cancel")):
        body = {"text": "x"} if tail == "/messages" else {} if method == "POST" else None
        answer = stage.alice.http.request(method, f"/v1/threads/{id}{tail}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


LIST_QUERIES = [
    "role=owner",
    "role=",
    "state=done",
    "state=",
    "context=",
    "context=" + "x" * 129,
    "claimable=maybe",
    "limit=0",
    "limit=101",
    "limit=-1",
    "limit=1.5",
    "limit=1_0",
    "limit=%20%201",
    "limit=" + "9" * 5000,
    "limit=%D9%A1",
    "limit=%C2%B2",
    "limit=",
    "cursor=x",
    "cursor=",
    "cursor=" + "x" * 501,
    "cursor=%00",
    "cursor=eyJwIjoiXHUwMDAwIn0",
    "context=%00",
    "context=%ff",
    "state=%00",
    "unknown=1",
    "after=1",
    "a%00=1",
]
THREAD_QUERIES = [
    "wait=26",
    "wait=-1",
    "wait=1.5",
    "wait=",
    "wait=%D9%A1",
    "wait=%C2%B2",
    "wait=+1",
    "wait=%201",
    "wait=1e1",
    "wait=0x1",
    "wait=" + "9" * 5000,
    "after=-1",
    "after=x",
    "after=",
    "after=99999999999999999999",
    "after=9223372036854775808",
    "after=%D9%A1",
    "after=%00",
    "after=%ff",
    "limit=5",
    "unknown=1",
    "&".join(f"a{place}=1" for place in range(60)),
]


@pytest.mark.parametrize("query", LIST_QUERIES, ids=lambda query: query[:30])
def test_list_queries(cast: Cast, query: str) -> None:
    answer = cast.alice.get(f"/v1/threads?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid"), answer.text


def test_thread_queries(stage: Stage) -> None:
    for query in THREAD_QUERIES:
        answer = stage.alice.get(f"/v1/threads/{stage.thread}?{query}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid"), query[:60]


def test_a_thousand_and_one_query_fields(stage: Stage) -> None:
    query = "&".join(f"a{place}=1" for place in range(1001))
    for path in ("/v1/threads", f"/v1/threads/{stage.thread}"):
        assert stage.alice.get(f"{path}?{query}").status_code == 400


@pytest.mark.parametrize("key", [b"", b"x" * 129])
def test_idempotency_headers(stage: Stage, key: bytes) -> None:
    answer = stage.alice.post(
        "/v1/threads",
        json={"to": stage.bob.number, "text": "x"},
        headers=[(b"Idempotency-Key", key)],
    )
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "Idempotency-Key")


def test_odd_but_right(cast: Cast) -> None:
    """What looks hostile and is not comes back as it was sent."""
    alice, bob = cast.friends
    parts = [
        {"text": "a\u2028b\u202e\U0001f600"},
        {"data": {"": [1, 1.0, -0.0, 18446744073709551615, -9223372036854775808, 1e308, None, True, "é"]}},
        {"data": None},
        {"raw": "", "filename": '"\r\n'},
        {"url": "javascript:alert(1)", "metadata": {}},
    ]
    sent = json.dumps({"to": bob.number, "parts": parts, "metadata": {"a": nested(25)}}).encode()
    answer = alice.post(
        "/v1/threads", content=sent, headers={"Content-Type": "application/json;charset=utf-8"}
    )
    assert answer.status_code == 201, answer.text
    message = bob.thread(answer.json()["thread"]["id"])["messages"][0]
    assert json.dumps(message["parts"]) == json.dumps(parts)
    assert message["metadata"] == {"a": nested(25)}
