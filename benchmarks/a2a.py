"""Relayger's A2A calls beside the official SDK's server, in one run: `python -m benchmarks.a2a`."""

from __future__ import annotations

import argparse
import os
import platform
import secrets
import signal
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version

import uvloop

from benchmarks import latency, people, report
from benchmarks.load import Job
from benchmarks.people import Someone
from benchmarks.report import Figures
from benchmarks.stage import Load, Process, Stage
from benchmarks.wire import BenchmarkError, Connection

WARM_SECONDS = 1.0

NOTES = """\
Each row's two sides were driven in turn, every round in the other order, by the same clients; every body was checked.
CPU is the server process's own per call, so without the database's; a busy machine moves it least.
SendMessage immediate is unequal work, both ways. Relayger authenticates, applies the contact rules, makes a thread
 and an entry, raises the agent's inbox and wakes it; the SDK's server knows no clients, but makes and stores the
 whole answer in the same call.
The stream is unequal too: a worker in another process takes a lease and answers at Relayger, the SDK's agent answers
 in its own process. Relayed is the equal pair: there the SDK's executor hands the question to an agent that polls.
Where nothing streams the SDK's agent completes in one event, its cheapest way. Its stream is three events, Relayger's
 is four: the lease shows as working.
A delay from the commit is from the first instruction after the answer's COMMIT to the waiter's first byte."""


@dataclass(frozen=True, slots=True)
class Target:
    """One server's way to do a call."""

    process: Process
    call: str
    port: int
    path: str
    tokens: list[str | None]


@dataclass
class Row:
    """A line of the table: the same call at both servers."""

    name: str
    ours: Target
    theirs: Target


class Run:
    """The calls of a run and their figures."""

    def __init__(self, load: Load, seconds: float) -> None:
        self._load, self._seconds = load, seconds
        self._tasks: dict[int, list[list[str]]] = {}  # by port: answered tasks of each client
        self.figures: dict[tuple[str, str], Figures] = defaultdict(Figures)
        self.busiest = 0.0  # the largest share of a core that the load generator used

    def _job(self, target: Target, seconds: float) -> Job:
        tasks = self._tasks.get(target.port, []) if target.call == "get" else []
        name = secrets.token_hex(6)
        return Job(target.call, target.port, target.path, target.tokens, seconds, tasks, name)

    def warm(self, target: Target) -> None:
        """Call for a moment without measuring; answered tasks are kept for GetTask."""
        result = self._load.run(self._job(target, WARM_SECONDS))
        if target.call == "exchange":
            self._tasks[target.port] = result.tasks

    def measure(self, row: str, side: str, target: Target) -> None:
        """One round of one call at one server."""
        cpu = target.process.cpu()
        result = self._load.run(self._job(target, self._seconds))
        self.figures[row, side].add(result.times, result.seconds, target.process.cpu() - cpu)
        self.busiest = max(self.busiest, result.cpu)


async def _cast(port: int, clients: int) -> tuple[Someone, Someone, list[str | None]]:
    connection = await Connection.open(port)
    working = await people.agent(connection, "bench-working")
    silent = await people.agent(connection, "bench-silent")
    askers = [await people.client(connection, f"bench-asks-{number}") for number in range(clients)]
    connection.close()
    return working, silent, [asker.token for asker in askers]


def rows(stage: Stage, clients: int, pool: int) -> list[Row]:
    """Start everything; returns the table's rows, the ones that leave answered tasks first."""
    service, port = stage.service()
    peer, peer_port = stage.peer(pool)
    working, silent, tokens = uvloop.run(_cast(port, clients))
    stage.worker(port, "--token", working.token, "--slots", str(clients))
    stage.worker(peer_port, "--slots", str(clients))

    def ours(call: str, agent: Someone) -> Target:
        return Target(service, call, port, agent.a2a, tokens)

    def theirs(call: str, path: str) -> Target:
        return Target(peer, call, peer_port, path, [None] * clients)

    return [
        Row("blocking SendMessage, relayed", ours("exchange", working), theirs("exchange", "/relay")),
        Row("SendStreamingMessage, relayed", ours("stream", working), theirs("stream", "/relay")),
        Row("SendMessage returnImmediately", ours("send", silent), theirs("send", "/echo")),
        Row("GetTask", ours("get", working), theirs("get", "/echo")),
        Row("SendStreamingMessage", ours("stream", working), theirs("stream", "/echo")),
    ]


def compare(run: Run, table: list[Row], rounds: int) -> None:
    """Measure every row, in turn, and print the table."""
    for row in table:
        run.warm(row.ours)
        run.warm(row.theirs)
    for number in range(rounds):
        for row in table:
            pair = [("ours", row.ours), ("theirs", row.theirs)]
            for side, target in pair if number % 2 == 0 else reversed(pair):
                run.measure(row.name, side, target)
        print(f"round {number + 1} of {rounds} done, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    print(report.heading())
    for row in table:
        print(report.row(row.name, run.figures[row.name, "ours"], run.figures[row.name, "theirs"]))
    print(f"The load generator used at most {run.busiest:.0%} of a core.")


def main() -> None:
    """Run it all and print the figures; exits with 1 when a call went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="of each round of each call at each server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=16, help="at once, each with a connection")
    parser.add_argument("--pool", type=int, default=16, help="the SDK server's connections to its database")
    parser.add_argument("--waiters", type=int, default=200, help="idle beside the one that is measured")
    parser.add_argument("--samples", type=int, default=50, help="of each kind of wake-up")
    parser.add_argument("--embedded", action="store_true", help="SQLite even if PostgreSQL and Redis answer")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    started = time.monotonic()
    with Stage() as stage:
        try:
            stage.prepare(embedded=options.embedded)
            _run(stage, options)
        except BenchmarkError as error:
            sys.exit(f"The run is void. {stage.explain(error)}")
    print(f"The run took {time.monotonic() - started:.0f} s.")


def _run(stage: Stage, options: argparse.Namespace) -> None:
    print(
        f"Relayger beside a2a-sdk {version('a2a-sdk')}, one process each, {stage.storage}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load before {os.getloadavg()[0]:.1f}\n"
        f"{options.clients} clients, medians of {options.rounds} rounds of {options.seconds:g} s\n"
    )
    compare(Run(stage.load(), options.seconds), rows(stage, options.clients, options.pool), options.rounds)
    stage.clear()
    port = stage.service(observed=True)[1]
    other = stage.service(observed=True)[1] if stage.redis is not None else None
    measured = uvloop.run(latency.measure(port, other, stage.redis, options.waiters, options.samples))
    print(f"\nOne waiter among {options.waiters} idle ones, {options.samples} answers of each kind")
    print(f"{report.waking(measured)}\n\n{NOTES}")


if __name__ == "__main__":
    main()
