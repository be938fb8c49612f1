from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.cast import Cast
from tests.harness.service import Service, Starter
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.world import make

# Receivers of the tests are on this machine, and impatient.
LOCAL = {
    "RELAYGER_PRIVATE_TARGETS": "true",
    "RELAYGER_WEBHOOK_SECONDS": "1",
    "RELAYGER_OUTBOX_SECONDS": "0.2",
}


def sending(service: Service) -> Service:
    """The service, once it sends: a deployment's workers take their time to start."""
    cast = Cast(service)
    with receiving() as receiver:
        hook = make(cast.alice, receiver.url)
        cast.alice.call("POST", f"/v1/webhooks/{hook['id']}/test")
        receiver.wait(1, 60)
        cast.alice.call("DELETE", f"/v1/webhooks/{hook['id']}")
    cast.close()
    return service


@pytest.fixture(scope="session")
def hooked(_start: Starter) -> Service:
    """A service that calls private addresses too."""
    return sending(_start(jobs=True, **LOCAL))


@pytest.fixture
def people(hooked: Service) -> Iterator[Cast]:
    """New people on `hooked`."""
    cast = Cast(hooked)
    yield cast
    cast.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that takes everything."""
    with receiving() as one:
        yield one
