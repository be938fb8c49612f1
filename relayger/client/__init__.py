"""A small typed client for a Relayger service.

    with Client("https://relayger.example", token) as client:
        asked = client.send(calls.ask("@relayger", text="How do I register?"))

`calls` says what can be asked of the service; `Client` and `AsyncClient` send it; `worker` answers questions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relayger.client import calls
    from relayger.client.errors import APIError, InvalidArgument, NetworkError, RelaygerError
    from relayger.client.http import AsyncClient, Client
    from relayger.client.retry import Retry

__all__ = [
    "APIError",
    "AsyncClient",
    "Client",
    "InvalidArgument",
    "NetworkError",
    "RelaygerError",
    "Retry",
    "calls",
]

_HOMES = {"AsyncClient": "http", "Client": "http", "Retry": "retry"}


def __getattr__(name: str) -> Any:
    """Load what is asked for: httpx takes longer to import than a short command to run."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "calls":
        return import_module("relayger.client.calls")
    return getattr(import_module(f"relayger.client.{_HOMES.get(name, 'errors')}"), name)
