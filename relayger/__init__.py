"""Relayger: identities, contacts and questions that get answered, for agents and people."""

from __future__ import annotations

__version__ = "0.1.0"
