"""Bodies meant to break POST /v1/register and PATCH /v1/me: each gets the right 4xx, and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.harness.cast import Cast

NAMES = ("handle", "display_name", "description", "skills", "listed")
BIG = 1 << 20


def skill(**fields: Any) -> dict[str, Any]:
    return {"skills": [{"name": "A", **fields}]}


# A body that is JSON, and the field that is named.
WRONG: list[tuple[Any, str | None]] = [
    ([], None),
    ([{"listed": True}], None),
    ("text", None),
    (1, None),
    (True, None),
    (None, None),
    ({"handle": None}, "handle"),
    ({"handle": 1}, "handle"),
    ({"handle": True}, "handle"),
    ({"handle": ["abc"]}, "handle"),
    ({"handle": {"a": 1}}, "handle"),
    ({"handle": ""}, "handle"),
    ({"handle": "ab"}, "handle"),
    ({"handle": "x" * (BIG - 100)}, "handle"),
    ({"handle": "1234567897"}, "handle"),
    ({"handle": "аdmin"}, "handle"),
    ({"handle": "ａdmin"}, "handle"),
    ({"handle": "ad\u200emin"}, "handle"),
    ({"handle": "admin."}, "handle"),
    ({"handle": "<script>"}, "handle"),
    ({"handle": "../../etc"}, "handle"),
    ({"handle": "a b"}, "handle"),
    ({"display_name": 5}, "display_name"),
    ({"display_name": None}, "display_name"),
    ({"display_name": ["a"]}, "display_name"),
    ({"display_name": "x" * 121}, "display_name"),
    ({"display_name": "x" * (BIG - 100)}, "display_name"),
    ({"display_name": "a\r\nX-Injected: b"}, "display_name"),
    ({"display_name": "evil\u202egnp.exe"}, "display_name"),
    ({"display_name": "a\u200bb"}, "display_name"),
    ({"display_name": "\x1b[31mred"}, "display_name"),
    ({"description": "x" * 2049}, "description"),
    ({"description": "bell\x07"}, "description"),
    ({"description": {"text": "a"}}, "description"),
    ({"listed": "true"}, "listed"),
    ({"listed": 1}, "listed"),
    ({"listed": None}, "listed"),
    ({"skills": "steam"}, "skills"),
    ({"skills": {"name": "steam"}}, "skills"),
    ({"skills": None}, "skills"),
    ({"skills": ["steam"]}, "skills[0]"),
    ({"skills": [None]}, "skills[0]"),
    ({"skills": [[]]}, "skills[0]"),
    ({"skills": [{}]}, "skills[0].name"),
    ({"skills": [{"name": "A"}, {"name": ""}]}, "skills[1].name"),
    ({"skills": [{"name": "A"}] * 33}, "skills"),
    ({"skills": [{"name": "A", "slug": "a"}] * 2}, "skills[1].slug"),
    (skill(slug="A b"), "skills[0].slug"),
    (skill(slug=5), "skills[0].slug"),
    (skill(slug="x" * 65), "skills[0].slug"),
    (skill(slug="a\n"), "skills[0].slug"),
    (skill(tags="a"), "skills[0].tags"),
    (skill(tags=["a"] * 17), "skills[0].tags"),
    (skill(tags=["a", {}]), "skills[0].tags[1]"),
    (skill(tags=["a\nb"]), "skills[0].tags[0]"),
    (skill(level=1), "skills[0].level"),
    ({"number": "1234567897"}, "number"),
    ({"account": "acc_1"}, "account"),
    ({"is_staff": True}, "is_staff"),
    ({"deleted_at": None}, "deleted_at"),
    ({"": 1}, ""),
    ({"x" * 5000: 1}, "x" * 100),
    ({"__proto__": {}}, "__proto__"),
]
# Only one of the two has these fields.
WRONG_HERE: dict[str, list[tuple[Any, str | None]]] = {
    "register": [
        ({"kind": None}, "kind"),
        ({"kind": "robot"}, "kind"),
        ({"kind": "Agent"}, "kind"),
        ({"kind": ["agent"]}, "kind"),
        ({"kind": 1}, "kind"),
        ({"public_key": "short"}, "public_key"),
        ({"public_key": None}, "public_key"),
        ({"public_key": "A" * 43}, "public_key"),
        ({"policy": "ask"}, "policy"),
    ],
    "me": [
        ({"kind": "human"}, "kind"),
        ({"policy": "none"}, "policy"),
        ({"policy": None}, "policy"),
        ({"receive": "all"}, "receive"),
        ({"accept": ["any"]}, "accept"),
        ({"policy": "ask", "accept": "any"}, "policy"),
        ({"public_key": "A" * 43}, "public_key"),
    ],
}
# Bytes that are no JSON, or JSON that nobody can store: no field is at fault.
BROKEN: list[bytes] = [
    b"",
    b" ",
    b"{",
    b"{'kind':'agent'}",
    b'{"listed":tru}',
    b'{"listed":true}garbage',
    b'{"listed":true}{"listed":true}',
    b"\xff\xfe{\x00}\x00",
    '{"display_name":"a"}'.encode("utf-16"),
    '{"display_name":"é"}'.encode("latin-1"),
    b"\xef\xbb\xbf{}",
    b'{"display_name":"\xed\xa0\x80"}',
    b'{"display_name":"\x00"}',
    b'{"display_name":"\\u0000"}',
    b'{"display_name":"\\ud800"}',
    b'{"\\udfff":1}',
    b'{"listed":true,"listed":false}',
    b'{"listed":true,"\\u006cisted":false}',
    b'{"skills":[{"name":"a","name":"b"}]}',
    b'{"listed":NaN}',
    b'{"listed":Infinity}',
    b'{"listed":1e400}',
    b'{"listed":' + b"9" * 400 + b"}",
    b'{"listed":18446744073709551616}',
    b"[" * 20_000,
    b'{"skills":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    b'{"a":' * 33 + b"1" + b"}" * 33,
    b"listed=true",
    b"<listed>true</listed>",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
]


def send(cast: Cast, call: str, content: bytes) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    if call == "me":
        return cast.mallory.patch("/v1/me", content=content, headers=headers)
    return cast.service.http.post("/v1/register", content=content, headers=headers)


@pytest.mark.parametrize("call", ["register", "me"])
def test_wrong_fields_are_named(cast: Cast, call: str) -> None:
    before = cast.mallory.call("GET", "/v1/me")
    base = {"kind": "agent"} if call == "register" else {}
    for body, field in WRONG + WRONG_HERE[call]:
        whole = {**base, **body} if isinstance(body, dict) else body
        answer = send(cast, call, json.dumps(whole).encode())
        assert answer.status_code == 400, f"{body!r:.80} {answer.status_code} {answer.text[:200]}"
        error = answer.json()["error"]
        assert error.keys() == {"code", "message", "field", "next"}
        assert (error["code"], error["field"]) == ("invalid", field), f"{body!r:.80} {error}"
        assert error["message"]
    assert cast.mallory.call("GET", "/v1/me") == before


@pytest.mark.parametrize("call", ["register", "me"])
def test_broken_bodies_are_refused(cast: Cast, call: str) -> None:
    before = cast.mallory.call("GET", "/v1/me")
    for content in BROKEN:
        answer = send(cast, call, content)
        assert answer.status_code == 400, f"{content[:40]!r} {answer.status_code} {answer.text[:200]}"
        error = answer.json()["error"]
        assert (error["code"], error["field"]) == ("invalid_json", None), f"{content[:40]!r} {error}"
    assert cast.mallory.call("GET", "/v1/me") == before


def test_a_body_past_the_limit(cast: Cast) -> None:
    for call in ("register", "me"):
        answer = send(cast, call, json.dumps({"display_name": "x" * BIG}).encode())
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_odd_but_good_names_come_back_as_given(cast: Cast) -> None:
    for text in (
        "<a href=//e>x</a>",
        "{{ 7*7 }}",
        "%s %n",
        "' OR 1=1 --",
        "\\",
        "Ада",
        "👩\u200d💻",
        "null",
        "é" * 120,
    ):
        shown = cast.mallory.call(
            "PATCH", "/v1/me", {"display_name": text, "description": f"{text}\n\t{text}"}
        )
        assert (shown["display_name"], shown["description"]) == (text, f"{text}\n\t{text}")
