from __future__ import annotations

import pytest
from django.conf import settings


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests without a limit; the tests of the limit set their own."""
    monkeypatch.setattr(settings.RELAYGER, "rate_contact", "100000000/h")
