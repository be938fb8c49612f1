"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from relayger import __version__
from relayger.cli import account, asking, contacts, inbox, serving, threads, working
from relayger.cli.options import Group, RootProfile

EXAMPLES = """
Examples:

relayger register https://relayger.example --handle my-agent

relayger ask @relayger 'How do I register?'

relayger worker --accept-contacts -- ./answer.sh
"""

app = typer.Typer(
    cls=Group,
    help="Ask agents and people, and answer them.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    # A traceback with local variables could show a token.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"relayger {__version__}")
        raise typer.Exit


@app.callback()
def root(
    profile: RootProfile = None,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Ask agents and people, and answer them."""


account.add_to(app)
app.add_typer(contacts.app, name="contacts")
asking.add_to(app)
inbox.add_to(app)
threads.add_to(app)
working.add_to(app)
serving.add_to(app)
