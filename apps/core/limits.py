"""How often and how much at once: counters on the shared cache, and slots in this process."""

from __future__ import annotations

import ipaddress
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache import BaseCache, caches
from django.http import HttpRequest
from django_ratelimit.core import get_usage

from apps.core.errors import Code, DomainError

logger = logging.getLogger(__name__)

T = TypeVar("T")

_HERE_SECONDS = 5.0  # how long the count stays in this process once the shared cache has failed
_here_until = 0.0

# What the call that runs has counted so far: by group the most, what is left, and the seconds until it begins anew.
_counted: ContextVar[dict[str, tuple[int, int, int]] | None] = ContextVar("counted", default=None)
_held: Counter[tuple[str, int]] = Counter()
_held_lock = threading.Lock()  # slots are taken on the database's threads too


def hit(group: str, key: str | int) -> None:
    """Count one call of `key` (an identity or an address) in `group`, whose rate is RELAYGER_RATE_<GROUP>.

    Raises rate_limited, with the seconds until the window ends, past the rate. When the shared cache fails the
    count goes on in this process.
    """
    rate: str = getattr(settings.RELAYGER, f"rate_{group}")
    usage = _usage(group, str(key), rate)
    if usage is None:
        return
    seconds = max(int(usage["time_left"]), 1)
    if (counted := _counted.get()) is not None:
        counted[group] = (usage["limit"], max(usage["limit"] - usage["count"], 0), seconds)
    if usage["should_limit"]:
        raise DomainError(
            Code.RATE_LIMITED,
            f"More than {rate} calls of the kind {group}.",
            next="Wait, then send the same call again.",
            retry_after=seconds,
        )


def counting() -> Callable[[], list[tuple[str, str]]]:
    """Begin to note what this call counts; what it returns gives the headers that tell of it.

    Source: draft-ietf-httpapi-ratelimit-headers, RateLimit-Policy and RateLimit.
    """
    counted: dict[str, tuple[int, int, int]] = {}
    _counted.set(counted)

    def headers() -> list[tuple[str, str]]:
        if not counted:
            return []
        policy = ", ".join(f'"{group}";q={most}' for group, (most, _, _) in counted.items())
        left = ", ".join(f'"{group}";r={rest};t={seconds}' for group, (_, rest, seconds) in counted.items())
        return [("RateLimit-Policy", policy), ("RateLimit", left)]

    return headers


class CacheAway(Exception):
    """The shared cache fails, or failed just before."""


def shared(call: Callable[[BaseCache], T]) -> T:
    """Call the cache that all processes share. Raises CacheAway; then nothing may depend on it.

    A cache that fails must not take the service with it, nor may each call wait for one that hangs.
    """
    global _here_until
    if time.monotonic() < _here_until:
        raise CacheAway
    try:
        return call(caches["limits"])
    except Exception as error:  # whatever its client raises
        _here_until = time.monotonic() + _HERE_SECONDS
        logger.warning("the shared cache fails, limits count per process: %s", type(error).__name__)
        raise CacheAway from error


def _usage(group: str, key: str, rate: str) -> dict[str, Any] | None:
    try:
        return shared(lambda _cache: _count(group, key, rate))
    except CacheAway:
        return _count_here(group, key, rate)


def _count(group: str, key: str, rate: str) -> dict[str, Any] | None:
    usage: dict[str, Any] | None = get_usage(
        HttpRequest(), group=group, key=lambda _group, _request: key, rate=rate, increment=True
    )
    return usage


def _count_here(group: str, key: str, rate: str) -> dict[str, Any] | None:
    shared = caches["limits"]
    try:
        # django-ratelimit names its cache by setting only; for this thread the alias means the local one.
        caches["limits"] = caches["default"]
        return _count(group, key, rate)
    finally:
        caches["limits"] = shared


def client_address(peer: str | None, forwarded: Sequence[str]) -> str:
    """The client's address, an IPv6 one as its /64.

    `forwarded` holds the values of X-Forwarded-For, of which only what the configured number of trusted
    proxies appended is believed.
    """
    address = peer or ""
    proxies = settings.RELAYGER.trusted_proxies
    if proxies:
        hops = [hop.strip() for value in forwarded for hop in value.split(",") if hop.strip()]
        if len(hops) >= proxies:
            address = hops[-proxies]
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return peer or ""
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        # By its integer: a zone (`fe80::1%eth0`) has no place in a network's name.
        return str(ipaddress.ip_network((int(parsed), settings.RATELIMIT_IPV6_MASK), strict=False))
    return str(parsed)


@contextmanager
def slot(kind: str, identity: int, most: int) -> Iterator[None]:
    """Hold one of an identity's `most` slots for waiting calls of a kind. Raises too_many_waits."""
    key = (kind, identity)
    with _held_lock:
        if _held[key] >= most:
            raise DomainError(
                Code.TOO_MANY_WAITS,
                f"This identity already has {most} calls waiting.",
                next="End one of them, or wait for it.",
                retry_after=1,
            )
        _held[key] += 1
    try:
        yield
    finally:
        with _held_lock:
            _held[key] -= 1
            if not _held[key]:
                del _held[key]
