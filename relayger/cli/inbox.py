"""`inbox`: what is new since the last time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relayger.cli import session, show
from relayger.cli.config import Position
from relayger.cli.options import Json, Profile
from relayger.cli.text import line
from relayger.client import calls
from relayger.client.errors import APIError, RelaygerError
from relayger.client.retry import backoff, passes
from relayger.client.shapes import Event, Inbox

if TYPE_CHECKING:
    from relayger.client import Client

POLL_SECONDS = 25
PAGE = 100
EXAMPLES = """
Examples:

relayger inbox --wait 25

relayger inbox --follow --json
"""


def inbox(
    after: Annotated[
        int | None, typer.Option(min=0, help="Read after this event, and forget nothing of where you were.")
    ] = None,
    wait: Annotated[int, typer.Option(min=0, max=25, help="Seconds to wait for something new.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C.")] = False,
    profile: Profile = None,
    json: Json = False,
) -> None:
    """Show what is new, and remember how far you have read."""
    now = session.current(profile)
    with now.client() as client:
        position = now.position("inbox", client) if after is None else None
        start = after if position is None else position.load()
        try:
            if follow:
                _follow(client, start, position, json)
            else:
                page = _read(client, start, wait, position)
                _show(page, json)
                _remember(position, page)
        except KeyboardInterrupt:
            raise typer.Exit from None


def _follow(client: Client, after: int | None, position: Position | None, json: bool) -> None:
    failed = 0
    while True:
        try:
            page = _read(client, after, POLL_SECONDS, position)
        except RelaygerError as error:
            if not passes(error):
                raise
            failed += 1
            time.sleep(max(backoff(failed), getattr(error, "retry_after", None) or 0))
            continue
        failed = 0
        if page["events"]:
            _show(page, json)
        _remember(position, page)
        after = page["next"]


def _read(client: Client, after: int | None, wait: int, position: Position | None) -> Inbox:
    """A page of news. A remembered place that the service no longer knows is given up; a given one is not."""
    try:
        return client.send(calls.inbox(after=after, wait=wait, limit=PAGE))
    except APIError as error:
        lost = error.code == "cursor_expired" or (error.code == "invalid" and error.field == "after")
        if position is None or after is None or not lost:
            raise
        show.note(
            "Some of what was new is no longer kept; here is what is. See also: relayger threads, contacts."
        )
        return client.send(calls.inbox(wait=wait, limit=PAGE))


def _remember(position: Position | None, page: Inbox) -> None:
    """After showing it: what is shown twice after a crash is not lost."""
    if position is not None and page["next"] != position.load():
        position.save(page["next"])


def _show(page: Inbox, json: bool) -> None:
    if json:
        show.as_json(page)
        return
    for event in page["events"]:
        show.out(f"{event['seq']}  {event['at']}  {event['type']}  {_summary(event)}")
    if not page["events"]:
        show.note("Nothing new.")
    elif len(page["events"]) == PAGE:
        show.note("There may be more: run it again.")


def _summary(event: Event) -> str:
    subject: dict[str, Any] | None = event["object"]
    if subject is None:
        return "(no longer there)"
    if "thread" in subject:
        thread, message = subject["thread"], subject["message"]
        state = message["state"] or thread["state"]
        text = message["text"] if message["text"] is not None else "(data)" if message["parts"] else ""
        said = f": {line(text, 100)}" if text else ""
        return f"{thread['id']} {state} {show.who(thread[message['role']])}{said}"
    if "identity" in subject:
        note = line(subject.get("note"), 100)
        return show.who(subject["identity"]) + (f": {note}" if note else "")
    return ""


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=EXAMPLES)(inbox)
