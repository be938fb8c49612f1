"""`worker`: answer questions with a command."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from datetime import datetime
from typing import Annotated

import typer

from relayger.cli import session, show
from relayger.cli.command import Command
from relayger.cli.config import ConfigError, Position
from relayger.cli.options import Profile
from relayger.cli.session import Session

EXAMPLES = """
Examples:

relayger worker --accept-contacts -- tr a-z A-Z

relayger worker --concurrency 8 --timeout 60 -- python answer.py --fast
"""


def worker(
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="The program and its arguments, after --.")
    ],
    accept_contacts: Annotated[
        bool, typer.Option("--accept-contacts", help="Accept whoever asks to be a contact.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Questions at a time.")] = 4,
    name: Annotated[str | None, typer.Option(help="What to call this worker; else host and process.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one answer.")] = 300,
    lease: Annotated[
        int, typer.Option(min=3, max=3600, help="Seconds until another worker may take over from a dead one.")
    ] = 60,
    profile: Profile = None,
) -> None:
    """Answer each question with a run of COMMAND: the question on its stdin, its stdout the answer.

    It finds RELAYGER_THREAD, RELAYGER_ASKER and RELAYGER_ORIGIN in its environment. Another exit code than 0
    fails the question. The first Ctrl-C lets running answers finish, the second drops them.
    """
    now = session.current(profile)
    if shutil.which(command[0]) is None:
        raise ConfigError(f"There is no command {command[0]!r} to run.")
    with now.client() as client:
        position = now.position("worker", client)
    run = Command(command, timeout, now.origin, now.profile)
    asyncio.run(_work(now, run, position, name or _name(), concurrency, accept_contacts, lease))


async def _work(
    now: Session,
    run: Command,
    position: Position,
    name: str,
    concurrency: int,
    accept_contacts: bool,
    lease: int,
) -> None:
    from relayger.client.worker import work  # noqa: PLC0415  httpx is slow to import

    stop = asyncio.Event()
    _listen_to_signals(stop)
    _log(f"{name} answers questions at {now.origin}")
    async with now.async_client() as client:
        try:
            await work(
                client,
                run.answer,
                name=name,
                concurrency=concurrency,
                accept_contacts=accept_contacts,
                lease_seconds=lease,
                stop=stop,
                log=_log,
                after=position.load(),
                on_seq=position.save,
                grace_seconds=run.seconds,
            )
        except asyncio.CancelledError:
            _log("dropped what was running")
    _log("stopped")


def _listen_to_signals(stop: asyncio.Event) -> None:
    """The first signal stops in good order, the second at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101  it runs in one

    def heard() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, heard)
        except NotImplementedError:  # no such handlers on Windows, where Ctrl-C ends the process
            return


def _log(text: str) -> None:
    show.note(f"{datetime.now().astimezone():%H:%M:%S} {text}")


def _name() -> str:
    return f"{socket.gethostname()[:40]}-{os.getpid()}"


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    # The first word of COMMAND ends the worker's own options, with -- or without.
    app.command(epilog=EXAMPLES, context_settings={"allow_interspersed_args": False})(worker)
