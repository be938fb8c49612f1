"""What each method takes, in the service's own terms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from a2a.types import a2a_pb2 as pb

from apps.a2a import params
from apps.a2a.errors import Fault

THREAD = "thr_" + "0" * 31 + "7"


def message(**fields: Any) -> dict[str, Any]:
    whole = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi"}], **fields}
    return {"message": {key: value for key, value in whole.items() if value is not ...}}


def fields_of(fault: Fault) -> list[str]:
    assert fault.code == -32602
    assert fault.reason == "INVALID_PARAMS"
    body = fault.body(1)["error"]
    assert body["data"][0]["@type"].endswith("ErrorInfo")
    assert body["data"][1]["@type"].endswith("BadRequest")
    return [violation["field"] for violation in body["data"][1]["fieldViolations"]]


def refused(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(Fault) as caught:
        params.send(raw)
    return fields_of(caught.value)


def test_the_least_message() -> None:
    assert params.send(message()) == params.Send(
        message_id="m",
        parts=[{"text": "Hi"}],
        context=None,
        task=None,
        metadata=None,
        references=[],
        history=None,
        immediate=False,
        push=False,
    )


def test_the_most_message() -> None:
    raw = {
        "tenant": "whatever",
        "message": {
            "message_id": "m",
            "role": 1,
            "context_id": "c",
            "task_id": THREAD,
            "parts": [
                {"text": "", "mediaType": "text/markdown", "filename": ""},
                {"raw": "-_8", "media_type": "image/png", "filename": "a.png"},
                {"url": "https://example.com/a", "metadata": {"n": 1.0}},
                {"data": None},
            ],
            "metadata": {"a": 1, "b": 2},
            "extensions": ["urn:x"],
            "referenceTaskIds": ["nonsense", THREAD],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "historyLength": 0,
            "returnImmediately": True,
            "blocking": False,
        },
        "metadata": {"b": 3, "c": 4},
        "unknown": 1,
    }
    assert params.send(raw) == params.Send(
        message_id="m",
        parts=[
            {"text": "", "media_type": "text/markdown"},
            {"raw": "+/8=", "media_type": "image/png", "filename": "a.png"},
            {"url": "https://example.com/a", "metadata": {"n": 1.0}},
            {"data": None},
        ],
        context="c",
        task=THREAD,
        metadata={"a": 1, "b": 2, "c": 4},
        references=[UUID(int=7)],
        history=0,
        immediate=True,
        push=False,
    )


def test_what_is_empty_is_absent() -> None:
    read = params.send(message(contextId="", taskId="", metadata=None, referenceTaskIds=None))
    assert (read.context, read.task, read.metadata, read.references) == (None, None, None, [])


def test_an_inline_push_config_is_seen() -> None:
    assert params.send(
        {**message(), "configuration": {"taskPushNotificationConfig": {"url": "http://x"}}}
    ).push
    assert not params.send({**message(), "configuration": {"taskPushNotificationConfig": None}}).push


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        ({}, ["message"]),
        (message(messageId=..., role=..., parts=...), ["message.messageId", "message.role", "message.parts"]),
        (message(role="ROLE_AGENT"), ["message.role"]),
        (message(role=2), ["message.role"]),
        (message(messageId="x" * 1025), ["message.messageId"]),
        (message(contextId="x" * 129), ["message.contextId"]),
        (message(parts=[{"text": "é" * 17_000}]), ["message.parts[0].text"]),
        (message(parts=[{"text": "a"}, {"url": ""}]), ["message.parts[1].url"]),
        (message(parts=[{"text": "a", "mediaType": "x" * 300}]), ["message.parts[0].mediaType"]),
        (message(parts=[{"data": "x" * 140_000}]), ["message.parts"]),
        (message(parts=[{"text": "a"}] * 65), ["message.parts"]),
        ({**message(), "configuration": {"historyLength": -1}}, ["configuration.historyLength"]),
        ({**message(), "configuration": {"historyLength": 1.5}}, ["configuration.historyLength"]),
        ({**message(), "configuration": {"historyLength": 2**31}}, ["configuration.historyLength"]),
        ({**message(), "configuration": {"returnImmediately": "yes"}}, ["configuration.returnImmediately"]),
        (
            {**message(), "configuration": {"taskPushNotificationConfig": {}}},
            ["configuration.taskPushNotificationConfig.url"],
        ),
        ({**message(), "metadata": []}, ["metadata"]),
        (message(metadata="x"), ["message.metadata"]),
        (message(referenceTaskIds=[1]), ["message.referenceTaskIds[0]"]),
    ],
)
def test_refuses_and_names_the_fields(raw: dict[str, Any], fields: list[str]) -> None:
    assert refused(raw) == fields


def test_a_task_is_named() -> None:
    assert params.named(pb.GetTaskRequest, {"id": "x", "historyLength": 2}) == params.Named("x", 2)
    assert params.named(pb.CancelTaskRequest, {"id": "x", "metadata": {}}) == params.Named("x", None)
    for raw in ({}, {"id": ""}, {"id": None}, {"id": 5}, {"name": "tasks/x"}):
        with pytest.raises(Fault) as caught:
            params.named(pb.GetTaskRequest, raw)
        assert fields_of(caught.value) == ["id"]


def test_a_list_has_defaults() -> None:
    assert params.listing({}) == params.List(None, None, None, 50, None, None, False)
    assert params.listing(
        {
            "contextId": "c",
            "status": "TASK_STATE_WORKING",
            "pageSize": 100,
            "page_token": "t",
            "historyLength": 0,
            "statusTimestampAfter": "2026-01-31T13:00:00+01:00",
            "includeArtifacts": True,
        }
    ) == params.List("c", "TASK_STATE_WORKING", datetime(2026, 1, 31, 12, tzinfo=UTC), 100, "t", 0, True)
    assert params.listing(
        {"status": "TASK_STATE_UNSPECIFIED", "pageToken": "", "contextId": ""}
    ) == params.listing({})


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"pageSize": 0}, "pageSize"),
        ({"pageSize": -1}, "pageSize"),
        ({"pageSize": 101}, "pageSize"),
        ({"pageSize": 2**40}, "pageSize"),
        ({"pageSize": "many"}, "pageSize"),
        ({"historyLength": -1}, "historyLength"),
        ({"status": "working"}, "status"),
        ({"status": "TASK_STATE_RUNNING"}, "status"),
        ({"status": 99}, "status"),
        ({"status": ["TASK_STATE_WORKING"]}, "status"),
        ({"statusTimestampAfter": "2026-01-31T12:00:00"}, "statusTimestampAfter"),
        ({"statusTimestampAfter": "yesterday"}, "statusTimestampAfter"),
        ({"statusTimestampAfter": 5}, "statusTimestampAfter"),
        ({"includeArtifacts": 1}, "includeArtifacts"),
        ({"pageToken": 5}, "pageToken"),
        ({"contextId": {}}, "contextId"),
    ],
)
def test_a_list_refuses(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(Fault) as caught:
        params.listing(raw)
    assert fields_of(caught.value) == [field]
