"""The shared cache as rate limits use it: one client of Redis for the process, one round trip a count."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient

_MOST_KNOWN = 50_000


class CountingClient(RedisCacheClient):
    """Django's client, but what was added once is not asked for again, and counting needs no look before.

    Only for counters, each under a key that names its window: one that has expired meanwhile starts anew.
    """

    def __init__(self, servers: Any, **options: Any) -> None:
        super().__init__(servers, **options)
        self._known: dict[Any, Any] = {}  # keys that are there, and how many seconds they are kept

    def add(self, key: Any, value: Any, timeout: Any) -> bool:
        if key in self._known:
            return False
        added = bool(super().add(key, value, timeout))
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[key] = timeout
        return added

    def incr(self, key: Any, delta: int) -> int:
        with self.get_client(key, write=True).pipeline(transaction=False) as both:
            both.incr(key, delta)
            both.expire(key, self._known.get(key, 86400))
            count: int = both.execute()[0]
        return count


class CountingCache(RedisCache):
    """A cache of counters whose client, with its connections, is shared by the process.

    Django makes a cache for each thread, and its handler a thread for each request: each would connect anew.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _client


@cache
def _shared(servers: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> CountingClient:
    return CountingClient(list(servers), **dict(options))


def _client(servers: list[str], **options: Any) -> CountingClient:
    return _shared(tuple(servers), tuple(sorted(options.items())))
