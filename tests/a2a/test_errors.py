"""Every error of the service has one reading in A2A."""

from __future__ import annotations

from typing import Any

import pytest
from a2a.utils.errors import A2A_REASON_TO_ERROR, JSON_RPC_ERROR_CODE_MAP
from django.conf import settings

from apps.a2a import errors
from apps.a2a.errors import Fault, Violation
from apps.core.errors import Code, DomainError, invalid, not_found, unauthenticated, unavailable

OURS = [
    fault
    for code in Code
    if (fault := errors.translate(DomainError(code, "Why.", next="How.")))
    and fault.domain == settings.RELAYGER.host
]


def info(fault: Fault) -> dict[str, Any]:
    body = fault.body("q")
    assert body["jsonrpc"] == "2.0"
    assert body["id"] == "q"
    assert body["error"]["code"] == fault.code
    first: dict[str, Any] = body["error"]["data"][0]
    assert first["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert all(isinstance(value, str) for value in first.get("metadata", {}).values())
    return first


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_translated(code: Code) -> None:
    for method in ("SendMessage", "CancelTask", None):
        fault = errors.translate(DomainError(code, "Why."), method, "thr_x")
        assert -32700 <= fault.code <= -32000
        assert fault.status in (200, 401, 405, 408, 413, 415)
        assert info(fault)["reason"].isupper()


@pytest.mark.parametrize("fault", OURS, ids=lambda fault: fault.reason)
def test_our_own_errors_are_told_by_their_reason(fault: Fault) -> None:
    shown = info(fault)
    assert fault.code == -32000
    assert Code(shown["reason"].lower())
    assert shown["metadata"] == {"next": "How."}


@pytest.mark.parametrize(
    "fault",
    [
        errors.task_not_found("x"),
        errors.push_not_supported(),
        errors.unsupported_operation("No."),
        errors.content_type_not_supported(1),
        errors.version_not_supported("0.3", 1),
        errors.translate(DomainError(Code.THREAD_CLOSED, "Why."), "CancelTask", "x"),
        errors.translate(DomainError(Code.THREAD_CLOSED, "Why."), "SendMessage", "x"),
    ],
    ids=lambda fault: f"{fault.reason} {fault.message[:8]}",
)
def test_a2a_errors_are_those_of_the_official_table(fault: Fault) -> None:
    assert JSON_RPC_ERROR_CODE_MAP[A2A_REASON_TO_ERROR[fault.reason]] == fault.code
    assert info(fault)["domain"] == "a2a-protocol.org"
    assert fault.status == 200


def test_a_closed_thread_reads_by_the_method() -> None:
    closed = DomainError(Code.THREAD_CLOSED, "Why.")
    assert errors.translate(closed, "SendMessage").code == -32004
    assert errors.translate(closed, "CancelTask").code == -32002


def test_hidden_and_absent_read_alike() -> None:
    assert errors.translate(not_found("thread"), "GetTask", "x").body(1) == errors.task_not_found("x").body(1)


def test_a_long_task_id_is_not_sent_back_whole() -> None:
    assert len(errors.task_not_found("x" * 5000).metadata["taskId"]) == 128


def test_a_wrong_field_is_named_as_the_caller_spelled_it() -> None:
    body = errors.translate(invalid("context", "Too long.")).body(1)
    assert body["error"]["code"] == -32602
    assert body["error"]["data"][1]["fieldViolations"] == [
        {"field": "message.contextId", "description": "Too long."}
    ]


def test_violations_without_end_are_cut() -> None:
    body = errors.invalid_params(Violation(f"f{number}", "No.") for number in range(1000)).body(1)
    assert len(body["error"]["data"][1]["fieldViolations"]) == 20


def test_what_goes_by_another_status() -> None:
    limited = errors.translate(DomainError(Code.RATE_LIMITED, "Slow.", retry_after=7))
    assert (limited.code, limited.status, limited.headers) == (-32000, 429, {"Retry-After": "7"})
    unknown = errors.translate(unauthenticated())
    assert (unknown.code, unknown.status, unknown.headers) == (-32000, 401, {"WWW-Authenticate": "Bearer"})
    away = errors.translate(unavailable())
    assert (away.code, away.reason, away.status, away.headers) == (
        -32000,
        "UNAVAILABLE",
        503,
        {"Retry-After": "1"},
    )
    absent = errors.agent_not_found()
    assert (absent.code, absent.reason, absent.status) == (-32000, "AGENT_NOT_FOUND", 404)
    looped = errors.translate(DomainError(Code.LOOP_GUARD, "Too many hops."))
    assert (looped.reason, looped.status) == ("LOOP_GUARD", 200)
