"""A small typed client for a Relayger service.

    with Client("https://relayger.example", token) as client:
        asked = client.send(calls.ask("@relayger", text="How do I register?"))

`calls` says what can be asked of the service; `Client` and `AsyncClient` send it; `worker` answers questions.
"""

from __future__ import annotations

from relayger.client import calls
from relayger.client.errors import APIError, NetworkError, RelaygerError
from relayger.client.http import AsyncClient, Client
from relayger.client.retry import Retry

__all__ = ["APIError", "AsyncClient", "Client", "NetworkError", "RelaygerError", "Retry", "calls"]
