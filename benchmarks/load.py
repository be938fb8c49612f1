"""The load generator: a process that takes a job a line, lets its clients call for some seconds, tells the times.

`python -m benchmarks.load`; a Job as JSON on a line of standard input, a Result on a line of standard output.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from time import perf_counter, process_time

import orjson
import uvloop

from benchmarks import calls
from benchmarks.calls import Caller
from benchmarks.wire import BenchmarkError, Connection, Reply

TIMEOUT = 30.0  # seconds after the end of a job by which every call under way must have ended


@dataclass
class Job:
    """What to do: `call` is send, exchange, stream or get; there is a client per token (None is one, too)."""

    call: str
    port: int
    path: str
    tokens: list[str | None]
    seconds: float
    tasks: list[list[str]] = field(default_factory=list)  # for get: each client's own
    name: str = "load"


@dataclass
class Result:
    """What came of it; `times` are the calls' durations in seconds, `cpu` the generator's own share of a core."""

    times: list[float]
    seconds: float
    cpu: float
    tasks: list[list[str]]
    error: str | None = None

    @property
    def rate(self) -> float:
        """Calls in a second."""
        return len(self.times) / self.seconds


class Client:
    """One client: a connection and the calls over it, one after the other."""

    def __init__(self, job: Job, number: int, connection: Connection) -> None:
        self._caller = Caller(job.path, job.tokens[number], f"{job.name}-{number}")
        self._connection = connection
        self._known = itertools.cycle(job.tasks[number]) if job.tasks else iter(())
        self.tasks: list[str] = []
        self.times: list[float] = []

    async def once(self, call: str) -> None:
        """One call, timed and checked. Raises BenchmarkError."""
        if call == "get":
            task = next(self._known)
            reply = await self._timed(self._caller.get(task))
            calls.got(reply, task)
            return
        text, data = {
            "send": self._caller.send,
            "exchange": self._caller.exchange,
            "stream": self._caller.stream,
        }[call]()
        reply = await self._timed(data)
        if call == "send":
            self.tasks.append(calls.sent(reply))
        elif call == "exchange":
            self.tasks.append(calls.answered(reply, text))
        else:
            self.tasks.append(calls.streamed(reply, text))

    async def _timed(self, data: bytes) -> Reply:
        started = perf_counter()
        reply = await self._connection.call(data)
        self.times.append(reply.last - started)
        return reply

    async def until(self, end: float, call: str) -> None:
        """Call until `end`; the call then under way is ended."""
        while perf_counter() < end:
            await self.once(call)


async def run(job: Job) -> Result:
    """Do a job. Raises BenchmarkError when any of its calls went wrong."""
    connections = await asyncio.gather(*(Connection.open(job.port) for _ in job.tokens))
    clients = [Client(job, number, connection) for number, connection in enumerate(connections)]
    try:
        started, cpu = perf_counter(), process_time()
        async with asyncio.timeout(job.seconds + TIMEOUT):
            await asyncio.gather(*(client.until(started + job.seconds, job.call) for client in clients))
        seconds = perf_counter() - started
        return Result(
            times=[time for client in clients for time in client.times],
            seconds=seconds,
            cpu=(process_time() - cpu) / seconds,
            tasks=[client.tasks for client in clients],
        )
    except TimeoutError:
        raise BenchmarkError(f"{job.call}: calls were left without an answer") from None
    finally:
        for connection in connections:
            connection.close()


async def _serve(lines: asyncio.StreamReader, do: Callable[[Job], Awaitable[Result]]) -> None:
    while line := await lines.readline():
        try:
            result = await do(Job(**orjson.loads(line)))
        except (BenchmarkError, OSError, KeyError, ValueError) as error:
            result = Result([], 1, 0, [], f"{type(error).__name__}: {error}")
        sys.stdout.buffer.write(orjson.dumps(asdict(result)) + b"\n")
        sys.stdout.buffer.flush()


async def _main() -> None:
    lines = asyncio.StreamReader(limit=1 << 26)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    await _serve(lines, run)


if __name__ == "__main__":
    uvloop.run(_main())
