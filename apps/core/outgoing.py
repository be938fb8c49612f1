"""Outgoing HTTP to addresses that callers name: nothing on it leads into the service's own network.

1. Only http and https, no credentials in the URL, hosts spelled as usual (`core.addresses`).
2. A host is resolved once for each call, and every address found must be public.
3. The connection goes to an address that was checked, never to the name, which may mean something else by then.
   Host and TLS still name the host of the URL.
4. No redirect is followed, no proxy is taken from the environment, no connection is kept.
5. One clock for all of it. Of the answer only the status and headers are read; the body stays where it is.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import httpcore
import httpx
from django.conf import settings

from apps.core.addresses import Refused, literal, public, read_url
from apps.core.errors import invalid

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Sequence[Address]]

# Resolving holds a thread and cannot be called off, so it has threads of its own, and only they can run out.
_resolvers = ThreadPoolExecutor(max_workers=16, thread_name_prefix="resolve")
_MOST_ADDRESSES = 4  # of one host that are tried


class Unreachable(Exception):
    """There was no answer; the message says why, for who named the address."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is read of an answer."""

    status: int
    retry_after: str | None


def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a host, as the system finds them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(place[0]) for *_, place in found]


def check(text: str, *, resolver: Resolver = resolve, field: str = "url") -> str:
    """A URL that may be called as things are now, without its fragment. Raises invalid naming `field`.

    It waits for the resolver, so call it outside transactions.
    """
    free: bool = settings.RELAYGER.private_targets
    try:
        url = read_url(text, any_port=free)
        if not free:
            asked = _resolvers.submit(_addresses, resolver, url.raw_host.decode(), _port(url), free=False)
            asked.result(settings.RELAYGER.webhook_seconds)
    except Refused as error:
        raise invalid(field, str(error)) from None
    except (OSError, TimeoutError):
        raise invalid(field, "The host cannot be resolved.") from None
    return str(url.copy_with(fragment=None))


async def post(
    text: str,
    content: bytes,
    headers: dict[str, str],
    *,
    resolver: Resolver = resolve,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """POST to a URL that is checked now. Raises Refused, or Unreachable within RELAYGER_WEBHOOK_SECONDS."""
    seconds: float = settings.RELAYGER.webhook_seconds
    url = read_url(text, any_port=settings.RELAYGER.private_targets)
    whole = [(b"Host", url.netloc), *((name.encode(), value.encode()) for name, value in headers.items())]
    try:
        async with (
            asyncio.timeout(seconds),
            httpcore.AsyncConnectionPool(
                ssl_context=tls or _tls(),
                max_keepalive_connections=0,
                network_backend=_Checked(resolver, seconds),
            ) as pool,
            pool.stream(
                "POST",
                httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=whole,
                content=content,
            ) as answer,
        ):
            return Answer(answer.status, _header(answer.headers, b"retry-after"))
    except (TimeoutError, httpcore.TimeoutException):
        raise Unreachable(f"There was no answer within {seconds:g} seconds.") from None
    except httpcore.ConnectError as error:
        why = "TLS failed: is the certificate good?" if _of_tls(error) else "There was no connection."
        raise Unreachable(why) from None
    except socket.gaierror:
        raise Unreachable("The host cannot be resolved.") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError, AttributeError):
        # The last comes of anyio, which asks whose a connection of uvloop's is that was closed at once.
        raise Unreachable("The connection broke, or the answer is not HTTP.") from None


class _Checked(httpcore.AsyncNetworkBackend):
    """httpcore's network, but a connection goes only to an address that was checked when it is made."""

    def __init__(self, resolver: Resolver, seconds: float) -> None:
        self._network = httpcore.AnyIOBackend()
        self._resolver = resolver
        self._seconds = seconds

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore's signature; `post` keeps the time
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address of `host` that takes one. Raises Refused, OSError, ConnectError."""
        free: bool = settings.RELAYGER.private_targets
        found = await asyncio.get_running_loop().run_in_executor(
            _resolvers, lambda: _addresses(self._resolver, host, port, free=free)
        )
        found = found[:_MOST_ADDRESSES]
        for address in found[:-1]:
            try:
                return await self._network.connect_tcp(str(address), port, self._seconds / len(found))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(str(found[-1]), port, self._seconds)


def _addresses(resolver: Resolver, host: str, port: int, *, free: bool) -> list[Address]:
    """The addresses of a host, once each. Raises Refused unless all are public (or `free`), OSError."""
    own = literal(host)
    found = list(dict.fromkeys([own] if own is not None else resolver(host, port)))
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "no address")
    if not free and not all(public(address) for address in found):
        raise Refused("The host is not on the public internet.")
    return found


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _of_tls(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
