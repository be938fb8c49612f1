"""Two processes of one deployment: what one commits wakes who waits at the other."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis as client

from tests.harness import deployment
from tests.harness.cast import Cast, Person
from tests.harness.environment import SETUP
from tests.harness.service import QUIET, Service, Starter, free_port
from tests.harness.wait import until
from tests.waiting.test_live import head, park

pytestmark = pytest.mark.skipif(SETUP != "deployment", reason="the embedded service is one process")

SOON = 2.0


def beside(first: Service, start: Starter) -> Service:
    """Another process on the same data, whose sweep never comes."""
    shared = {name: first.environ[name] for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")}
    return start(**QUIET, **shared)


def at(person: Person, service: Service) -> Person:
    """The same person, calling another process."""
    return Person(service, person.me, person.token)


async def test_an_answer_at_one_wakes_who_waits_at_the_other(fresh_server: Starter) -> None:
    first = fresh_server(**QUIET)
    second = beside(first, fresh_server)
    cast = Cast(first)
    alice, bob = cast.friends
    there = at(bob, second)
    thread = alice.ask(bob)
    path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
    async with alice.async_http() as asking, there.async_http() as answering:
        (look,) = await park(asking, first, [path])
        (poll,) = await park(answering, second, [f"/v1/inbox?after={head(bob)}&wait=25"])
        more = await asyncio.to_thread(alice.ask, bob)
        start = time.monotonic()
        (event,) = (await poll).json()["events"]
        assert event["object"]["thread"]["id"] == more["id"]
        await asyncio.to_thread(there.reply, thread["id"])
        assert (await look).json()["state"] == "answered"
        assert time.monotonic() - start < SOON

        (look,) = await park(asking, first, [f"/v1/threads/{more['id']}?after={more['generation']}&wait=25"])
        revoke(first, alice)
        start = time.monotonic()
        assert (await look).status_code == 401
        assert time.monotonic() - start < SOON
    there.close()
    cast.close()


REVOKE = """
import sys, django
django.setup()
from apps.core import db, times, wake
from apps.identities import secrets
from apps.identities.models import Credential
with db.write():
    one = Credential.objects.get(hash=secrets.digest(sys.stdin.read()))
    Credential.objects.filter(id=one.id).update(revoked_at=times.now())
    wake.wake([f"cred:{one.id.hex}"])
"""


def revoke(service: Service, person: Person) -> None:
    """Take a token away from a process that serves nothing, as a command or a job would."""
    environ = {**service.environ, "DJANGO_SETTINGS_MODULE": "relayger.settings"}
    subprocess.run(
        [sys.executable, "-c", REVOKE],
        cwd=deployment.ROOT,
        env={**environ, "PATH": ""},
        input=person.token,
        text=True,
        check=True,
        timeout=60,
    )


class Redis:
    """A redis-server of one's own, to stop and start."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
        with client.Redis(port=self.port) as connection:

            def answers() -> bool:
                try:
                    return bool(connection.ping())
                except client.RedisError:
                    return False

            until(answers, what="redis-server")

    def flush(self) -> None:
        """Forget everything."""
        with client.Redis(port=self.port) as connection:
            connection.flushall()

    def freeze(self) -> None:
        """Stay connected and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


@contextmanager
def own_redis(folder: Path) -> Iterator[Redis]:
    redis = Redis(folder)
    try:
        redis.start()
        yield redis
    finally:
        redis.stop()


@pytest.mark.faults
async def test_without_redis_the_sweep_delivers(fresh_server: Starter, tmp_path: Path) -> None:
    with own_redis(tmp_path) as redis:
        sweep = {**QUIET, "RELAYGER_SWEEP_SECONDS": "1"}
        first = fresh_server(**sweep, REDIS_URL=redis.url)
        shared = {name: first.environ[name] for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")}
        second = fresh_server(**sweep, **shared)
        cast = Cast(first)
        alice, bob = cast.friends
        there = at(bob, second)
        async with alice.async_http() as http:

            async def exchange(*, lost: bool) -> float:
                thread = await asyncio.to_thread(alice.ask, bob)
                path = f"/v1/threads/{thread['id']}?after={thread['generation']}&wait=25"
                (look,) = await park(http, first, [path])
                if lost:
                    await asyncio.to_thread(redis.stop)
                await asyncio.to_thread(there.reply, thread["id"])
                start = time.monotonic()
                assert (await look).json()["state"] == "answered"
                return time.monotonic() - start

            assert await exchange(lost=False) < SOON
            assert await exchange(lost=True) < 8  # a sweep, and the second that a lost layer may cost
            assert await exchange(lost=False) < 8  # asked and answered while it is away
            assert first.http.get("/readyz").json()["status"] == "degraded"
            await asyncio.to_thread(redis.start)
            await asyncio.to_thread(
                until, lambda: first.http.get("/readyz").json()["status"] == "ok", 30, "readiness"
            )
            assert await exchange(lost=False) < 8
            redis.flush()
            assert await exchange(lost=False) < SOON
        there.close()
        cast.close()


@pytest.mark.faults
def test_a_redis_that_hangs_delays_the_first_calls_only(fresh_server: Starter, tmp_path: Path) -> None:
    with own_redis(tmp_path) as redis:
        service = fresh_server(**QUIET, REDIS_URL=redis.url)
        cast = Cast(service)
        alice, bob = cast.friends
        redis.freeze()
        bob.inbox()  # counts here from now on
        start = time.monotonic()
        for _ in range(5):
            thread = alice.ask(bob)["id"]
            bob.reply(thread)
            assert alice.thread(thread, wait=25)["state"] == "answered"
        assert time.monotonic() - start < 10, "fifteen calls, which a second each would make fifteen"
        cast.close()


@pytest.mark.faults
def test_lost_connections_cost_a_moment(fresh_server: Starter) -> None:
    service = fresh_server(**QUIET)
    cast = Cast(service)
    alice, bob = cast.friends
    name = str(service.database).rsplit("/", 1)[-1]
    for _ in range(3):
        with psycopg.connect(deployment.DATABASE_URL, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
        for call in (
            lambda: alice.get("/v1/inbox"),
            lambda: alice.post("/v1/threads", json={"to": bob.number, "text": "How?"}),
        ):

            def fine(call: object = call) -> bool:
                answer = call()  # type: ignore[operator]
                assert answer.status_code in (200, 201, 503), answer.text
                assert answer.status_code != 503 or "retry-after" in answer.headers
                return bool(answer.is_success)

            until(fine, 10, "an answer")
    assert "Traceback" not in service.log()
    cast.close()
