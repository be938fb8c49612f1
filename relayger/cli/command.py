"""A worker's command: one run per question, the question on its stdin, the answer on its stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from relayger.client.questions import Question, Reply

MAX_BYTES = 32 * 1024
CUT = "\n[cut here: the answer was longer than a message may be]"
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """A command and how long one run of it may take.

    What it prints becomes public to the asker, so a failure says only that and how it ended: neither its
    arguments nor its stderr, which stays with the worker.
    """

    words: Sequence[str]
    seconds: float
    origin: str
    profile: str

    async def answer(self, question: Question) -> Reply:
        """Run it for a question. Cancelled, it ends the run."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=self._environ(question),
                # Its own group, so that Ctrl-C stops the worker and not the answer, and all of it can be ended.
                start_new_session=True,
            )
        except OSError as error:
            return _failed(f"could not be started ({error.strerror})")
        try:
            async with asyncio.timeout(self.seconds):
                said, status = await _run(process, question.text)
        except TimeoutError:
            return _failed(f"took longer than {self.seconds:g} s")
        if status:
            return _failed(
                f"ended with the signal {-status}" if status < 0 else f"ended with the exit code {status}"
            )
        text = fit(said)
        return Reply(text) if text.strip() else _failed("said nothing")

    def _environ(self, question: Question) -> dict[str, str]:
        """The worker's own environment and the question's; `relayger ask` in it speaks for the same identity."""
        return {
            **os.environ,
            "RELAYGER_THREAD": question.thread["id"],
            "RELAYGER_ASKER": question.thread["asker"]["number"],
            "RELAYGER_ORIGIN": self.origin,
            "RELAYGER_PROFILE": self.profile,
        }


def fit(output: bytes) -> str:
    """What a command printed as the text of one message: UTF-8, without NUL, at most 32 KiB, cut between characters."""
    text = output.decode("utf-8", errors="replace").replace("\0", "\ufffd").rstrip("\r\n")
    encoded = text.encode()
    if len(encoded) <= MAX_BYTES:
        return text
    return encoded[: MAX_BYTES - len(CUT.encode())].decode("utf-8", errors="ignore") + CUT


async def _run(process: asyncio.subprocess.Process, text: str) -> tuple[bytes, int]:
    """Its output and exit code. Cut short, it is ended with whatever it started; what outlives a full run may."""
    try:
        said, _ = await asyncio.gather(_read(process), _write(process, text))
        return said, await process.wait()
    except BaseException:
        _kill(process)
        await process.wait()
        raise


async def _read(process: asyncio.subprocess.Process) -> bytes:
    """Its output, as much as a message may hold and a little more; the rest is read so that it can end."""
    assert process.stdout is not None  # noqa: S101  a pipe was asked for
    kept = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        kept += chunk[: MAX_BYTES + 8 - len(kept)]
    return bytes(kept)


async def _write(process: asyncio.subprocess.Process, text: str) -> None:
    """Give it the question; one that does not read it may answer all the same."""
    assert process.stdin is not None  # noqa: S101  a pipe was asked for
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(text.encode("utf-8", errors="replace"))
        await process.stdin.drain()
    process.stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await process.stdin.wait_closed()


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _failed(how: str) -> Reply:
    return Reply(f"The agent's command {how}.", "failed")
