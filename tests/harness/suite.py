"""Runs pytest once per set-up: embedded always, the deployment when PostgreSQL and Redis answer.

TEST_SETUP picks one set-up, REQUIRE_SERVICES=1 makes absent services an error, TEST_WORKERS sets how many
processes share the tests. All arguments go to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.harness import deployment


def run(setup: str, arguments: list[str]) -> int:
    """One pytest run; returns its exit code."""
    print(f"--- {setup}", flush=True)
    workers = os.environ.get("TEST_WORKERS") or "2"
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, *arguments]
    return subprocess.run(command, env={**os.environ, "TEST_SETUP": setup}, check=False).returncode


def main(arguments: list[str]) -> int:
    """Run what can be run and say what that was. Returns 0 only if every set-up passed."""
    only = os.environ.get("TEST_SETUP")
    if only not in (None, "", "embedded", "deployment"):
        print(f"TEST_SETUP: {only!r} is neither embedded nor deployment", file=sys.stderr)
        return 2
    why = None if only == "embedded" else deployment.unreachable()
    if why and (only == "deployment" or os.environ.get("REQUIRE_SERVICES") == "1"):
        print(f"PostgreSQL and Redis are needed and do not answer: {why}", file=sys.stderr)
        return 2
    setups = [only] if only else ["embedded"] if why else ["embedded", "deployment"]
    codes = {setup: run(setup, arguments) for setup in setups}
    for setup, code in codes.items():
        print(f"{setup}: {'passed' if code == 0 else f'failed (pytest exit {code})'}")
    if why:
        print(f"deployment: not run, because PostgreSQL and Redis do not both answer: {why}")
    return max(codes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
