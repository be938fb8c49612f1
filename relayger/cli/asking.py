"""`ask`: a question, and its answer when it comes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from relayger.cli import session, show
from relayger.cli.exits import Exit
from relayger.cli.options import Json, Profile, Text, said
from relayger.cli.text import line
from relayger.client import calls
from relayger.client.calls import Call
from relayger.client.errors import APIError, RelaygerError
from relayger.client.retry import backoff, passes
from relayger.client.shapes import SETTLED, Message, ThreadPage, Written

if TYPE_CHECKING:
    from relayger.client import Client

POLL_SECONDS = 25
WAIT_SECONDS = 60
EXAMPLES = """
Examples:

relayger ask @relayger 'How do public rooms work?'

cat question.md | relayger ask 1234567897 - --wait 300
"""


def ask(
    who: Annotated[str, typer.Argument(metavar="WHO", help="A number, a handle or an @handle.")],
    text: Text,
    wait: Annotated[
        int, typer.Option(min=0, help="Seconds to wait for an answer; 0 asks and returns.")
    ] = WAIT_SECONDS,
    context: Annotated[str | None, typer.Option(help="Groups questions that belong together.")] = None,
    profile: Profile = None,
    json: Json = False,
) -> None:
    """Ask somebody, wait for the answer and print it.

    To somebody who is not your contact yet a request goes out first; the question follows if it is accepted
    while this waits. Within a worker's command, RELAYGER_THREAD is named as the thread this question serves.
    """
    deadline = time.monotonic() + wait
    call = calls.ask(who, text=said(text), context=context, parent=os.environ.get("RELAYGER_THREAD") or None)
    with session.current(profile).client() as client:
        asked = _asked(client, call, who, deadline)
        thread = asked["thread"]["id"]
        if not wait:
            show.as_json(asked) if json else show.out(thread)
            return
        try:
            page = follow(client, thread, asked["message"]["generation"], deadline, quiet=json)
        except RelaygerError:
            show.note(f"The question is stored. See it later: relayger thread {thread}")
            raise
    if json:
        show.as_json(page)
    finish(page, quiet=json)


def _asked(client: Client, call: Call[Written], who: str, deadline: float) -> Written:
    """Ask; when a contact request had to go first, wait for it and ask again. Raises APIError."""
    try:
        return client.send(call)
    except APIError as error:
        if error.code != "contact_requested" or time.monotonic() >= deadline:
            raise
        refusal = error
    show.note(f"{line(who)} is not your contact yet. A request was sent; waiting for them to accept it.")
    pause = 0.1
    while time.monotonic() + pause < deadline:
        time.sleep(pause)
        pause = min(pause * 1.5, 3.0)
        state = contact_state(client, who)
        if state == "friend":
            return client.send(call)
        if state == "declined":
            break
    raise refusal


def contact_state(client: Client, who: str) -> str | None:
    """How I see somebody. One who is not listed is found only among my contacts."""
    try:
        return client.send(calls.identity(who))["contact"]
    except APIError as error:
        if error.code != "not_found":
            raise
    name, cursor = who.removeprefix("@").lower(), None
    while True:
        page = client.send(calls.contacts(cursor=cursor))
        for contact in page["items"]:
            if name in (contact["identity"]["number"], contact["identity"]["handle"]):
                return contact["state"]
        if (cursor := page["next_cursor"]) is None:
            return None


def follow(client: Client, thread: str, after: int, deadline: float, *, quiet: bool) -> ThreadPage:
    """Print what the assignee says until it is the asker's turn or the deadline; return what came as one page.

    An outage is waited out as long as there is time.
    """
    messages: list[Message] = []
    failed = 0
    while True:
        left = int(deadline - time.monotonic())
        try:
            page = client.send(calls.thread(thread, after=after, wait=max(0, min(POLL_SECONDS, left))))
        except RelaygerError as error:
            failed += 1
            pause = backoff(failed, cap=5.0)
            if not passes(error) or time.monotonic() + pause > deadline:
                raise
            time.sleep(pause)
            continue
        failed = 0
        for message in page["messages"]:
            if message["role"] == "assignee" and message["parts"] and not quiet:
                _say(message)
        messages += page["messages"]
        after = page["next"]
        read = not page["messages"] or after >= page["generation"]
        if read and (page["state"] in SETTLED or time.monotonic() >= deadline - 1):
            return {**page, "messages": messages}


def _say(message: Message) -> None:
    """Print a reply; the chunks of a growing one run together."""
    text = message["text"]
    if text is None:
        show.as_json(message["parts"])
    else:
        show.out(text, newline=message["last"] is not False)


def finish(page: ThreadPage, *, quiet: bool) -> None:
    """Say how a thread stands and end with the exit code that tells it."""
    state, thread = page["state"], page["id"]
    if state == "answered":
        return
    if state in ("input_required", "auth_required"):
        note, code = f"They need more from you: relayger reply {thread} TEXT", Exit.FINE
    elif state in SETTLED:
        note, code = f"The question is {state}.", Exit.OTHER
    else:
        note, code = f"No answer yet. See it later: relayger thread {thread} --wait 60", Exit.NO_ANSWER_YET
    if not quiet:
        show.note(note)
    raise typer.Exit(code)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=EXAMPLES)(ask)
