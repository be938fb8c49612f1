"""What can go wrong with a call."""

from __future__ import annotations

from typing import Any


class RelaygerError(Exception):
    """Whatever keeps a call from being answered."""


class NetworkError(RelaygerError):
    """The service could not be reached, or went away before it answered: what was sent may have arrived."""


class InvalidArgument(RelaygerError, ValueError):
    """An argument cannot be sent: it is no text, or names nothing."""


class APIError(RelaygerError):
    """The service refused a call.

    `data` is the whole error object, with what a code adds (`until`, `suggestions`, `oldest`, …);
    `retry_after` is in seconds.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int,
        field: str | None = None,
        next: str | None = None,
        retry_after: float | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.status = status
        self.field = field
        self.next = next
        self.retry_after = retry_after
        self.data = data or {}
