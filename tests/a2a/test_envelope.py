"""Which bodies are a request, what they call themselves, and which version they speak."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.a2a import envelope
from apps.a2a.errors import Fault
from apps.core.errors import invalid


def fault(body: bytes, content_type: str | None = "application/json") -> Fault:
    with pytest.raises(Fault) as caught:
        envelope.read(body, content_type)
    return caught.value


def request(**fields: Any) -> bytes:
    whole = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}, **fields}
    return json.dumps({key: value for key, value in whole.items() if value is not ...}).encode()


@pytest.mark.parametrize("id", [1, 0, -5, 2**63, "a", "", "é", None, ...])
def test_takes_every_id_there_is(id: Any) -> None:
    read = envelope.read(request(id=id), "application/json")
    assert read.id == (None if id is ... else id)
    assert type(read.id) is type(None if id is ... else id)
    assert (read.method, read.params, read.late) == ("GetTask", {"id": "x"}, None)


@pytest.mark.parametrize("id", [1.0, 1.5, True, False, {}, [], [1], {"a": 1}, "x" * 2000])
def test_refuses_every_other_id(id: Any) -> None:
    found = fault(request(id=id))
    assert (found.code, found.id) == (-32600, None)


@pytest.mark.parametrize(
    "body", [b"{bad", b"", b" ", b"\xff\xfe{\0}\0", b"nul", b'{"a":1,}', b"\xef\xbb\xbf{}", b"'a'"]
)
def test_what_is_not_json(body: bytes) -> None:
    assert fault(body).code == -32700


@pytest.mark.parametrize("body", [b"[]", b"[1]", b"1", b'"x"', b"null", b"true", b"[" + request() + b"]"])
def test_json_that_is_no_request(body: bytes) -> None:
    assert (fault(body).code, fault(body).id) == (-32600, None)


@pytest.mark.parametrize(
    "fields",
    [
        {"jsonrpc": ...},
        {"jsonrpc": "1.0"},
        {"jsonrpc": 2.0},
        {"jsonrpc": None},
        {"method": ...},
        {"method": 5},
        {"method": None},
        {"method": ["GetTask"]},
        {"params": "x"},
        {"params": [1]},
        {"params": []},
        {"params": 5},
        {"params": False},
    ],
)
def test_a_request_that_is_wrong_is_answered_by_its_id(fields: dict[str, Any]) -> None:
    found = fault(request(**fields))
    assert (found.code, found.id) == (-32600, 1)


@pytest.mark.parametrize("params", [..., None, {}])
def test_params_may_be_left_out(params: Any) -> None:
    assert envelope.read(request(params=params), "application/json").params == {}


@pytest.mark.parametrize(
    "text",
    [
        '"\\u0000"',
        '"\\ud83d"',
        '{"\\ud800":1}',
        "1e400",
        "9" * 400,
        "-" + "9" * 30,
        "NaN",
        "Infinity",
        '{"a":1,"a":2}',
        "[" * 33 + "]" * 33,
    ],
)
def test_what_cannot_be_stored_is_refused_late_and_by_its_id(text: str) -> None:
    body = b'{"jsonrpc":"2.0","id":"q","method":"Nope","params":{"x":' + text.encode() + b"}}"
    read = envelope.read(body, None)
    assert (read.id, read.method) == ("q", "Nope")
    assert read.late is not None
    assert read.late.code == -32602


def test_what_cannot_be_stored_does_not_hide_a_broken_envelope() -> None:
    assert fault(b'{"jsonrpc":"1.0","id":"q","method":"\\u0000"}').code == -32600
    assert fault(b'["\\u0000"]').code == -32600


@pytest.mark.parametrize("id", ['"\\u0000"', '"\\ud800"', "9" * 21, "1e400", "NaN", "-9223372036854775809"])
def test_an_id_that_cannot_be_sent_back_is_none(id: str) -> None:
    found = fault(b'{"jsonrpc":"2.0","method":"GetTask","id":' + id.encode() + b"}")
    assert (found.code, found.id) == (-32600, None)


@pytest.mark.parametrize("depth", [2_000, 10_000, 200_000])
def test_depth_without_end(depth: int) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":' + b"[" * depth + b"]" * depth + b"}"
    found = fault(body)
    assert found.code in (-32602, -32600)


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_no_body_is_a_crash(body: bytes) -> None:
    try:
        envelope.read(body, None)
    except Fault as found:
        json.dumps(found.body(found.id), allow_nan=False).encode()
    envelope.peek(body)


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        (None, True),
        ("application/json", True),
        ("Application/JSON; charset=UTF-8", True),
        ('application/json;charset="utf-8"', True),
        ("application/a2a+json", True),
        ("application/json; charset=utf-16", False),
        ("application/json; charset=latin-1", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("", False),
        (";", False),
        ("\xff", False),
    ],
)
def test_content_types(kind: str | None, good: bool) -> None:
    if good:
        assert envelope.read(request(), kind).id == 1
    else:
        found = fault(request(), kind)
        assert (found.code, found.reason, found.id) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED", 1)


def test_peeks_at_small_bodies_only() -> None:
    assert envelope.peek(request(id="q")) == "q"
    assert envelope.peek(request(id="q", params={"x": "y" * 20_000})) is None
    assert envelope.peek(request(id=1.5)) is None
    assert envelope.peek(b"[1]") is None
    assert envelope.peek(b"{bad") is None


def version(header: str | None, **query: str) -> Fault | None:
    fields = {name.replace("_", "-"): value for name, value in query.items()}
    try:
        envelope.check_version(7, header, lambda: fields)
    except Fault as found:
        return found
    return None


@pytest.mark.parametrize("text", ["1.0", "1.0.0", "1.0.3", " 1.0 ", "1.0.x"])
def test_speaks_this_version(text: str) -> None:
    assert version(text) is None
    assert version(None, A2A_Version=text) is None
    assert version(None, a2a_version=text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0.3",
        "1.1",
        "1",
        "99.0",
        "10.0",
        "1.00",
        "v1.0",
        "1.0;",
        "1.0 1.0",
        "1.0.",
        "\xff",
        "x" * 5000,
        None,
    ],
)
def test_speaks_no_other_version(text: str | None) -> None:
    query = {} if text is None else {"A2A_Version": text}
    for found in (version(text), version(None, **query)):
        assert found is not None
        assert (found.code, found.reason, found.id) == (-32009, "VERSION_NOT_SUPPORTED", 7)
        assert "1.0" in found.message
        assert found.metadata["supported"] == "1.0"
        assert len(found.message) < 200


def test_the_header_stands_before_the_query() -> None:
    assert version("99.0", A2A_Version="1.0") is not None
    assert version("", A2A_Version="1.0") is not None, "an empty header means 0.3"
    assert version("1.0", A2A_Version="99.0") is None


def test_a_query_that_cannot_be_read_asks_for_no_version() -> None:
    def query() -> dict[str, str]:
        raise invalid(None, "no")

    with pytest.raises(Fault):
        envelope.check_version(None, None, query)
    envelope.check_version(None, "1.0", query)
