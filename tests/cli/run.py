"""Running the command, in this process and in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from relayger.cli import config
from tests.harness.cast import Person


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


class Relayger(Protocol):
    """The `relayger` fixture."""

    def __call__(self, *words: str, code: int | None = 0, stdin: str | bytes = b"") -> Run: ...


def sign_in(person: Person, profile: str = "default") -> None:
    """Keep a person of the cast as a profile."""
    origin = person.service.origin
    config.save(config.Profile(profile, origin, person.number, person.handle, person.token))


def start(*words: str, log: Path, **environ: str) -> subprocess.Popen[bytes]:
    """Start the command as a process of its own, with everything it prints in `log`."""
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "relayger.cli", *words],
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environ},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
