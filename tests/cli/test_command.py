"""A worker's command: what it is given, and what becomes of what it does."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from relayger.cli.command import CUT, MAX_BYTES, Command, fit
from relayger.client.questions import Question, Reply
from tests.harness.wait import until_async

THREAD: Any = {"id": "thr_1", "asker": {"number": "2000000004", "handle": "alice"}}


def question(text: str = "How?") -> Question:
    return Question(THREAD, [], text, 1)


def command(*words: str, seconds: float = 20) -> Command:
    return Command(words, seconds, "http://service.test", "bob")


def python(program: str, seconds: float = 20) -> Command:
    return command(sys.executable, "-c", program, seconds=seconds)


async def test_stdin_is_the_question_and_stdout_the_answer() -> None:
    assert await command("tr", "a-z", "A-Z").answer(question("how?\nnow – ü")) == Reply("HOW?\nNOW – ü")


async def test_it_learns_about_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAYGER_THREAD", "thr_outer")
    told = {
        "RELAYGER_THREAD": "thr_1",
        "RELAYGER_ASKER": "2000000004",
        "RELAYGER_ORIGIN": "http://service.test",
        "RELAYGER_PROFILE": "bob",
    }
    reply = await python("import json, os; print(json.dumps(dict(os.environ)))").answer(question())
    assert told.items() <= json.loads(reply.text).items()


async def test_a_failure_says_how_and_no_secret(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import sys; print('half'); print('token rgt_secret', file=sys.stderr); sys.exit(3)"
    reply = await python(program).answer(question())
    assert reply == Reply("The agent's command ended with the exit code 3.", "failed")
    assert "rgt_secret" in capfd.readouterr().err


async def test_a_signal_is_a_failure() -> None:
    reply = await command("sh", "-c", "kill -9 $$").answer(question())
    assert reply == Reply("The agent's command ended with the signal 9.", "failed")


async def test_no_answer_is_a_failure() -> None:
    assert await command("true").answer(question()) == Reply("The agent's command said nothing.", "failed")
    assert (await command("echo").answer(question())).state == "failed"


async def test_a_command_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    reply = await command(str(tmp_path / "secret-name")).answer(question())
    assert reply.state == "failed"
    assert "secret-name" not in reply.text


async def test_one_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    alive = tmp_path / "child"
    program = f"mkfifo {alive}; (exec 3<>{alive}; exec sleep 600) & wait"
    began = time.monotonic()
    reply = await command("sh", "-c", program, seconds=0.5).answer(question())
    assert reply == Reply("The agent's command took longer than 0.5 s.", "failed")
    assert time.monotonic() - began < 10
    await until_async(lambda: nobody_holds(str(alive)), what="the child's end")


async def nobody_holds(fifo: str) -> bool:
    """Whether no process has it open for reading any more."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.errno == errno.ENXIO
    return False


async def test_a_canceled_run_is_ended(tmp_path: Path) -> None:
    started = tmp_path / "started"
    mkfifo = f"mkfifo {tmp_path}/held; exec 3<>{tmp_path}/held; touch {started}; exec sleep 600"
    task = asyncio.create_task(command("sh", "-c", mkfifo).answer(question()))

    async def begun() -> bool:
        return started.exists()

    await until_async(begun)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await nobody_holds(f"{tmp_path}/held")


async def test_one_that_does_not_read_answers_all_the_same() -> None:
    assert await command("echo", "42").answer(question("x" * 1_000_000)) == Reply("42")


async def test_one_that_prints_without_end_is_cut_and_heard_out() -> None:
    reply = await python("print('é' * 2_000_000)").answer(question())
    assert reply.state is None
    assert reply.text.endswith("é" + CUT)
    assert MAX_BYTES - 2 < len(reply.text.encode()) <= MAX_BYTES


def test_what_is_no_text_becomes_text() -> None:
    assert fit(b"a\0b\xff\n\n") == "a\ufffdb\ufffd"
    assert fit(b"x" * MAX_BYTES) == "x" * MAX_BYTES
    long = fit(b"x" * (MAX_BYTES + 1))
    assert len(long.encode()) == MAX_BYTES
    assert long.endswith(CUT)
    assert len(fit(b"\xff" * (MAX_BYTES + 8)).encode()) <= MAX_BYTES
