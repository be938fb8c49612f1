"""`serve`: run the service itself, from a checkout or an image."""

from __future__ import annotations

from typing import Annotated

import typer

from relayger.cli.config import ConfigError


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8000,
    no_agent: Annotated[
        bool, typer.Option("--no-agent", help="Do not answer for @relayger in this process.")
    ] = False,
) -> None:
    """Serve; settings come from the environment, and without any everything is kept in ./var."""
    try:
        from relayger import server  # noqa: PLC0415  only a checkout has it
    except ModuleNotFoundError as error:
        raise _absent(error) from error
    try:
        server.serve(host=host, port=port, agent=not no_agent)
    except ModuleNotFoundError as error:
        raise _absent(error) from error


def _absent(error: ModuleNotFoundError) -> ConfigError:
    return ConfigError(
        f"the service cannot run here, {error.name} is absent: use a checkout and pip install -e '.[server]'."
    )


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog="Example: relayger serve --port 8080")(serve)
