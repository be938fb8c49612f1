"""A running service: started, stopped, killed and started again on the same data, as its operator would."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.harness import deployment
from tests.harness.environment import SETUP, UNHURRIED, clean
from tests.harness.wait import until

# Nothing happens by the clock: for counting statements.
QUIET = {
    "RELAYGER_SWEEP_SECONDS": "86400",
    "RELAYGER_JOB_SECONDS": "86400",
    "RELAYGER_OUTBOX_SECONDS": "86400",
}
START_SECONDS = 60
STOP_SECONDS = 30

template = deployment.Template()


class Service:
    """One `relayger serve` with data of its own.

    `environ` overrides any setting; `agent` says whether @relayger answers, `jobs` whether a deployment has Celery's
    worker and beat beside it (the embedded service has its jobs inside). Use it as a context manager, or
    call `start()` and, at the end, `close()`.
    """

    def __init__(
        self, *, agent: bool = False, jobs: bool = False, setup: str = SETUP, **environ: str
    ) -> None:
        self.setup = setup
        self.agent = agent
        self.jobs = jobs
        self._workers: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.folder = Path(tempfile.mkdtemp(prefix="relayger-service-"))
        self.log_path = self.folder / "log"
        self._database: str | None = None
        self._redis: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(base_url=self.origin, timeout=40)
        self.clients = {self.http}  # closed with the service, unless their owner did it before
        self.environ = {
            "RELAYGER_ORIGIN": self.origin,
            "RELAYGER_VAR": str(self.folder / "var"),
            **UNHURRIED,
            **self._place(),
            **environ,
        }

    def _place(self) -> dict[str, str]:
        if self.setup == "embedded":
            return {}
        self._database = template.copy()
        self._redis = deployment.lease_redis()
        return deployment.settings(self._database, self._redis)

    def __enter__(self) -> Service:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None, "the service was not started"
        return self._process

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Service:
        """Start the process and wait until it answers. The data of an earlier run is still there."""
        command = [sys.executable, "-m", "tests.harness.serve", "--port", str(self.port)]
        self._process = self._run(command if self.agent else [*command, "--no-agent"])
        until(self._healthy, START_SECONDS, "GET /healthz = 200")
        if self.jobs:
            self.start_workers()
        return self

    def _run(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log_path.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=deployment.ROOT,
                env={**clean(dict(os.environ)), "PYTHONUNBUFFERED": "1", **self.environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def start_workers(self) -> None:
        """Start a deployment's Celery, worker and beat in one, unless it runs."""
        if self.setup == "embedded" or self._workers is not None:
            return
        options = [
            "--beat",
            "--schedule",
            str(self.folder / "beat"),
            "--pool",
            "threads",
            "--concurrency",
            "4",
        ]
        quick = ["--without-gossip", "--without-mingle", "--loglevel", "WARNING"]
        celery = [sys.executable, "-m", "celery", "--app", "relayger.celery", "worker"]
        self._workers = self._run([*celery, *options, *quick])

    def stop_workers(self) -> None:
        """Kill Celery, with what it was doing."""
        if self._workers is not None:
            os.killpg(self._workers.pid, signal.SIGKILL)
            self._workers.wait(10)
            self._workers = None

    def _healthy(self) -> bool:
        assert self.running, f"the service ended with {self.process.returncode}:\n{self.log()}"
        try:
            return self.http.get("/healthz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def terminate(self) -> int:
        """SIGTERM, wait, and return the exit code. Raises AssertionError when it does not drain in time."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end within {STOP_SECONDS} s of SIGTERM:\n{self.log()}") from None

    def kill(self) -> None:
        """kill -9, for the process and whatever it started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def restart(self) -> Service:
        """Stop in good order, if it still runs, and start again on the same data."""
        if self.running:
            self.terminate()
        return self.start()

    def close(self) -> None:
        """Stop it and remove its data."""
        try:
            self.stop_workers()
            if self.running:
                self.terminate()
        finally:
            for client in self.clients:
                client.close()
            if self._database is not None:
                deployment.drop(self._database)
            if self._redis is not None:
                deployment.release_redis(self._redis)
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self, start: int = 0) -> str:
        """What it wrote, from byte `start` on."""
        if not self.log_path.exists():
            return ""
        with self.log_path.open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")

    @property
    def log_size(self) -> int:
        """Where the log ends now."""
        return self.log_path.stat().st_size if self.log_path.exists() else 0

    @property
    def database(self) -> str | Path:
        """Where the data is: the URL of the PostgreSQL database or the path of the SQLite file."""
        if self._database is not None:
            return deployment.database_url(self._database)
        return self.folder / "var" / "relayger.sqlite3"

    @contextmanager
    def counting(self) -> Iterator[Statements]:
        """Count the statements of a block: `with service.counting() as made: …; assert len(made) <= 4`.

        Use `quiet_server`, where nothing else runs. The list is read when the block ends.
        """
        made = Statements()
        self.http.delete("/_test/statements")
        yield made
        made.extend(self.http.get("/_test/statements").json())

    def vitals(self) -> dict[str, int]:
        """`threads`, database `connections`, asyncio `tasks` and `rss_kib` of the process now."""
        vitals: dict[str, int] = self.http.get("/_test/vitals").json()
        return vitals


class Statements(list[dict[str, Any]]):
    """Statements: `sql`, `at`, `seconds`, `thread`; shown as SQL, so that a wrong count explains itself."""

    def __repr__(self) -> str:
        return "\n".join(["", *(f"  {number}. {one['sql']}" for number, one in enumerate(self, 1))])

    @property
    def sql(self) -> list[str]:
        """The SQL alone."""
        return [one["sql"] for one in self]


Starter = Callable[..., Service]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
