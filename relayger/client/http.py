"""Sending calls: `Client` for programs that wait, `AsyncClient` for those that do more at once."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from relayger import __version__
from relayger.client.calls import Call
from relayger.client.errors import APIError, InvalidArgument, NetworkError, RelaygerError
from relayger.client.retry import Retry

T = TypeVar("T")

SECONDS = 10.0  # for an answer that is not waited for on purpose
DEFAULT = Retry()


class _Base:
    """What both clients share: the request, and what its response means."""

    def __init__(self, origin: str, token: str | None = None, *, retry: Retry = DEFAULT) -> None:
        self.origin = origin.rstrip("/")
        self.retry = retry
        self._headers = {"User-Agent": f"relayger/{__version__}", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def _options(self) -> dict[str, Any]:
        # No redirects: the token goes to the origin it was given for and nowhere else.
        return {"base_url": self.origin, "headers": self._headers, "follow_redirects": False}

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        return {
            "method": call.method,
            "url": call.path,
            "params": dict(call.query),
            "json": call.body,
            "timeout": call.wait + SECONDS,
        }

    def _failure(self, error: httpx.RequestError | UnicodeEncodeError) -> RelaygerError:
        if isinstance(error, UnicodeEncodeError):
            return InvalidArgument("An argument is not valid Unicode text.")
        return NetworkError(f"{self.origin} did not answer: {str(error) or type(error).__name__}")

    def _tries(self, call: Call[Any], retry: Retry | None) -> Retry:
        return (retry or self.retry) if call.repeat else Retry(tries=1)


class Client(_Base):
    """Sends calls one after another. Use it as a context manager, or `close()` it."""

    def __init__(
        self,
        origin: str,
        token: str | None = None,
        *,
        retry: Retry = DEFAULT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(origin, token, retry=retry)
        self._http = httpx.Client(**self._options(), transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def send(self, call: Call[T], *, retry: Retry | None = None) -> T:
        """Send a call and return its answer; an uncertain one is repeated.

        Raises APIError when the service refuses, NetworkError when it cannot be reached.
        """
        policy, tried = self._tries(call, retry), 0
        while True:
            tried += 1
            try:
                return self._once(call)
            except (APIError, NetworkError) as error:
                if (pause := policy.pause(tried, error)) is None:
                    raise
            time.sleep(pause)

    def _once(self, call: Call[T]) -> T:
        try:
            response = self._http.request(**self._request(call))
        except (httpx.RequestError, UnicodeEncodeError) as error:
            raise self._failure(error) from error
        return cast(T, _answer(response))


class AsyncClient(_Base):
    """The same for asyncio: `await client.send(call)`. Close it with `aclose()` or as a context manager."""

    def __init__(
        self,
        origin: str,
        token: str | None = None,
        *,
        retry: Retry = DEFAULT,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(origin, token, retry=retry)
        # A long-poll and many answers at once: none of them waits for another's connection.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._http = httpx.AsyncClient(**self._options(), limits=limits, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def send(self, call: Call[T], *, retry: Retry | None = None) -> T:
        """Send a call and return its answer, as `Client.send` does."""
        policy, tried = self._tries(call, retry), 0
        while True:
            tried += 1
            try:
                return await self._once(call)
            except (APIError, NetworkError) as error:
                if (pause := policy.pause(tried, error)) is None:
                    raise
            await asyncio.sleep(pause)

    async def _once(self, call: Call[T]) -> T:
        try:
            response = await self._http.request(**self._request(call))
        except (httpx.RequestError, UnicodeEncodeError) as error:
            raise self._failure(error) from error
        return cast(T, _answer(response))


def _answer(response: httpx.Response) -> Any:
    """The JSON of a response. Raises APIError for a refusal and for what is no answer of such a service."""
    if response.status_code == 204:
        return None
    try:
        body = response.json()
    except ValueError:
        body = None
    if response.is_success and isinstance(body, dict):
        return body
    raise _refusal(response, body)


def _refusal(response: httpx.Response, body: Any) -> APIError:
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        message = f"The service answered {response.status_code} without an error Relayger knows."
        return APIError("unexpected", message, status=response.status_code, retry_after=_seconds(response))
    return APIError(
        str(error.get("code") or "unexpected"),
        str(error.get("message") or "Refused."),
        status=response.status_code,
        field=_text(error.get("field")),
        next=_text(error.get("next")),
        retry_after=_seconds(response),
        data=error,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _seconds(response: httpx.Response) -> float | None:
    """Retry-After in seconds; the date form is not what this service sends."""
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isascii() and given.isdigit() else None
