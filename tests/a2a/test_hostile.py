"""What nobody honest sends: each is answered by the right error, and none by a fault of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.a2a.wire import raw
from tests.harness.cast import Cast, Person
from tests.harness.service import Service

DEEP = 10_000
LONG = "9" * 400


def call(params: str, method: str = "SendMessage", id: str = "1", version: str = '"2.0"') -> str:
    return f'{{"jsonrpc":{version},"id":{id},"method":"{method}","params":{params}}}'


def message(**fields: str) -> str:
    """The params of SendMessage, each field as JSON text."""
    whole = {"messageId": '"m"', "role": '"ROLE_USER"', "parts": '[{"text":"Hi"}]', **fields}
    inner = ",".join(f'"{name}":{value}' for name, value in whole.items())
    return f'{{"message":{{{inner}}},"configuration":{{"returnImmediately":true}}}}'


# body, the code it gets, the id it gets it by
BODIES: dict[str, tuple[str | bytes, int, Any]] = {
    "broken": ("{bad", -32700, None),
    "empty": ("", -32700, None),
    "white": ("  \n ", -32700, None),
    "half": (call(message())[:-3], -32700, None),
    "two": (call(message()) * 2, -32700, None),
    "comment": ("/* */" + call(message()), -32700, None),
    "single quotes": ("{'jsonrpc':'2.0'}", -32700, None),
    "utf-16": (call(message()).encode("utf-16"), -32700, None),
    "utf-32": (call(message()).encode("utf-32"), -32700, None),
    "bom": (b"\xef\xbb\xbf" + call(message()).encode(), -32700, None),
    "latin-1": (call(message(messageId='"é"')).encode("latin-1"), -32700, None),
    "overlong": (b'{"a":"\xc0\x80"}', -32700, None),
    "raw NUL": (call(message(messageId='"a\0b"')), -32700, None),
    "binary": (bytes(range(256)), -32700, None),
    "gzip": (b"\x1f\x8b\x08\x00\x00", -32700, None),
    "trailing comma": ('{"jsonrpc":"2.0",}', -32700, None),
    "number": ("1", -32600, None),
    "text": ('"x"', -32600, None),
    "null": ("null", -32600, None),
    "true": ("true", -32600, None),
    "empty list": ("[]", -32600, None),
    "batch": (f"[{call(message())},{call(message())}]", -32600, None),
    "empty object": ("{}", -32600, None),
    "no jsonrpc": ('{"id":1,"method":"GetTask","params":{"id":"x"}}', -32600, 1),
    "jsonrpc 1.0": (call(message(), version='"1.0"'), -32600, 1),
    "jsonrpc a number": (call(message(), version="2.0"), -32600, 1),
    "no method": ('{"jsonrpc":"2.0","id":1}', -32600, 1),
    "method a list": ('{"jsonrpc":"2.0","id":1,"method":["GetTask"]}', -32600, 1),
    "method null": ('{"jsonrpc":"2.0","id":1,"method":null}', -32600, 1),
    "method of a mebibyte": (call("{}", method="x" * 1_000_000), -32601, 1),
    "method private": (call("{}", method="__init__"), -32601, 1),
    "method NUL": (call("{}", method="Get\\u0000Task"), -32601, 1),
    "id object": (call(message(), id="{}"), -32600, None),
    "id list": (call(message(), id="[1]"), -32600, None),
    "id float": (call(message(), id="1.5"), -32600, None),
    "id whole float": (call(message(), id="1.0"), -32600, None),
    "id true": (call(message(), id="true"), -32600, None),
    "id too long": (call(message(), id=LONG), -32600, None),
    "id NaN": (call(message(), id="NaN"), -32600, None),
    "id surrogate": (call(message(), id='"\\ud800"'), -32600, None),
    "id of a mebibyte": (call(message(), id=f'"{"x" * 1_000_000}"'), -32600, None),
    "params text": (call('"x"'), -32600, 1),
    "params list": (call("[1]"), -32600, 1),
    "params number": (call("5"), -32600, 1),
    "params false": (call("false"), -32600, 1),
    "params null": (call("null"), -32602, 1),
    "params empty": (call("{}"), -32602, 1),
    "message null": (call('{"message":null}'), -32602, 1),
    "message list": (call('{"message":[]}'), -32602, 1),
    "message empty": (call('{"message":{}}'), -32602, 1),
    "NUL in text": (call(message(parts='[{"text":"a\\u0000b"}]')), -32602, 1),
    "NUL in a key": (call(message(metadata='{"\\u0000":1}')), -32602, 1),
    "NUL in messageId": (call(message(messageId='"\\u0000"')), -32602, 1),
    "NUL in contextId": (call(message(contextId='"\\u0000"')), -32602, 1),
    "surrogate in text": (call(message(parts='[{"text":"\\ud83d"}]')), -32602, 1),
    "surrogate in data": (call(message(parts='[{"data":["\\udfff"]}]')), -32602, 1),
    "surrogate in a key": (call(message(metadata='{"\\ud800":1}')), -32602, 1),
    "surrogates reversed": (call(message(parts='[{"text":"\\ude00\\ud83d"}]')), -32602, 1),
    "deep lists": (call(message(metadata=f'{{"a":{"[" * DEEP}{"]" * DEEP}}}')), -32602, None),
    "deep objects": (call('{"a":' * 40 + "1" + "}" * 40), -32602, 1),
    "deep body": ("[" * DEEP + "]" * DEEP, -32602, None),
    "deep and open": ("[" * 100_000, -32602, None),
    "huge float": (call(message(metadata='{"a":1e400}')), -32602, 1),
    "huge integer": (call(message(metadata=f'{{"a":{LONG}}}')), -32602, 1),
    "NaN": (call(message(metadata='{"a":NaN}')), -32602, 1),
    "Infinity": (call(message(parts='[{"data":-Infinity}]')), -32602, 1),
    "duplicate key": (call(message(metadata='{"a":1,"a":2}')), -32602, 1),
    "duplicate method": (
        '{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"ListTasks","params":{}}',
        -32602,
        1,
    ),
    "role user": (call(message(role='"user"')), -32602, 1),
    "role agent": (call(message(role='"ROLE_AGENT"')), -32602, 1),
    "role 7": (call(message(role="7")), -32602, 1),
    "role object": (call(message(role="{}")), -32602, 1),
    "parts text": (call(message(parts='"Hi"')), -32602, 1),
    "parts of null": (call(message(parts="[null]")), -32602, 1),
    "parts of lists": (call(message(parts="[[]]")), -32602, 1),
    "part empty": (call(message(parts="[{}]")), -32602, 1),
    "part of two kinds": (call(message(parts='[{"text":"a","data":1}]')), -32602, 1),
    "part of v0.3": (call(message(parts='[{"kind":"file","file":{"uri":"x"}}]')), -32602, 1),
    "a hundred thousand parts": (call(message(parts=f"[{'{},' * 100_000}{{}}]")), -32602, 1),
    "text of 900 KiB": (call(message(parts=f'[{{"text":"{"x" * 900_000}"}}]')), -32602, 1),
    "messageId of 900 KiB": (call(message(messageId=f'"{"x" * 900_000}"')), -32602, 1),
    "contextId of 900 KiB": (call(message(contextId=f'"{"x" * 900_000}"')), -32602, 1),
    "taskId of 900 KiB": (call(message(taskId=f'"{"x" * 900_000}"')), -32001, 1),
    "raw of 900 KiB": (call(message(parts=f'[{{"raw":"{"A" * 900_000}"}}]')), -32602, 1),
    "bad base64": (call(message(parts='[{"raw":"a=b="}]')), -32602, 1),
    "url of 900 KiB": (call(message(parts=f'[{{"url":"{"x" * 900_000}"}}]')), -32602, 1),
    "metadata text": (call(message(metadata='"x"')), -32602, 1),
    "references of numbers": (call(message(referenceTaskIds="[1]")), -32602, 1),
    "id of a task a number": (call('{"id":5}', "GetTask"), -32602, 1),
    "id of a task an object": (call('{"id":{}}', "GetTask"), -32602, 1),
    "id of a task missing": (call("{}", "CancelTask"), -32602, 1),
    "id of a task with quotes": (call('{"id":"\' OR 1=1 --"}', "GetTask"), -32001, 1),
    "id of a task in capitals": (call(f'{{"id":"THR_{"0" * 32}"}}', "GetTask"), -32001, 1),
    "id of a task with odd digits": (call(f'{{"id":"thr_{"٠" * 32}"}}', "GetTask"), -32001, 1),
    "historyLength -1": (call('{"id":"x","historyLength":-1}', "GetTask"), -32602, 1),
    "historyLength huge": (call('{"id":"x","historyLength":99999999999}', "GetTask"), -32602, 1),
    "pageSize 0": (call('{"pageSize":0}', "ListTasks"), -32602, 1),
    "pageSize negative": (call('{"pageSize":-5}', "ListTasks"), -32602, 1),
    "pageSize huge": (call('{"pageSize":9223372036854775807}', "ListTasks"), -32602, 1),
    "pageSize a fraction": (call('{"pageSize":1.5}', "ListTasks"), -32602, 1),
    "pageToken made up": (call('{"pageToken":"aGVsbG8"}', "ListTasks"), -32602, 1),
    "pageToken a number": (call('{"pageToken":1}', "ListTasks"), -32602, 1),
    "status lower case": (call('{"status":"working"}', "ListTasks"), -32602, 1),
    "status unknown": (call('{"status":"TASK_STATE_RUNNING"}', "ListTasks"), -32602, 1),
    "time without offset": (call('{"statusTimestampAfter":"2026-01-31T12:00:00"}', "ListTasks"), -32602, 1),
    "time that never was": (call('{"statusTimestampAfter":"2026-02-30T12:00:00Z"}', "ListTasks"), -32602, 1),
    "time before time": (call('{"statusTimestampAfter":"0000-01-01T00:00:00Z"}', "ListTasks"), -32602, 1),
    "time past time": (call('{"statusTimestampAfter":"9999-12-31T23:59:59-23:59"}', "ListTasks"), -32602, 1),
    "time a number": (call('{"statusTimestampAfter":1e300}', "ListTasks"), -32602, 1),
}


@pytest.fixture(scope="module")
def pair(server: Service) -> Iterator[tuple[Person, Person]]:
    """Two friends for all that is refused, who so stay without a task."""
    cast = Cast(server)
    yield cast.friends
    cast.close()


@pytest.mark.parametrize("name", BODIES)
def test_is_answered_by_the_right_error(pair: tuple[Person, Person], name: str) -> None:
    alice, bob = pair
    body, code, id = BODIES[name]
    response = raw(alice, bob, body)
    assert response.status_code == 200
    answer = response.json()
    assert answer["error"]["code"] == code, answer
    assert answer["id"] == id
    assert len(response.content) < 10_000, "nothing long is sent back"
    assert alice.rpc(bob, "ListTasks")["totalSize"] == 0


@pytest.mark.parametrize(
    "name",
    [name for name, (body, code, _) in BODIES.items() if code == -32602 and '"SendMessage"' in str(body)],
)
def test_the_same_by_a_stream(pair: tuple[Person, Person], name: str) -> None:
    alice, bob = pair
    text = str(BODIES[name][0])
    response = raw(alice, bob, text.replace('"SendMessage"', '"SendStreamingMessage"'))
    assert response.headers["content-type"] == "application/json"
    assert response.json()["error"]["code"] == -32602


@pytest.mark.parametrize(
    "text",
    [
        "😀",
        "e\u0301",
        "\u202eabc",
        "ا\u200fب",
        "\ufeff",
        "\U0010ffff",
        "\u2028",
        "'; DROP TABLE x; --",
        "%s %(a)s {}",
        "\\u0000",
        "\x7f\x01",
    ],
)
def test_odd_text_is_kept_as_it_is(cast: Cast, text: str) -> None:
    alice, bob = cast.friends
    sent = {
        "messageId": text,
        "contextId": text,
        "metadata": {text: text},
        "parts": [{"text": text}, {"data": {text: [text]}}],
    }
    task = alice.send(bob, **sent)
    (said,) = alice.rpc(bob, "GetTask", {"id": task["id"]})["history"]
    assert {name: said[name] for name in sent} == sent
    assert alice.rpc(bob, "ListTasks", {"contextId": text})["totalSize"] == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"A2A-Version": "1.0", "A2A-Extensions": "x" * 10_000},
        {"A2A-Version": "\xff"},
        {"Accept": "text/html"},
        {"Accept": "\xff"},
        {"Content-Type": "application/json; charset=\xff"},
        {"Content-Type": "a/b;" * 1000},
        {"Content-Encoding": "gzip"},
        {"Expect": "x"},
        {"If-None-Match": "*"},
        {"Range": "bytes=0-1"},
        {"X-Forwarded-For": "x, , \xff"},
    ],
    ids=lambda headers: json.dumps(headers)[:40],
)
def test_odd_headers_are_no_fault(cast: Cast, headers: dict[str, str]) -> None:
    encoded: Any = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    alice, bob = cast.friends
    whole = {b"A2A-Version": b"1.0", b"Content-Type": b"application/json", **encoded}
    response = alice.http.post(f"/a2a/{bob.number}", content=call("{}", "ListTasks"), headers=whole)
    assert response.status_code in (200, 400, 415, 417)
    if response.status_code == 200:
        body = response.json()
        assert "result" in body or body["error"]["code"] in (-32005, -32009)
