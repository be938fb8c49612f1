"""What stops for a while slows delivery, and loses and doubles nothing."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from tests.chats.test_messages import post
from tests.harness.cast import Cast
from tests.harness.environment import SETUP
from tests.harness.service import Starter
from tests.live.world import Socket, Stream, socket, stream
from tests.waiting.test_processes import at, own_redis
from tests.webhooks.conftest import LOCAL, sending
from tests.webhooks.receiver import receiving
from tests.webhooks.world import make, settled, tell

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(SETUP != "deployment", reason="the embedded service needs neither Redis nor Celery"),
]

AWAY = 20.0
LATE = 6.0
SLACK = 2.0  # what a busy machine adds
EVERY = 0.25


def read_stream(live: Stream, into: dict[str, float], most: int) -> None:
    while len(into) < most:
        event = live.event(LATE + 30)["data"]
        if event["type"] == "message.created":
            into[event["object"]["message"]["text"]] = time.monotonic()


def read_socket(live: Socket, into: dict[str, float], most: int) -> None:
    while len(into) < most:
        frame = json.loads(live.line.recv(timeout=LATE + 30))
        for event in frame.get("events", []):
            if event["type"] == "message.created":
                into[event["object"]["message"]["text"]] = time.monotonic()


def test_redis_is_away_for_twenty_seconds(fresh_server: Starter, tmp_path: Path) -> None:
    with own_redis(tmp_path) as redis:
        first = fresh_server(REDIS_URL=redis.url)
        shared = {name: first.environ[name] for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")}
        second = fresh_server(**shared)
        cast = Cast(first)
        alice, bob = cast.friends
        there = at(bob, second)
        many = int((AWAY + 10) / EVERY)
        said: dict[str, float] = {}
        found: list[dict[str, float]] = [{}, {}]
        with stream(there, after="latest") as streaming, socket(there, at=second) as live:
            readers = [
                threading.Thread(target=read_stream, args=(streaming, found[0], many), daemon=True),
                threading.Thread(target=read_socket, args=(live, found[1], many), daemon=True),
            ]
            for reader in readers:
                reader.start()
            start = time.monotonic()
            away = back = False
            for number in range(many):
                said[str(number)] = time.monotonic()
                post(alice, bob.number, str(number))
                elapsed = time.monotonic() - start
                if not away and elapsed > 3:
                    redis.stop()
                    away = True
                if not back and elapsed > 3 + AWAY:
                    redis.start()
                    back = True
                time.sleep(max(0, start + (number + 1) * EVERY - time.monotonic()))  # the load's own pace
            assert away
            assert back
            for reader in readers:
                reader.join(LATE + 30)
        for heard in found:
            assert list(heard) == list(said)
            assert max(heard[text] - said[text] for text in said) < LATE + SLACK
        there.close()
        cast.close()


def test_the_workers_are_away(fresh_server: Starter) -> None:
    service = sending(fresh_server(jobs=True, **LOCAL))
    cast = Cast(service)
    alice, bob = cast.friends
    with receiving() as receiver:
        hook = make(bob, receiver.url)
        tell(bob, alice)
        settled(bob, hook, 1, 60)  # written down, too: else it would rightly come again
        service.stop_workers()
        waiting = tell(bob, alice, 5)
        assert len(receiver.pings) == 1
        service.start_workers()
        receiver.wait(2, 60)
        last = tell(bob, alice)
        pings = receiver.wait(2 + len(waiting), 60)
        assert [ping.seq for ping in pings][1:] == [*waiting, *last]
        assert len({ping.id for ping in pings}) == len(pings)
        assert all(ping.verify(hook["secret"]) for ping in pings)
    cast.close()
