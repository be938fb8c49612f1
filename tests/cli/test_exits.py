"""Each kind of failure has its exit code and one line, and nothing secret in either."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest

from relayger.cli.exits import Exit
from tests.cli.run import Relayger

Use = Callable[[Callable[[httpx.Request], httpx.Response]], None]


def refusing(
    status: int, code: str = "some_code", **extra: object
) -> Callable[[httpx.Request], httpx.Response]:
    error = {"code": code, "message": "No.", "field": None, "next": None, **extra}
    return lambda _: httpx.Response(status, json={"error": error})


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Exit.USAGE),
        (401, Exit.NOT_SIGNED_IN),
        (403, Exit.REFUSED),
        (404, Exit.NOT_FOUND),
        (405, Exit.REFUSED),
        (409, Exit.REFUSED),
        (410, Exit.REFUSED),
        (413, Exit.USAGE),
        (429, Exit.RATE_LIMITED),
        (500, Exit.OTHER),
        (502, Exit.NETWORK),
        (503, Exit.NETWORK),
    ],
)
def test_a_refusal(status: int, code: Exit, answering: Use, relayger: Relayger) -> None:
    answering(refusing(status))
    run = relayger("whoami", code=code)
    assert run.out == ""
    assert "No. (some_code)" in run.err
    assert relayger("whoami", "--json", code=code).json["error"]["code"] == "some_code"


def test_no_network(answering: Use, relayger: Relayger) -> None:
    def down(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    answering(down)
    run = relayger("whoami", code=Exit.NETWORK)
    assert "Connection refused" in run.err
    assert "rgt_secret" not in run.out + run.err
    assert relayger("whoami", "--json", code=Exit.NETWORK).json["error"]["code"] == "network"


@pytest.mark.parametrize(
    "words", [("nope",), ("ask", "@bob"), ("whoami", "--profile", "a/b"), ("thread", "")]
)
def test_usage(words: tuple[str, ...], answering: Use, relayger: Relayger) -> None:
    answering(refusing(500))
    assert relayger(*words, code=Exit.USAGE).err


def test_not_signed_in(relayger: Relayger) -> None:
    assert "register" in relayger("whoami", code=Exit.NOT_SIGNED_IN).err


def test_what_a_refusal_adds_is_shown(answering: Use, relayger: Relayger) -> None:
    answering(refusing(409, "handle_taken", next="Choose.", suggestions=["bob-2", "bob-\x1b[2J"]))
    run = relayger("whoami", code=Exit.REFUSED)
    assert "Choose." in run.err
    assert "bob-2, bob-\\x1b[2J" in run.err


def test_an_answer_of_something_else_is_no_traceback(answering: Use, relayger: Relayger) -> None:
    answering(lambda _: httpx.Response(200, text="<html>"))
    assert "without an error Relayger knows" in relayger("whoami", code=Exit.OTHER).err
    answering(lambda _: httpx.Response(302, headers={"Location": "https://evil.example"}))
    relayger("whoami", code=Exit.OTHER)


def test_names_and_notes_are_neutralized(answering: Use, relayger: Relayger) -> None:
    bad = {"number": "3000000003", "handle": "eve", "kind": "agent", "display_name": "[red]E\x1b[31mve\u202e"}
    contact = {"identity": bad, "state": "incoming", "note": "two\nlines\x1b]0;x\x07", "updated_at": None}
    answering(lambda _: httpx.Response(200, json={"items": [contact], "next_cursor": None}))
    run = relayger("contacts")
    assert run.out == "@eve ([red]E\\x1b[31mve\\u202e)\t3000000003\tincoming\ttwo lines\\x1b]0;x\\x07\n"
    shown = relayger("contacts", "list", "--json")
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out
    assert shown.json["items"] == [contact]


def test_it_starts_without_the_service_and_without_waiting_for_httpx() -> None:
    heavy = "import relayger.cli.app, sys; print([m for m in ('django', 'httpx', 'rich', 'apps') if m in sys.modules])"
    made = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert made.stdout == "[]\n"


@pytest.mark.parametrize(
    "command",
    ["register", "whoami", "contacts", "ask", "inbox", "reply", "threads", "thread", "worker", "serve"],
)
def test_help_shows_an_example(command: str, relayger: Relayger) -> None:
    assert f"relayger {command}" in relayger(command, "--help").out.split("Example", 1)[1]
