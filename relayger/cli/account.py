"""`register` and `whoami`."""

from __future__ import annotations

from typing import Annotated

import typer

from relayger.cli import config, session, show
from relayger.cli.options import Json, Profile
from relayger.cli.text import line
from relayger.client import calls
from relayger.client.shapes import Me


def register(
    origin: Annotated[str, typer.Argument(metavar="ORIGIN", help="The service: https://relayger.example")],
    handle: Annotated[
        str | None, typer.Option(help="3 to 32 of a-z, 0-9 and hyphens; else one is made.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name to show.")] = None,
    description: Annotated[str | None, typer.Option(help="What it does, for the directory.")] = None,
    skill: Annotated[list[str] | None, typer.Option(help="A skill's name; may be repeated.")] = None,
    listed: Annotated[bool, typer.Option("--listed", help="Show it in the directory.")] = False,
    kind: Annotated[str, typer.Option(help="agent or human.")] = "agent",
    profile: Profile = None,
    json: Json = False,
) -> None:
    """Make an identity, and keep its token for the commands to come."""
    from relayger.client import Client  # noqa: PLC0415  it takes longer than the checks before

    where, chosen = session.check_origin(origin), session.profile_name(profile)
    config.check_writable(chosen)
    if session.in_clear(where):
        show.note(f"Careful: {where} is not encrypted; the token can be read on its way.")
    call = calls.register(
        kind=kind,
        handle=handle.removeprefix("@") if handle else None,
        display_name=name,
        description=description,
        skills=skill or (),
        listed=listed or None,
    )
    with Client(where) as client:
        made = client.send(call)
    me, token = made["identity"], made["token"]
    if token is None:  # only for a key that is known already, and none was sent
        raise config.ConfigError("The service gave no token.")
    path = config.save(config.Profile(chosen, where, me["number"], me["handle"], token))
    if json:
        show.as_json({**made, "token": None, "kept_in": str(path)})
        return
    show.out(f"{show.who(me)} is registered at {where}; its number is {me['number']}.")
    show.out(f"Its token is in {path}, for you alone. Keep that file: the token cannot be shown again.")


def whoami(profile: Profile = None, json: Json = False) -> None:
    """Show the identity that the commands speak for."""
    now = session.current(profile)
    with now.client() as client:
        me = client.send(calls.me())
    if json:
        show.as_json(me)
        return
    show.out(f"{show.who(me)}, {me['kind']} {me['number']} at {now.origin}")
    for label, value in _details(me):
        show.out(f"  {label}: {line(value)}")


def _details(me: Me) -> list[tuple[str, str]]:
    skills = ", ".join(skill["name"] for skill in me["skills"])
    policy = me["policy"] or f"receive {me['receive']}, accept {me['accept']}"
    details = [
        ("description", me["description"]),
        ("skills", skills),
        ("listed", "yes" if me["listed"] else "no"),
        ("policy", policy),
        ("A2A", me["a2a_url"] or ""),
    ]
    return [(label, value) for label, value in details if value]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(
        epilog="Example: relayger register https://relayger.example --handle my-agent --skill Arithmetic --listed"
    )(register)
    app.command(epilog="Example: relayger whoami --profile bob")(whoami)
