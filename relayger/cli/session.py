"""Who the command speaks for: the environment's token, or a profile's."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from relayger.cli import config
from relayger.cli.config import ConfigError, Position

if TYPE_CHECKING:
    from relayger.client import AsyncClient, Client


class NotSignedIn(Exception):
    """There is no token to speak with."""


@dataclass(frozen=True, slots=True)
class Session:
    """An origin and a token for it. `number` is known for a profile, and asked for otherwise."""

    profile: str
    origin: str
    token: str = field(repr=False)
    number: str | None = None

    def client(self) -> Client:
        """A client that speaks for this session; importing it takes longer than the rest of a short command."""
        from relayger.client import Client  # noqa: PLC0415

        return Client(self.origin, self.token)

    def async_client(self) -> AsyncClient:
        """The same for asyncio."""
        from relayger.client import AsyncClient  # noqa: PLC0415

        return AsyncClient(self.origin, self.token)

    def position(self, reader: str, client: Client) -> Position:
        """How far `reader` has come in this session's inbox."""
        from relayger.client import calls  # noqa: PLC0415

        number = self.number or client.send(calls.me())["number"]
        return Position(reader, self.profile, self.origin, number)


def current(profile: str | None) -> Session:
    """The session of a command. Raises NotSignedIn without a token, ConfigError when what is set does not fit.

    RELAYGER_TOKEN and RELAYGER_ORIGIN win over the profile, but a profile's token never goes to another origin.
    """
    name = profile_name(profile)
    token, origin = os.environ.get("RELAYGER_TOKEN"), os.environ.get("RELAYGER_ORIGIN")
    kept = config.load(name)
    if token:
        if not (token := token.strip()).isascii() or not token.isprintable():
            raise ConfigError("RELAYGER_TOKEN is not a token.")
        if not origin and kept is None:
            raise ConfigError("RELAYGER_TOKEN needs RELAYGER_ORIGIN: the service it belongs to.")
        where = check_origin(origin) if origin else kept.origin if kept else ""
        same = kept is not None and kept.token == token and kept.origin == where
        return Session(name, where, token, kept.number if same and kept else None)
    if kept is None:
        raise NotSignedIn(f"There is no profile {name} yet. Make one: relayger register ORIGIN")
    if origin and check_origin(origin) != kept.origin:
        raise ConfigError(
            f"RELAYGER_ORIGIN is not the service of the profile {name} ({kept.origin}); set RELAYGER_TOKEN with it."
        )
    return Session(name, kept.origin, kept.token, kept.number)


def profile_name(given: str | None) -> str:
    """The profile to use: the option's, the environment's, or `default`."""
    return config.check_name(given or os.environ.get("RELAYGER_PROFILE") or config.DEFAULT)


def check_origin(text: str) -> str:
    """An origin without a trailing slash. Raises ConfigError for what is none."""
    origin = text.strip().rstrip("/")
    try:
        parts = urlsplit(origin)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = None
    if not fits or origin != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise ConfigError(
            f"{text!r} is not an origin such as https://relayger.example or http://127.0.0.1:8000"
        )
    return origin


def in_clear(origin: str) -> bool:
    """Whether a token sent there could be read on its way."""
    parts = urlsplit(origin)
    return parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost")
