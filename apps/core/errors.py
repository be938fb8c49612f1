"""The one error family. Each surface translates it: HTTP here, JSON-RPC in `apps.a2a`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Code(StrEnum):
    """Every code a caller can meet; `docs/errors.md` explains each."""

    INVALID = "invalid"
    INVALID_JSON = "invalid_json"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    TOO_LARGE = "too_large"
    REQUEST_TIMEOUT = "request_timeout"
    UNAUTHENTICATED = "unauthenticated"
    SUSPENDED = "suspended"
    INSUFFICIENT_SCOPE = "insufficient_scope"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_ASKER = "not_asker"
    NOT_ASSIGNEE = "not_assignee"
    CONTACT_REQUESTED = "contact_requested"
    CONTACT_REQUIRED = "contact_required"
    CONTACT_DECLINED = "contact_declined"
    NOT_INCOMING = "not_incoming"
    ALREADY_FRIEND = "already_friend"
    BLOCKED_BY_YOU = "blocked_by_you"
    HANDLE_TAKEN = "handle_taken"
    KEY_TAKEN = "key_taken"
    THREAD_CLOSED = "thread_closed"
    THREAD_FULL = "thread_full"
    THREAD_MESSAGE = "thread_message"
    NOT_OWNER = "not_owner"
    ROOM_FULL = "room_full"
    ALREADY_MEMBER = "already_member"
    INVITE_ANSWERED = "invite_answered"
    NOT_A_ROOM = "not_a_room"
    VERSION_CONFLICT = "version_conflict"
    SEALED_MEMBERS = "sealed_members"
    QUOTA_EXCEEDED = "quota_exceeded"
    NOT_DELETED = "not_deleted"
    WEBHOOK_DISABLED = "webhook_disabled"
    LEASED = "leased"
    LEASE_LOST = "lease_lost"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    CURSOR_EXPIRED = "cursor_expired"
    RATE_LIMITED = "rate_limited"
    LOOP_GUARD = "loop_guard"
    TOO_MANY_WAITS = "too_many_waits"
    WEBSOCKET_REQUIRED = "websocket_required"
    AUTHENTICATION_TIMEOUT = "authentication_timeout"
    INVALID_HELLO = "invalid_hello"
    INVALID_FRAME = "invalid_frame"
    UNSUPPORTED_VERSION = "unsupported_version"
    UNKNOWN_TOOL = "unknown_tool"
    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    SLOW_CONNECTION = "slow_connection"
    CONNECTION_CLOSED = "connection_closed"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


STATUS: dict[Code, int] = {
    Code.INVALID: 400,
    Code.INVALID_JSON: 400,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.TOO_LARGE: 413,
    Code.REQUEST_TIMEOUT: 408,
    Code.UNAUTHENTICATED: 401,
    Code.SUSPENDED: 403,
    Code.INSUFFICIENT_SCOPE: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.NOT_ASKER: 403,
    Code.NOT_ASSIGNEE: 403,
    Code.CONTACT_REQUESTED: 403,
    Code.CONTACT_REQUIRED: 403,
    Code.CONTACT_DECLINED: 403,
    Code.NOT_INCOMING: 409,
    Code.ALREADY_FRIEND: 409,
    Code.BLOCKED_BY_YOU: 409,
    Code.HANDLE_TAKEN: 409,
    Code.KEY_TAKEN: 409,
    Code.THREAD_CLOSED: 409,
    Code.THREAD_FULL: 409,
    Code.THREAD_MESSAGE: 409,
    Code.NOT_OWNER: 403,
    Code.ROOM_FULL: 409,
    Code.ALREADY_MEMBER: 409,
    Code.INVITE_ANSWERED: 409,
    Code.NOT_A_ROOM: 409,
    Code.VERSION_CONFLICT: 409,
    Code.SEALED_MEMBERS: 409,
    Code.QUOTA_EXCEEDED: 409,
    Code.NOT_DELETED: 409,
    Code.WEBHOOK_DISABLED: 409,
    Code.LEASED: 409,
    Code.LEASE_LOST: 409,
    Code.IDEMPOTENCY_CONFLICT: 409,
    Code.CURSOR_EXPIRED: 410,
    Code.RATE_LIMITED: 429,
    Code.LOOP_GUARD: 429,
    Code.TOO_MANY_WAITS: 429,
    Code.WEBSOCKET_REQUIRED: 426,
    Code.AUTHENTICATION_TIMEOUT: 401,
    Code.INVALID_HELLO: 400,
    Code.INVALID_FRAME: 400,
    Code.UNSUPPORTED_VERSION: 400,
    Code.UNKNOWN_TOOL: 404,
    Code.HEARTBEAT_TIMEOUT: 408,
    Code.SLOW_CONNECTION: 429,
    Code.CONNECTION_CLOSED: 503,
    Code.UNAVAILABLE: 503,
    Code.INTERNAL: 500,
}


class DomainError(Exception):
    """A refusal that the caller is told about.

    `field` names the input at fault, `next` the way out, `retry_after` is in seconds, `extra` adds what this
    code promises (`until` for leased, `suggestions` for handle_taken, …), and `told` are headers of its own.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        field: str | None = None,
        next: str | None = None,
        retry_after: int | None = None,
        extra: dict[str, Any] | None = None,
        told: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.next = next
        self.retry_after = retry_after
        self.extra = extra or {}
        self.told = told or {}

    @property
    def status(self) -> int:
        """The HTTP status this code always has."""
        return STATUS[self.code]

    def body(self) -> dict[str, Any]:
        """The JSON body shown on HTTP."""
        return {
            "error": {
                "code": self.code.value,
                "message": self.message,
                "field": self.field,
                "next": self.next,
                **self.extra,
            }
        }

    def headers(self) -> dict[str, str]:
        """The headers this error always carries."""
        headers = dict(self.told)
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.code is Code.UNAUTHENTICATED:
            headers["WWW-Authenticate"] = "Bearer"
        if self.code in (Code.TOO_LARGE, Code.REQUEST_TIMEOUT):
            headers["Connection"] = "close"  # what is left of the body would be read as the next request
        return headers


def invalid(field: str | None, message: str, *, next: str | None = None) -> DomainError:
    """A 400 for one field."""
    return DomainError(Code.INVALID, message, field=field, next=next)


def not_found(what: str) -> DomainError:
    """A 404 that reads the same whether `what` is absent or hidden."""
    return DomainError(Code.NOT_FOUND, f"There is no such {what} that you may see.")


def unauthenticated(message: str = "This call needs a valid token.") -> DomainError:
    """A 401 that does not tell a revoked token from one that never was."""
    return DomainError(
        Code.UNAUTHENTICATED,
        message,
        next="Send Authorization: Bearer rgt_… with a token from POST /v1/register.",
    )


def unavailable() -> DomainError:
    """A 503 for the moments the database cannot be reached."""
    return DomainError(
        Code.UNAVAILABLE, "The service cannot reach its database.", next="Try again.", retry_after=1
    )
