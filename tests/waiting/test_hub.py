"""The hub beside a layer between processes that can be held, lost and found again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from django.conf import settings

from apps.core import db
from apps.core import wake as module
from apps.core.wake import Hub, Waiter
from tests.harness.wait import until_async


class Layer:
    """A channel layer in one process: what was joined, left and sent."""

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.sent: list[dict[str, str]] = []
        self.away = False
        self.leaving: asyncio.Event | None = None  # set: whoever leaves a group waits for it
        self.left = 0
        self.deaf = False  # True: sending hangs, and takes its cancellation for an answer
        self.inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    def _check(self) -> None:
        if self.away:
            raise ConnectionError

    async def new_channel(self) -> str:
        self._check()
        return "specific.one"

    async def receive(self, channel: str) -> dict[str, str]:
        return await self.inbox.get()

    async def group_add(self, group: str, channel: str) -> None:
        self._check()
        self.groups.add(group)

    async def group_discard(self, group: str, channel: str) -> None:
        self._check()
        self.groups.discard(group)
        self.left += 1
        if self.leaving is not None:
            await self.leaving.wait()

    async def group_send(self, group: str, message: dict[str, str]) -> None:
        self._check()
        self.sent.append(message)
        if self.deaf:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def flush(self) -> None:
        self.groups.clear()


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> Layer:
    layer = Layer()
    monkeypatch.setattr(module, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(module, "_REDIS_SECONDS", 0.05)
    monkeypatch.setattr(module, "_readers", {})
    monkeypatch.setattr(settings.RELAYGER, "redis_url", "redis://nowhere")
    monkeypatch.setattr(settings.RELAYGER, "sweep_seconds", 86400)
    return layer


@pytest.fixture
async def hub(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    hub = Hub()
    monkeypatch.setattr(module, "hub", hub)
    await hub.start()
    await until(lambda: hub._channel is not None)
    yield hub
    await hub.stop()


async def until(condition: Any) -> None:
    async def check() -> bool:
        return bool(condition())

    await until_async(check, 5)


async def test_a_waiter_is_in_its_groups_before_it_reads(hub: Hub, layer: Layer) -> None:
    waiter = Waiter(["thread:a", "cred:b"])
    await hub.join(waiter)
    assert layer.groups == {"thread.a", "cred.b"}
    await layer.inbox.put({"type": "wake", "topic": "thread:a", "from": "another"})
    assert await waiter.wait(5)
    await layer.inbox.put({"type": "wake", "topic": "thread:other", "from": "another"})
    assert not await waiter.wait(0)


async def test_own_wake_ups_wake_once_and_are_sent_once(hub: Hub, layer: Layer) -> None:
    waiter = Waiter(["thread:a"])
    await hub.join(waiter)
    hub.deliver(["thread:a"])
    assert await waiter.wait(5)
    await until(lambda: layer.sent)
    assert [message["topic"] for message in layer.sent] == ["thread:a"]
    await layer.inbox.put(layer.sent[0])
    await until(lambda: layer.inbox.empty())
    assert not await waiter.wait(0)


async def test_a_group_is_left_when_nobody_waits_any_more(hub: Hub, layer: Layer) -> None:
    first, second = Waiter(["thread:a"]), Waiter(["thread:a"])
    await hub.join(first)
    await hub.join(second)
    hub.leave(first)
    await hub.sweep()
    assert layer.groups == {"thread.a"}
    hub.leave(second)
    assert hub.waiting == 0
    await hub.sweep()
    assert layer.groups == set()


async def test_who_comes_while_the_group_is_being_left_is_in_it(hub: Hub, layer: Layer) -> None:
    first, second = Waiter(["thread:a"]), Waiter(["thread:a"])
    await hub.join(first)
    hub.leave(first)
    layer.leaving = asyncio.Event()
    sweep = asyncio.create_task(hub.sweep())
    await until(lambda: layer.left == 1)
    await hub.join(second)
    layer.leaving.set()
    await sweep
    assert layer.groups == {"thread.a"}
    await hub.sweep()
    assert layer.groups == {"thread.a"}


async def test_who_comes_while_another_group_is_being_left_stays(hub: Hub, layer: Layer) -> None:
    """The sweep looks again at who waits after each pause."""
    waiters = [Waiter([f"thread:{name}"]) for name in "abcdef"]
    for waiter in waiters:
        await hub.join(waiter)
        hub.leave(waiter)
    layer.leaving = asyncio.Event()
    sweep = asyncio.create_task(hub.sweep())
    await until(lambda: layer.left == 1)
    for waiter in waiters:
        await hub.join(waiter)
    layer.leaving.set()
    await sweep
    assert layer.groups == {f"thread.{name}" for name in "abcdef"}


async def test_without_the_layer_waits_go_on(hub: Hub, layer: Layer) -> None:
    layer.away = True
    waiter = Waiter(["thread:a"])
    await hub.join(waiter)
    assert not hub.connected
    hub.deliver(["thread:a"])
    assert await waiter.wait(5)
    assert hub.failures >= 1
    layer.away = False

    async def joined() -> bool:
        await hub.sweep()
        return layer.groups == {"thread.a"}

    await until_async(joined, 5)
    assert hub.connected


async def test_who_came_before_the_channel_is_joined_with_it(layer: Layer) -> None:
    layer.away = True
    hub = Hub()
    await hub.start()
    try:
        waiter = Waiter(["thread:a"])
        await hub.join(waiter)
        assert layer.groups == set()
        layer.away = False
        await until(lambda: layer.groups == {"thread.a"})
    finally:
        await hub.stop()


async def test_a_sweep_wakes_those_who_know_something_else(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def read(subjects: list[str]) -> dict[str, Any]:
        asked.append(sorted(subjects))
        return {"a": 2, "b": 2}

    async def run(fn: Any) -> Any:
        return fn()

    monkeypatch.setitem(module._readers, "thread", read)
    monkeypatch.setattr(db, "run", run)
    old, same, gone, fresh = (Waiter([f"thread:{name}"]) for name in "abca")
    for waiter in (old, same, gone, fresh):
        await hub.join(waiter)
    old.know("thread:a", 1)
    same.know("thread:b", 2)
    gone.know("thread:c", 1)
    await hub.sweep()
    assert asked == [["a", "b", "c"]]
    assert [await waiter.wait(0) for waiter in (old, same, gone, fresh)] == [True, False, True, False]


async def test_a_wake_up_before_the_wait_is_kept(hub: Hub) -> None:
    waiter = Waiter(["thread:a"])
    await hub.join(waiter)
    waiter.wake()
    assert await waiter.wait(0)
    assert not await waiter.wait(0)


async def test_draining_ends_waits(hub: Hub) -> None:
    waiter = Waiter(["thread:a"])
    await hub.join(waiter)
    wait = asyncio.create_task(waiter.wait(25))
    await asyncio.sleep(0)
    hub.drain()
    assert await asyncio.wait_for(wait, 2) is False
    assert await waiter.wait(25) is False


async def test_the_end_comes_although_a_cancellation_is_swallowed(
    layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_REDIS_SECONDS", 20)
    hub = Hub()
    await hub.start()
    layer.deaf = True
    hub.deliver(["thread:a"])
    await until(lambda: layer.sent)
    await asyncio.wait_for(hub.stop(), 5)
