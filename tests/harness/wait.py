"""Waiting for something to become true, never for a time to pass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

STEP = 0.02


def until(condition: Callable[[], T], seconds: float = 10, what: str = "the condition") -> T:
    """Call `condition` until what it returns is true, and return that.

    Raises AssertionError after `seconds`.
    """
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not come true within {seconds} s"
        time.sleep(STEP)
    return value


async def until_async(
    condition: Callable[[], Awaitable[T]], seconds: float = 10, what: str = "the condition"
) -> T:
    """The same for a coroutine function."""
    end = time.monotonic() + seconds
    while not (value := await condition()):
        assert time.monotonic() < end, f"{what} did not come true within {seconds} s"
        await asyncio.sleep(STEP)
    return value
