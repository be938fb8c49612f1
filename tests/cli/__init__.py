"""The command, its client, the worker and what @relayger answers with."""

from __future__ import annotations
