from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.harness.cast import Cast
from tests.harness.service import QUIET, Service, Starter
from tests.lifecycle.operator import Operator, create


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests without a limit; the tests of the limit set their own."""
    monkeypatch.setattr(settings.RELAYGER, "rate_contact", "100000000/h")


@pytest.fixture(scope="session")
def desk(_start: Starter) -> Service:
    """A service with an operator, where nothing happens by the clock."""
    service = _start(**QUIET)
    create(service)
    return service


@pytest.fixture
def people(desk: Service) -> Iterator[Cast]:
    """New people on it."""
    cast = Cast(desk)
    yield cast
    cast.close()


@pytest.fixture
def operator(desk: Service) -> Operator:
    """The operator, signed in."""
    one = Operator(desk)
    assert one.sign_in().status_code == 302
    return one
