"""The fixtures that every test may use. What they hand out is in `tests.harness`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.harness import service as services
from tests.harness.cast import Cast
from tests.harness.environment import SCRATCH, SETUP
from tests.harness.service import QUIET, Service, Starter

# Where each live service's log stood when the running test began.
_marks: dict[Service, int] = {}


@contextmanager
def _running(service: Service) -> Iterator[Service]:
    """A service from start to end, with its log watched."""
    _marks[service] = 0
    try:
        with service:
            yield service
    finally:
        del _marks[service]


@pytest.fixture(scope="session")
def _templates() -> Iterator[None]:
    """What services of one set-up are copied from goes last."""
    yield
    if SETUP == "deployment":
        services.template.close()


@pytest.fixture(scope="session")
def _start(_templates: None) -> Iterator[Starter]:
    """Starts services that live until the session ends."""
    with ExitStack() as stack:

        def start(**options: Any) -> Service:
            return stack.enter_context(_running(Service(**options)))

        yield start


@pytest.fixture(scope="session")
def server(_start: Starter) -> Service:
    """The service as it is served, with @relayger answering; one for all tests of this process."""
    return _start(agent=True)


@pytest.fixture(scope="session")
def quiet_server(_start: Starter) -> Service:
    """The service without @relayger, sweeps or jobs, so that each statement is the test's own."""
    return _start(**QUIET)


@pytest.fixture
def fresh_server(_templates: None) -> Iterator[Starter]:
    """Start a service of one's own: `fresh_server(agent=False, RELAYGER_SWEEP_SECONDS="0.2", …)`."""
    with ExitStack() as stack:

        def start(**options: Any) -> Service:
            return stack.enter_context(_running(Service(**options)))

        yield start


@pytest.fixture
def cast(server: Service) -> Iterator[Cast]:
    """New people on `server`: `cast.alice`, `cast.friends`, `cast.register("eve")`."""
    cast = Cast(server)
    yield cast
    cast.close()


@pytest.fixture
def quiet_cast(quiet_server: Service) -> Iterator[Cast]:
    """The same on `quiet_server`."""
    cast = Cast(quiet_server)
    yield cast
    cast.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Remember where each log stands."""
    for service in _marks:
        _marks[service] = service.log_size


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """No call makes a service log an unexpected exception, whatever it was answered with.

    A test that provokes one on purpose is marked `faults`.
    """
    yield
    if item.get_closest_marker("faults") is None:
        for service, mark in _marks.items():
            log = service.log(mark)
            assert "Traceback (most recent call last)" not in log, log


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show what the services logged during a test that failed."""
    report: pytest.TestReport = yield
    if report.failed:
        for service, mark in _marks.items():
            if log := service.log(mark):
                report.sections.append((f"log of {service.origin}", log))
    return report


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Keep the embedded test database in a file: only there are WAL, and commits that other threads see."""
    from django.conf import settings  # noqa: PLC0415  only once the environment is chosen

    if SETUP == "embedded":
        settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(SCRATCH / "test.sqlite3")
