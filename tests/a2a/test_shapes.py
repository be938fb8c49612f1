"""Params are read as the official parser reads them, or refused."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.a2a import shapes
from apps.a2a.errors import Violation

KINDS = [
    pb.SendMessageRequest,
    pb.GetTaskRequest,
    pb.ListTasksRequest,
    pb.CancelTaskRequest,
    pb.SubscribeToTaskRequest,
]

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e6, 1e6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)
wrong = json_values  # anything, mostly of the wrong type
part = st.dictionaries(
    st.sampled_from(["text", "raw", "url"]), texts, min_size=1, max_size=1
) | st.fixed_dictionaries(
    {},
    optional={
        "text": texts | wrong,
        "raw": st.binary(max_size=6).map(lambda raw: base64.b64encode(raw).decode()) | texts,
        "url": texts,
        "data": json_values,
        "metadata": objects | wrong,
        "filename": texts | wrong,
        "mediaType": texts,
        "media_type": texts,
        "kind": texts,
    },
)
message = st.fixed_dictionaries(
    {},
    optional={
        "messageId": texts | wrong,
        "message_id": texts,
        "role": st.sampled_from(["ROLE_USER", "ROLE_AGENT", "user", 1, 2, 7, "ROLE_UNSPECIFIED", True])
        | wrong,
        "parts": st.lists(part | wrong, max_size=3) | wrong,
        "contextId": texts | wrong,
        "metadata": objects | wrong,
        "referenceTaskIds": st.lists(texts | st.none(), max_size=2) | wrong,
    },
)
integers = st.sampled_from([0, 1, -1, 1.0, 1.5, "1", "x", 2**31, -(2**31), True, None, 1e300])
times = st.sampled_from(
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00.123456+01:00",
        "2026-01-31T12:00:00",
        "2026-13-31T12:00:00Z",
        5,
    ]
)
params = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "message": message | wrong,
            "configuration": st.fixed_dictionaries(
                {}, optional={"historyLength": integers, "returnImmediately": st.booleans() | wrong}
            )
            | wrong,
            "metadata": objects | wrong,
            "id": texts | wrong,
            "historyLength": integers,
            "history_length": integers,
            "pageSize": integers,
            "status": st.sampled_from(["TASK_STATE_WORKING", "working", 2, 99, 0]) | wrong,
            "statusTimestampAfter": times,
            "includeArtifacts": st.booleans() | wrong,
        },
    ),
    objects,
)


def read(kind: Any, raw: dict[str, Any]) -> tuple[dict[str, Any], list[Violation]]:
    found: list[Violation] = []
    return shapes.read(shapes.shape_of(kind.DESCRIPTOR), raw, found), found


@settings(max_examples=250, deadline=None)
@given(kind=st.sampled_from(KINDS), raw=params)
def test_what_is_taken_the_official_parser_takes_too(kind: Any, raw: dict[str, Any]) -> None:
    mine, found = read(kind, raw)
    if found:
        return
    official = ParseDict(raw, kind(), ignore_unknown_fields=True)
    validate_proto_required_fields(official)
    assert same(mine, official)


def same(mine: dict[str, Any], official: Any) -> bool:
    """What was read, put through the official types again, is the same message."""
    again = type(official)()
    ParseDict(shown(mine), again)
    return bool(again == official)


def shown(value: Any) -> Any:
    """What was read as ProtoJSON; nothing inside `data` and `metadata` is ours to change."""
    if isinstance(value, dict):
        return {
            key: item if key in ("data", "metadata") else shown(item)
            for key, item in value.items()
            if item is not None or key == "data"
        }
    if isinstance(value, list):
        return [shown(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def test_a_message_of_the_official_type_reads_as_it_was() -> None:
    official = pb.SendMessageRequest(
        message=pb.Message(
            message_id="m-1",
            context_id="c",
            task_id="t",
            role=pb.ROLE_USER,
            parts=[pb.Part(text="Hé"), pb.Part(raw=b"\0\xff", media_type="image/png", filename="a.png")],
            reference_task_ids=["r"],
        ),
        configuration=pb.SendMessageConfiguration(return_immediately=True, history_length=3),
    )
    for spelled in (False, True):
        mine, found = read(
            pb.SendMessageRequest, MessageToDict(official, preserving_proto_field_name=spelled)
        )
        assert found == []
        assert mine == {
            "message": {
                "message_id": "m-1",
                "context_id": "c",
                "task_id": "t",
                "role": "ROLE_USER",
                "parts": [{"text": "Hé"}, {"raw": "AP8=", "media_type": "image/png", "filename": "a.png"}],
                "reference_task_ids": ["r"],
            },
            "configuration": {"return_immediately": True, "history_length": 3},
        }


def test_values_of_any_type_come_through_as_they_were() -> None:
    value = {"one": 1, "float": 1.0, "null": None, "big": 2**63, "deep": [[{"a": [1, 1.0, True]}]]}
    raw = {"message": {"parts": [{"data": value, "metadata": value}, {"data": None}], "metadata": value}}
    mine, _ = read(pb.SendMessageRequest, raw)
    first, second = mine["message"]["parts"]
    assert repr(first["data"]) == repr(first["metadata"]) == repr(mine["message"]["metadata"]) == repr(value)
    assert second == {"data": None}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({}, "message"),
        ({"message": None}, "message"),
        ({"message": 5}, "message"),
        ({"message": {"role": "ROLE_USER", "parts": [{"text": "a"}]}}, "message.messageId"),
        ({"message": {"messageId": "", "role": "ROLE_USER", "parts": [{"text": "a"}]}}, "message.messageId"),
        ({"message": {"messageId": 5, "role": "ROLE_USER", "parts": [{"text": "a"}]}}, "message.messageId"),
        ({"message": {"messageId": "m", "parts": [{"text": "a"}]}}, "message.role"),
        ({"message": {"messageId": "m", "role": "user", "parts": [{"text": "a"}]}}, "message.role"),
        ({"message": {"messageId": "m", "role": 7, "parts": [{"text": "a"}]}}, "message.role"),
        ({"message": {"messageId": "m", "role": 0, "parts": [{"text": "a"}]}}, "message.role"),
        ({"message": {"messageId": "m", "role": True, "parts": [{"text": "a"}]}}, "message.role"),
        ({"message": {"messageId": "m", "role": "ROLE_USER"}}, "message.parts"),
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}, "message.parts"),
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": {}}}, "message.parts"),
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{}]}}, "message.parts[0]"),
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [None]}}, "message.parts[0]"),
        (
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"kind": "text"}]}},
            "message.parts[0]",
        ),
        (
            {
                "message": {
                    "messageId": "m",
                    "role": "ROLE_USER",
                    "parts": [{"text": "a"}, {"text": "a", "url": "b"}],
                }
            },
            "message.parts[1]",
        ),
        (
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": 1}]}},
            "message.parts[0].text",
        ),
        (
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "@@"}]}},
            "message.parts[0].raw",
        ),
        (
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "A"}]}},
            "message.parts[0].raw",
        ),
        (
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "", "metadata": []}]}},
            "message.parts[0].metadata",
        ),
        (
            {"message": {"messageId": "m", "message_id": "m", "role": 1, "parts": [{"text": "a"}]}},
            "message.messageId",
        ),
    ],
)
def test_names_the_field(raw: dict[str, Any], field: str) -> None:
    _, found = read(pb.SendMessageRequest, raw)
    assert [violation.field for violation in found] == [field]


@pytest.mark.parametrize(
    ("given", "canonical"),
    [("", ""), ("AP8=", "AP8="), ("AP8", "AP8="), ("-_8", "+/8="), ("+/8=", "+/8="), ("AAAA", "AAAA")],
)
def test_base64_is_kept_in_one_spelling(given: str, canonical: str) -> None:
    assert shapes.base64_text(given) == canonical


@pytest.mark.parametrize(
    "given", ["A", "AAAAA", "AP8==", "A=", "=", "A P8", "AP8=\n", "é", "AP=8", 5, None, [], "===="]
)
def test_what_is_not_base64(given: Any) -> None:
    assert shapes.base64_text(given) is None


@given(st.binary(max_size=40), st.booleans(), st.booleans())
def test_base64_of_any_bytes(raw: bytes, url: bool, padded: bool) -> None:
    text = (base64.urlsafe_b64encode(raw) if url else base64.b64encode(raw)).decode()
    assert shapes.base64_text(text if padded else text.rstrip("=")) == base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-01-31T12:00:00Z", True),
        ("2026-01-31T12:00:00.1Z", True),
        ("2026-01-31T12:00:00.123456789Z", True),
        ("2026-01-31T12:00:00+02:00", True),
        ("2026-01-31T12:00:00", False),
        ("2026-01-31T12:00:00.Z", False),
        ("2026-01-31 12:00:00Z", False),
        ("2026-02-30T12:00:00Z", False),
        ("2026-01-31T25:00:00Z", False),
        ("0001-01-01T00:00:00+23:59", False),
        ("9999-12-31T23:59:59-23:59", False),
        ("\uff12026-01-31T12:00:00Z", False),
        ("", False),
        ("yesterday", False),
        (1769860800, False),
        (None, False),
    ],
)
def test_times_name_a_moment(text: Any, good: bool) -> None:
    assert (shapes.timestamp(text) is not None) is good


def test_a_list_of_a_million_faults_is_not_looked_through() -> None:
    raw = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{}] * 1_000_000}}
    assert len(read(pb.SendMessageRequest, raw)[1]) <= 200
