"""PostgreSQL databases and Redis database numbers that belong to one test process for as long as it lives."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis

from tests.harness.wait import until

ROOT = Path(__file__).resolve().parents[2]
DATABASE_URL = os.environ.get("TEST_DATABASE_URL") or "postgresql://postgres@127.0.0.1:5432/postgres"
REDIS_URL = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379"
SECRET_KEY = "a-key-that-only-tests-ever-use-and-nobody-keeps"

# The process id in each name tells a later run what a killed one has left behind.
_OURS = re.compile(r"(?:test_)?relayger_pytest_(\d+)_")
_LEASE = "relayger-pytest:"
LEASE_SECONDS = 120
_numbers = itertools.count(1)


def database_url(name: str) -> str:
    """The URL of database `name` on the server that the tests use."""
    return urlsplit(DATABASE_URL)._replace(path=f"/{name}").geturl()


def redis_url(number: int) -> str:
    """The URL of Redis database `number` on the server that the tests use."""
    return urlsplit(REDIS_URL)._replace(path=f"/{number}").geturl()


def unreachable() -> str | None:
    """Why the services cannot be used, or None when both answer."""
    try:
        psycopg.connect(DATABASE_URL, connect_timeout=3).close()
        with redis.Redis.from_url(redis_url(0), socket_connect_timeout=3) as client:
            client.ping()
    except (psycopg.OperationalError, redis.RedisError) as error:
        return str(error).strip().splitlines()[0]
    return None


def settings(database: str, redis_number: int) -> dict[str, str]:
    """The environment of a service that uses this database and this Redis database."""
    return {
        "DATABASE_URL": database_url(database),
        "REDIS_URL": redis_url(redis_number),
        "SECRET_KEY": SECRET_KEY,
    }


def name(what: str) -> str:
    """A database name that no other test process uses."""
    return f"relayger_pytest_{os.getpid()}_{what}"


def sql(statement: str) -> list[tuple[str]]:
    """Run one statement outside any transaction, as CREATE and DROP DATABASE need it."""
    with psycopg.connect(DATABASE_URL, autocommit=True, connect_timeout=5) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def drop(database: str) -> None:
    """Drop a database, whoever is still connected to it."""
    sql(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')


class Template:
    """A migrated database that each service gets a copy of: copying takes a tenth of the migrations' time."""

    def __init__(self) -> None:
        self._name: str | None = None

    def copy(self) -> str:
        """Make a migrated database and return its name; the caller drops it."""
        if self._name is None:
            drop_leftovers()
            template = name("template")
            drop(template)
            sql(f'CREATE DATABASE "{template}"')
            migrate(template)
            self._name = template
        copy = name(str(next(_numbers)))
        sql(f'CREATE DATABASE "{copy}" TEMPLATE "{self._name}"')
        return copy

    def close(self) -> None:
        """Drop the template."""
        drop(name("template"))
        self._name = None


def migrate(database: str) -> None:
    """Bring a database up to date, as an operator would."""
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env={**os.environ, **settings(database, 0)},
        check=True,
        timeout=120,
    )


def drop_leftovers() -> None:
    """Drop the databases of test processes that were killed on this machine."""
    if urlsplit(DATABASE_URL).hostname not in (None, "127.0.0.1", "localhost", "::1"):
        return
    for (database,) in sql("SELECT datname FROM pg_database"):
        ours = _OURS.match(database)
        if ours and not _alive(int(ours[1])):
            drop(database)


def lease_redis() -> int:
    """Take an empty Redis database number for this process alone, waiting a while for others to end theirs."""
    return until(_lease, LEASE_SECONDS, "one of the Redis databases 1 to 15 being free (see TEST_REDIS_URL)")


def _lease() -> int | None:
    with redis.Redis.from_url(redis_url(0), decode_responses=True) as leases:
        for number in range(1, 16):
            key = f"{_LEASE}{number}"
            owner = leases.get(key)
            # A number in use by anybody but a dead test process is left alone, whatever it holds.
            if owner is not None and not _alive(int(owner)):
                release_redis(number)
            with redis.Redis.from_url(redis_url(number)) as client:
                if client.dbsize() == 0 and leases.set(key, os.getpid(), nx=True):
                    return number
    return None


def release_redis(number: int) -> None:
    """Empty a leased Redis database and give its number back."""
    with redis.Redis.from_url(redis_url(number)) as client:
        client.flushdb()
    with redis.Redis.from_url(redis_url(0)) as leases:
        leases.delete(f"{_LEASE}{number}")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
