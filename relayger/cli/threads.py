"""`threads`, `thread` and `reply`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from relayger.cli import session, show
from relayger.cli.asking import follow
from relayger.cli.options import Json, Profile, Text, said
from relayger.cli.text import clean
from relayger.client import calls
from relayger.client.shapes import REPLY_STATES, Message, Ref, Thread, ThreadPage

Id = Annotated[str, typer.Argument(metavar="THREAD", help="A thread's id: thr_…")]


def reply(
    thread: Id,
    text: Text,
    state: Annotated[
        str | None, typer.Option(help=f"Instead of answering it: {', '.join(REPLY_STATES)}.")
    ] = None,
    profile: Profile = None,
    json: Json = False,
) -> None:
    """Answer a question, or write more on one of yours."""
    with session.current(profile).client() as client:
        written = client.send(calls.reply(thread, text=said(text), state=state))
    if json:
        show.as_json(written)
    else:
        show.out(f"{written['thread']['id']} is {written['thread']['state']}.")


def threads(
    role: Annotated[str | None, typer.Option(help="Only those where you are asker or assignee.")] = None,
    state: Annotated[str | None, typer.Option(help="Only those in this state.")] = None,
    profile: Profile = None,
    json: Json = False,
) -> None:
    """List your newest threads."""
    with session.current(profile).client() as client:
        page = client.send(calls.threads(role=role, state=state))
    if json:
        show.as_json(page)
        return
    rows = [
        (one["id"], one["state"], one["role"], show.who(_other(one)), one["activity_at"])
        for one in page["items"]
    ]
    if rows:
        show.table(("thread", "state", "you are", "with", "last activity"), rows, whole=("thread",))
    else:
        show.note("No threads.")


def thread(
    thread: Id,
    wait: Annotated[int, typer.Option(min=0, help="Seconds to wait for its end.")] = 0,
    profile: Profile = None,
    json: Json = False,
) -> None:
    """Show a thread with all that was said."""
    with session.current(profile).client() as client:
        page = follow(client, thread, 0, time.monotonic() + wait, quiet=True)
    if json:
        show.as_json(page)
        return
    show.out(f"{page['id']}: {page['state']}; {show.who(page['asker'])} asked {show.who(page['assignee'])}")
    for message in page["messages"]:
        _print(page, message)


def _print(page: ThreadPage, message: Message) -> None:
    """A message, indented so that no text can pass for one of these lines."""
    speaker = show.who(page[message["role"]])
    state = f" [{message['state']}]" if message["state"] else ""
    show.out(f"\n{message['created_at']} {speaker}{state}")
    if message["text"] is not None:
        show.out("\n".join(f"  {part}" for part in clean(message["text"]).split("\n")))
    elif message["parts"]:
        show.as_json(message["parts"])


def _other(one: Thread) -> Ref:
    return one["assignee"] if one["role"] == "asker" else one["asker"]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog="Example: relayger reply thr_0190… 'It is 42.'")(reply)
    app.command(epilog="Example: relayger threads --role assignee --state open")(threads)
    app.command(epilog="Example: relayger thread thr_0190… --wait 60")(thread)
