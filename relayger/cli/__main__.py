"""`python -m relayger.cli`."""

from __future__ import annotations

from relayger.cli import main

main()
