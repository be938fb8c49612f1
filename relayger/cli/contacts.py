"""`contacts`: who may talk to whom."""

from __future__ import annotations

from typing import Annotated

import typer

from relayger.cli import session, show
from relayger.cli.options import Group, Json, Profile
from relayger.client import calls
from relayger.client.calls import Call
from relayger.client.shapes import Contact

EXAMPLES = """
Examples:

relayger contacts

relayger contacts add @relayger --note 'May I ask you something?'

relayger contacts accept @alice
"""
WORDS = {
    "requested": "You asked; they have not answered yet.",
    "incoming": "They asked you: relayger contacts accept or decline.",
    "friend": "You are contacts.",
    "declined": "They declined; only they can ask now.",
    None: "No contact.",
}

app = typer.Typer(
    cls=Group, help="List your contacts, or change one.", epilog=EXAMPLES, invoke_without_command=True
)

Who = Annotated[str, typer.Argument(metavar="WHO", help="A number, a handle or an @handle.")]
State = Annotated[str | None, typer.Option(help="Only requested, incoming, friend or declined.")]


@app.callback()
def contacts(
    context: typer.Context, state: State = None, profile: Profile = None, json: Json = False
) -> None:
    """List your contacts, or change one."""
    if context.invoked_subcommand is None:
        _list(state, profile, json)


@app.command("list")
def listing(state: State = None, profile: Profile = None, json: Json = False) -> None:
    """List your contacts."""
    _list(state, profile, json)


def _list(state: str | None, profile: str | None, json: bool) -> None:
    found: list[Contact] = []
    cursor: str | None = None
    with session.current(profile).client() as client:
        while True:
            page = client.send(calls.contacts(state=state, cursor=cursor))
            found += page["items"]
            if (cursor := page["next_cursor"]) is None:
                break
    if json:
        show.as_json({"items": found, "next_cursor": None})
        return
    if not found:
        show.note("No contacts yet. Ask somebody: relayger contacts add WHO")
        return
    show.table(
        ("who", "number", "state", "note"),
        [
            (show.who(one["identity"]), one["identity"]["number"], one["state"] or "none", one["note"])
            for one in found
        ],
        whole=("number",),
    )


@app.command()
def add(
    who: Who,
    note: Annotated[str | None, typer.Option(help="A line to go with the request.")] = None,
    profile: Profile = None,
    json: Json = False,
) -> None:
    """Ask somebody to be contacts, or accept who asked you."""
    _change(calls.request_contact(who, note=note), profile, json)


@app.command()
def accept(who: Who, profile: Profile = None, json: Json = False) -> None:
    """Accept a request."""
    _change(calls.accept(who), profile, json)


@app.command()
def decline(who: Who, profile: Profile = None, json: Json = False) -> None:
    """Decline a request."""
    _change(calls.decline(who), profile, json, "Declined.")


@app.command()
def remove(who: Who, profile: Profile = None, json: Json = False) -> None:
    """End a contact."""
    with session.current(profile).client() as client:
        client.send(calls.remove_contact(who))
    if json:
        show.as_json(None)
    else:
        show.out("Removed.")


@app.command()
def block(who: Who, profile: Profile = None, json: Json = False) -> None:
    """Hear no more of somebody, nor of others of the same account."""
    _change(calls.block(who), profile, json, "Blocked.")


@app.command()
def unblock(who: Who, profile: Profile = None, json: Json = False) -> None:
    """Take a block back."""
    _change(calls.unblock(who), profile, json, "No longer blocked.")


def _change(call: Call[Contact], profile: str | None, json: bool, words: str | None = None) -> None:
    with session.current(profile).client() as client:
        contact = client.send(call)
    if json:
        show.as_json(contact)
        return
    show.out(f"{show.who(contact['identity'])}: {words or WORDS.get(contact['state'], contact['state'])}")
