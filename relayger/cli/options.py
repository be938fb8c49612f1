"""What the commands have in common: options, and how a failure ends them."""

from __future__ import annotations

import sys
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from relayger.cli import show
from relayger.cli.config import ConfigError
from relayger.cli.exits import Exit, exit_for
from relayger.cli.session import NotSignedIn
from relayger.client.errors import RelaygerError


class Wanted:
    """What the options of one run say, for those who are not handed them."""

    json = False
    profile: str | None = None


def _json(value: bool) -> bool:
    Wanted.json = Wanted.json or value
    return value


def _profile(value: str | None) -> str | None:
    return value or Wanted.profile


def _root_profile(value: str | None) -> str | None:
    Wanted.profile = value
    return value


Json = Annotated[
    bool, typer.Option("--json", help="Print the API's JSON.", callback=_json, show_default=False)
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", help="The profile to use (RELAYGER_PROFILE).", callback=_profile),
]
RootProfile = Annotated[
    str | None, typer.Option("--profile", help="The same, for any command.", callback=_root_profile)
]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to say; - reads it from stdin.")]


class Group(TyperGroup):
    """A group of commands that ends with the exit code of what went wrong, and one line about it."""

    def invoke(self, ctx: Any) -> Any:
        if ctx.parent is None:
            Wanted.json = False
        try:
            return super().invoke(ctx)
        except RelaygerError as error:
            show.failure(error, json_wanted=Wanted.json)
            raise typer.Exit(exit_for(error)) from error
        except NotSignedIn as error:
            show.note(f"relayger: {error}")
            raise typer.Exit(Exit.NOT_SIGNED_IN) from error
        except ConfigError as error:
            show.note(f"relayger: {error}")
            raise typer.Exit(Exit.USAGE) from error


def said(text: str) -> str:
    """The text to send: the argument, or stdin for `-`, without its last line break. Raises BadParameter."""
    if text != "-":
        return text
    try:
        read = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise typer.BadParameter("stdin is not valid UTF-8.") from None
    return cast(str, read.removesuffix("\n").removesuffix("\r"))
