"""JSON-RPC errors: A2A's own, JSON-RPC's, and how the service's errors read here. The one table of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.conf import settings

from apps.core.errors import Code, DomainError

A2A_DOMAIN = "a2a-protocol.org"
VERSIONS = ("1.0",)

Id = str | int | None

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
_RELAYGER = -32000  # JSON-RPC leaves it to the server; ErrorInfo's reason tells which of our errors it is
_MOST_VIOLATIONS = 20
_MOST_SHOWN = 128

# What `apps.threads` calls a field, as the caller spelled it.
_FIELDS = {
    "context": "message.contextId",
    "metadata": "message.metadata",
    "parent": "message.referenceTaskIds",
    "parts": "message.parts",
}


class Violation(NamedTuple):
    """A field that cannot be taken, and why."""

    field: str
    description: str


class Fault(Exception):
    """A JSON-RPC error on its way out, with the HTTP status and headers it goes by.

    `id` is what the request called itself, None where that could not be read.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        domain: str = A2A_DOMAIN,
        metadata: dict[str, str] | None = None,
        violations: Sequence[Violation] = (),
        status: int = 200,
        headers: dict[str, str] | None = None,
        id: Id = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.domain = domain
        self.metadata = metadata or {}
        self.violations = violations
        self.status = status
        self.headers = headers or {}
        self.id = id

    def body(self, id: Id) -> dict[str, Any]:
        """The JSON-RPC response."""
        info: dict[str, Any] = {"@type": _ERROR_INFO, "reason": self.reason, "domain": self.domain}
        if self.metadata:
            info["metadata"] = self.metadata
        data = [info]
        if self.violations:
            shown = [one._asdict() for one in self.violations[:_MOST_VIOLATIONS]]
            data.append({"@type": _BAD_REQUEST, "fieldViolations": shown})
        return {
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": self.code, "message": self.message, "data": data},
        }


def parse_error(message: str) -> Fault:
    """The body is not JSON."""
    return Fault(-32700, "PARSE_ERROR", message)


def invalid_request(message: str, id: Id = None) -> Fault:
    """The body is JSON, but not one JSON-RPC request."""
    return Fault(-32600, "INVALID_REQUEST", message, id=id)


def method_not_found(id: Id) -> Fault:
    """No such method, or one of another version of A2A."""
    return Fault(-32601, "METHOD_NOT_FOUND", "This is not a method of A2A 1.0.", id=id)


def invalid_params(violations: Iterable[Violation], message: str | None = None) -> Fault:
    """The params cannot be taken; the violations name the fields."""
    listed = list(violations)
    if message is None:
        message = f"Invalid parameters: {listed[0].field}: {listed[0].description}"
    return Fault(-32602, "INVALID_PARAMS", message, violations=listed)


def internal_error() -> Fault:
    """A fault of ours."""
    return Fault(-32603, "INTERNAL_ERROR", "Something went wrong here; it has been logged.")


def task_not_found(task: str) -> Fault:
    """The task is absent, or another's: the same words for both."""
    return Fault(
        -32001,
        "TASK_NOT_FOUND",
        "There is no such task that you may see.",
        metadata={"taskId": task[:_MOST_SHOWN]},
    )


def push_not_supported() -> Fault:
    """This agent does not call out."""
    return Fault(
        -32003,
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        "Push notifications are not supported: stream, or poll with GetTask.",
    )


def unsupported_operation(message: str) -> Fault:
    """A2A has it, but not here or not now."""
    return Fault(-32004, "UNSUPPORTED_OPERATION", message)


def content_type_not_supported(id: Id) -> Fault:
    """The body says that it is something other than JSON."""
    return Fault(
        -32005, "CONTENT_TYPE_NOT_SUPPORTED", "Send the request as Content-Type: application/json.", id=id
    )


def version_not_supported(asked: str, id: Id) -> Fault:
    """The caller speaks another version; absent means 0.3."""
    supported = ", ".join(VERSIONS)
    return Fault(
        -32009,
        "VERSION_NOT_SUPPORTED",
        f"A2A {asked} is not spoken here. Supported: {supported}; send the header A2A-Version: {VERSIONS[-1]}.",
        metadata={"requested": asked, "supported": supported},
        id=id,
    )


def agent_not_found() -> Fault:
    """Nobody here answers: absent, deleted, suspended and human read alike."""
    return Fault(
        _RELAYGER, "AGENT_NOT_FOUND", "There is no such agent.", domain=settings.RELAYGER.host, status=404
    )


def translate(error: DomainError, method: str | None = None, task: str = "") -> Fault:
    """What an error of the service reads like in A2A, in answer to `method` about `task`."""
    match error.code:
        case Code.NOT_FOUND:
            return task_not_found(task)
        case Code.THREAD_CLOSED if method == "CancelTask":
            return Fault(
                -32002,
                "TASK_NOT_CANCELABLE",
                "This task has ended: there is nothing to cancel.",
                metadata={"taskId": task[:_MOST_SHOWN]},
            )
        case Code.THREAD_CLOSED:
            return unsupported_operation(
                "This task has ended: send without taskId, in its contextId, for a new one."
            )
        case Code.INVALID:
            field = error.field or "params"
            return invalid_params([Violation(_FIELDS.get(field, field), error.message)])
        case Code.INTERNAL:
            return internal_error()
    return _ours(error)


def _ours(error: DomainError) -> Fault:
    """An error of the service's own, its code in capitals as the reason.

    It goes by HTTP 200, since the official client reads no other body, unless a header has to go with it.
    """
    metadata = {name: value for name, value in error.extra.items() if isinstance(value, str)}
    if error.next is not None:
        metadata["next"] = error.next
    bare = error.status in (401, 405, 408, 413, 415) or error.retry_after is not None
    return Fault(
        _RELAYGER,
        error.code.value.upper(),
        error.message,
        domain=settings.RELAYGER.host,
        metadata=metadata,
        status=error.status if bare else 200,
        headers=error.headers(),
    )
