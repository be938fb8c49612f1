"""The one JSON reader: what JSON allows and this service does not is refused, never an exception of Python's."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import Code
from apps.core.strict_json import MAX_DEPTH, Invalid, check, dumps, loads, unstorable

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@given(VALUES)
@settings(max_examples=150, deadline=None)
def test_what_is_good_comes_back_as_it_was(value: Any) -> None:
    back = loads(dumps(value))
    assert back == value
    assert dumps(back) == dumps(value)  # 1 stays 1 and 1.0 stays 1.0
    assert loads(json.dumps(value).encode()) == value  # escapes or not


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        value = loads(body)
    except Invalid as error:
        refused = error
    else:
        assert json.loads(body) == value
        return
    assert (refused.code, refused.status) == (Code.INVALID_JSON, 400)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"{'a':1}",
        b'{"a":1}}',
        b'{"a":1} {"a":1}',
        b"[01]",
        b"[+1]",
        b"[.5]",
        b"[1.]",
        b"[0x10]",
        b"nul",
        b'["\x00"]',
        b'["\n"]',
        b'["\\x41"]',
        b'["\\u12"]',
        b"\xef\xbb\xbf{}",  # a byte order mark
        b"{}\x00",
        b"\xff",
        b'["\xed\xa0\x80"]',  # a surrogate spelt in UTF-8
        b'["\xc0\xaf"]',
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        '{"a":1}'.encode("utf-32"),
        '{"a":"é"}'.encode("latin-1"),
    ],
)
def test_what_is_not_json(body: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        loads(body)
    assert caught.value.syntax


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'[{"x":{"b":1,"b":2}}]',
        b"[NaN]",
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e400]",
        b"[-1e400]",
        b'{"seq":1e309}',
        b"[18446744073709551616]",
        b"[-9223372036854775809]",
        b"9" * 5000,
        b"-" + b"9" * 5000,
        b'["\\u0000"]',
        b'{"\\u0000":1}',
        b'["\\ud800"]',
        b'{"\\udfff":1}',
        b'["\\udc00\\ud800"]',
        b'["a\\ud800\\u0041"]',
        nested(MAX_DEPTH + 1),
        b'{"a":' + nested(MAX_DEPTH) + b"}",
        b'{"a":' * 40 + b"1" + b"}" * 40,
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 30_000,
        b"[" * 1_000_000,
    ],
    ids=lambda body: f"{body[:30]!r}, {len(body)}",
)
def test_what_is_json_and_cannot_be_taken(body: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        loads(body)
    assert not caught.value.syntax


def test_the_edges_that_are_taken() -> None:
    loads(nested(MAX_DEPTH))
    assert loads(b"[18446744073709551615,-9223372036854775808]") == [2**64 - 1, -(2**63)]
    assert loads(b"[1e308,5e-324,1e-400,-0.0]") == [1e308, 5e-324, 0.0, 0.0]
    assert loads(b'["\\ud83d\\ude00\\ufffd\\u007f"]') == ["\U0001f600\ufffd\x7f"]
    assert loads(b' \t\r\n{"a":{"a":1},"b":[{"a":1},{"a":1}]}\n') == {
        "a": {"a": 1},
        "b": [{"a": 1}, {"a": 1}],
    }
    assert loads(b"0." + b"1" * 5000) == pytest.approx(1 / 9)


@given(st.integers(-(10**30), 10**30))
def test_whole_numbers_fit_64_bits_or_are_refused(number: int) -> None:
    try:
        assert loads(str(number).encode()) == number
    except Invalid:
        assert not -(2**63) <= number < 2**64


@given(st.floats())
def test_a_parsed_number_is_finite(number: float) -> None:
    try:
        assert math.isfinite(loads(repr(number).encode()))
    except Invalid:
        assert not math.isfinite(number)


def test_values_from_elsewhere_are_checked_alike() -> None:
    check({"a": ["b"]})
    for value in ({"a": "\x00"}, {"\ud800": 1}, [["\udfff"]], json.loads(nested(MAX_DEPTH + 1))):
        with pytest.raises(Invalid):
            check(value)


def test_texts_that_no_database_takes() -> None:
    assert [unstorable(text) for text in ("a\x00", "\ud800", "\udfff")] == [True] * 3
    assert [unstorable(text) for text in ("", "é\U0001f600\x01\ufffd")] == [False] * 2
