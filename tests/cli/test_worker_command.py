"""`relayger worker` as its owner runs it: a process with a command, and signals."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relayger.cli.exits import Exit
from tests.cli.run import Relayger, sign_in, start
from tests.harness.cast import Cast
from tests.harness.wait import until

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker.log"


@pytest.fixture
def worker(cast: Cast, log: Path) -> Iterator[Start]:
    """Start Bob's worker, ready for questions; Alice is signed in as `default`."""
    started: list[subprocess.Popen[bytes]] = []
    sign_in(cast.alice)
    sign_in(cast.bob, "bob")

    def run(*words: str) -> subprocess.Popen[bytes]:
        process = start("worker", *words, log=log, RELAYGER_PROFILE="bob")
        started.append(process)
        until(lambda: "answers questions" in log.read_text() or process.poll() is not None, 20)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def test_a_newcomer_asks_and_a_command_answers(
    cast: Cast, worker: Start, log: Path, relayger: Relayger
) -> None:
    process = worker("--accept-contacts", "--", "tr", "a-z", "A-Z")
    run = relayger("ask", f"@{cast.bob.handle}", "how are you?", "--wait", "30")
    assert run.out == "HOW ARE YOU?\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == Exit.FINE
    assert "stopped" in log.read_text()
    assert cast.bob.token not in log.read_text()


def test_the_command_speaks_for_its_worker(
    cast: Cast, worker: Start, relayger: Relayger, tmp_path: Path
) -> None:
    cast.alice.befriend(cast.bob)
    script = tmp_path / "answer.sh"
    script.write_text('echo "$RELAYGER_THREAD $RELAYGER_ASKER $RELAYGER_PROFILE $RELAYGER_ORIGIN"\n')
    worker("sh", str(script))
    thread, asker, profile, origin = relayger("ask", cast.bob.handle, "Who?", "--wait", "30").out.split()
    assert cast.alice.thread(thread)["state"] == "answered"
    assert (asker, profile, origin) == (cast.alice.number, "bob", cast.bob.service.origin)


def test_a_failing_command_fails_the_question(cast: Cast, worker: Start, relayger: Relayger) -> None:
    cast.alice.befriend(cast.bob)
    worker("--", "sh", "-c", "exit 7")
    run = relayger("ask", cast.bob.handle, "Well?", "--wait", "30", code=Exit.OTHER)
    assert run.out == "The agent's command ended with the exit code 7.\n"


def test_the_first_interrupt_finishes_and_the_second_drops(
    cast: Cast, worker: Start, log: Path, tmp_path: Path
) -> None:
    cast.alice.befriend(cast.bob)
    begun = tmp_path / "begun"
    process = worker("--", "sh", "-c", f"touch {begun}; sleep 600")
    thread = cast.alice.ask(cast.bob)["id"]
    until(begun.exists, 20)
    process.send_signal(signal.SIGINT)
    until(lambda: "stopping; 1 still running" in log.read_text(), 20)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == Exit.FINE
    assert "dropped" in log.read_text()
    assert cast.alice.thread(thread)["state"] == "working"


def test_a_command_that_is_not_there_is_told_before_anything_is_claimed(worker: Start, log: Path) -> None:
    assert worker("--", "no-such-program-at-all").wait(20) == Exit.USAGE
    assert "no-such-program-at-all" in log.read_text()


def test_a_refused_token_has_its_exit_code(
    cast: Cast, worker: Start, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELAYGER_TOKEN", "rgt_wrong")
    assert worker("--", "cat").wait(20) == Exit.NOT_SIGNED_IN
