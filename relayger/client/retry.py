"""When an uncertain call is worth repeating, and after how long."""

from __future__ import annotations

import random
from dataclasses import dataclass

from relayger.client.errors import APIError, NetworkError, RelaygerError

# 408: the body came too slowly. 502 and 504 are what a proxy says while the service behind it restarts.
_PASSING = frozenset({408, 429, 502, 503, 504})


def backoff(tried: int, first: float = 0.25, cap: float = 30.0) -> float:
    """Seconds to pause after the `tried`-th failure: doubling up to `cap`, with jitter."""
    span: float = min(cap, first * 2.0 ** min(tried - 1, 20))
    return span * random.uniform(0.5, 1.0)  # noqa: S311  spreads load, protects nothing


def passes(error: RelaygerError) -> bool:
    """Whether the same call may succeed a little later."""
    return isinstance(error, NetworkError) or (isinstance(error, APIError) and error.status in _PASSING)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how patiently a call is tried.

    1. Only what may pass is repeated: no connection, 408, 429, 502, 503, 504.
    2. A Retry-After is kept, unless it is longer than `patience`: then the caller is told instead.
    3. Each repeat sends the same body, so with the same `client_id`: the service stores it once.
    """

    tries: int = 5
    first: float = 0.25
    cap: float = 8.0
    patience: float = 30.0

    def pause(self, tried: int, error: RelaygerError) -> float | None:
        """Seconds to wait before the next try after `tried` ones, or None to give up."""
        if tried >= self.tries:
            return None
        if not passes(error):
            return None
        asked = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
        return None if asked > self.patience else asked + backoff(tried, self.first, self.cap)


ONCE = Retry(tries=1)
