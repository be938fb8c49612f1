"""What a run starts and makes for itself, and takes away again: processes, databases, a folder."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import orjson

from benchmarks.load import Job, Result
from benchmarks.wire import BenchmarkError
from relayger.config import Config
from tests.harness import deployment

START_SECONDS = 60.0
ROOT = deployment.ROOT

# A benchmark is one address and few identities asking as fast as they can.
UNLIMITED = {
    **{f"RELAYGER_{name.upper()}": "999999999/m" for name in Config.model_fields if name.startswith("rate_")},
    "RELAYGER_MAX_LONG_POLLS": "10000",
    "RELAYGER_MAX_A2A_WAITS": "10000",
}


class Process:
    """A program of the run, with its output in a file."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.name, self._log = name, log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=_clean() | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
            )

    @property
    def input(self) -> IO[bytes]:
        """The program's standard input."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        """The program's standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def line(self) -> bytes:
        """The next line of its output. Raises BenchmarkError when it ended instead."""
        line = self.output.readline()
        if not line:
            raise self.failure()
        return line

    def listening(self, port: int) -> None:
        """Wait until something listens on `port`. Raises BenchmarkError."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.running:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise self.failure()

    def cpu(self) -> float:
        """Processor seconds spent so far by the program with all its threads; 0 where /proc does not tell."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def failure(self) -> BenchmarkError:
        """What to raise when the program does not do its part."""
        return BenchmarkError(f"{self.name} failed:\n{self._log.read_text(errors='replace')[-3000:]}")

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it, at once if it does not end by itself."""
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.input.close()
        self.output.close()


class Load:
    """The load generator's process."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def run(self, job: Job) -> Result:
        """Have a job done. Raises BenchmarkError when any call of it went wrong."""
        self._process.input.write(orjson.dumps(job) + b"\n")
        self._process.input.flush()
        result = Result(**orjson.loads(self._process.line()))
        if result.error is not None:
            raise BenchmarkError(f"{job.call} at {job.path}: {result.error}")
        return result


class Stage(ExitStack):
    """All that a run needs; leaving it takes everything away, however the run ended."""

    def __init__(self) -> None:
        super().__init__()
        self._processes: list[Process] = []
        self._settings: dict[str, str] = {}
        self._why: str | None = None
        self.redis: str | None = None

    def prepare(self, *, embedded: bool) -> None:
        """Make the folder and the databases. Raises BenchmarkError when Redis has no free database number."""
        self._why = "as asked" if embedded else deployment.unreachable()
        self.folder = Path(tempfile.mkdtemp(prefix="relayger-bench-"))
        self.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._settings = {**UNLIMITED, "RELAYGER_VAR": str(self.folder / "var")}
        if self._why is None:
            self._deploy()
        self.callback(self.clear)  # last, so that it is first: databases are dropped when nobody uses them

    def _deploy(self) -> None:
        deployment.drop_leftovers()
        try:
            number = deployment.lease_redis()
        except RuntimeError as error:
            raise BenchmarkError(str(error)) from error
        self.callback(deployment.release_redis, number)
        self._database("peer")
        database = self._database("bench")
        deployment.migrate(database)
        self.redis = deployment.redis_url(number)
        self._settings |= deployment.settings(database, number)

    @property
    def storage(self) -> str:
        """Where both servers keep their data, in words."""
        if self._why is None:
            return "PostgreSQL + Redis"
        return f"EMBEDDED, both on SQLite ({self._why})"

    def _database(self, what: str) -> str:
        name = deployment.name(what)
        deployment.sql(f'CREATE DATABASE "{name}"')
        self.callback(deployment.drop, name)
        return name

    def start(self, name: str, *command: str, environment: dict[str, str] | None = None) -> Process:
        """Start a Python module of ours; it ends with the stage."""
        log = self.folder / f"{name}-{secrets.token_hex(4)}.log"
        process = Process(name, [sys.executable, "-m", *command], environment or {}, log)
        self._processes.append(process)
        return process

    def clear(self) -> None:
        """Stop all programs, the last started first."""
        while self._processes:
            self._processes.pop().stop()

    def explain(self, error: BenchmarkError) -> str:
        """The error with what it may come from: the last words of programs that ended."""
        ended = [process.failure() for process in self._processes if not process.running]
        return "\n".join(map(str, [error, *ended]))

    def service(self, *, observed: bool = False) -> tuple[Process, int]:
        """One more process of the service, on the run's database; returns it and its port."""
        port = free_port()
        origin = {"RELAYGER_ORIGIN": f"http://127.0.0.1:{port}"}
        command = ["benchmarks.observed"] if observed else ["relayger.cli", "serve", "--no-agent"]
        command += ["--port", str(port)]
        process = self.start("relayger", *command, environment=self._settings | origin)
        process.listening(port)
        return process, port

    def peer(self, connections: int) -> tuple[Process, int]:
        """The official SDK's server with a database of its own; returns it and its port."""
        port = free_port()
        if self._why is None:
            url = deployment.database_url(deployment.name("peer"))
            url = url.replace("postgresql://", "postgresql+asyncpg://", 1)
        else:
            url = f"sqlite+aiosqlite:///{self.folder / 'peer.sqlite3'}"
        command = ["benchmarks.peer", "--port", str(port), "--database", url, "--pool", str(connections)]
        process = self.start("a2a-sdk", *command)
        process.listening(port)
        return process, port

    def worker(self, port: int, *options: Any) -> Process:
        """A worker for the server at `port`, ready to answer."""
        process = self.start("worker", "benchmarks.worker", "--port", str(port), *options)
        process.line()
        return process

    def load(self) -> Load:
        """The load generator."""
        return Load(self.start("load", "benchmarks.load"))


def _clean() -> dict[str, str]:
    """This process's environment without any setting of the service."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in deployment.settings("", 0) and not name.startswith("RELAYGER_")
    }


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
