"""A pytest plugin that points in-process tests at data of their own.

pytest-django reads the settings before any conftest.py, so this is named by `-p` in pyproject.toml and works
when it is imported. TEST_SETUP is `embedded` (the default) or `deployment`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

SETUP = os.environ.get("TEST_SETUP") or "embedded"
SCRATCH = Path(tempfile.mkdtemp(prefix="relayger-pytest-"))
# Tests ask faster than people do; those about limits set their own.
UNHURRIED = {
    "RELAYGER_RATE_REGISTER": "100000/h",
    "RELAYGER_RATE_HANDLE": "100000/h",
    "RELAYGER_RATE_CONTACT": "100000/h",
    "RELAYGER_RATE_ASK": "100000/m",
    "RELAYGER_RATE_PAIR": "100000/m",
    "RELAYGER_RATE_FILE": "100000/m",
    "RELAYGER_RATE_SEARCH": "100000/m",
    "RELAYGER_RATE_ROOM": "100000/m",
    "RELAYGER_RATE_REPORT": "100000/m",
    "RELAYGER_RATE_EXPORT": "100000/m",
    "RELAYGER_RATE_LOGIN": "100000/m",
    "RELAYGER_RATE_PING": "100000/m",
    "RELAYGER_RATE_REPLY": "100000/m",
    "RELAYGER_RATE_WRITE": "100000/m",
    "RELAYGER_RATE_READ": "100000/m",
    "RELAYGER_RATE_PUBLIC": "100000/m",
}
SETTINGS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "SECRETS_KEY")


def clean(environ: dict[str, str]) -> dict[str, str]:
    """The environment without any setting of the service, so that a developer's own never leak into tests."""
    return {
        key: value
        for key, value in environ.items()
        if key not in SETTINGS and not key.startswith("RELAYGER_")
    }


def _choose() -> dict[str, str]:
    """The settings of the in-process tests in this process (each xdist worker is one)."""
    if SETUP == "embedded":
        return {}
    if SETUP != "deployment":
        raise SystemExit(f"TEST_SETUP: {SETUP!r} is neither embedded nor deployment")
    from tests.harness import deployment  # noqa: PLC0415  the embedded set-up needs neither client

    number = deployment.lease_redis()
    atexit.register(partial(deployment.release_redis, number))
    # Django's test runner creates the database, under this name with a prefix, when a test first asks for it.
    return deployment.settings(deployment.name("django"), number)


_kept = clean(dict(os.environ))
os.environ.clear()
os.environ.update(_kept)
os.environ.update(_choose() | UNHURRIED)
os.environ["RELAYGER_VAR"] = str(SCRATCH / "var")
atexit.register(partial(shutil.rmtree, SCRATCH, ignore_errors=True))
