"""The `relayger` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line of this process; ends it with one of `exits.Exit`."""
    from relayger.cli.app import app  # noqa: PLC0415  importing the package costs nothing

    app(prog_name="relayger")
