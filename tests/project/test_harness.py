"""The harness itself: what it counts, what it keeps over a restart, what it shows."""

from __future__ import annotations

import httpx
import pytest

from tests.harness.cast import Cast
from tests.harness.environment import SETUP
from tests.harness.service import QUIET, Service, Starter


def test_counts_statements_but_not_transactions(quiet_server: Service, quiet_cast: Cast) -> None:
    alice = quiet_cast.alice
    with quiet_server.counting() as made:
        alice.call("GET", "/v1/me")
    assert made
    assert not [sql for sql in made.sql if sql.upper().startswith(("BEGIN", "COMMIT", "SAVEPOINT", "PRAGMA"))]
    assert any("credential" in sql for sql in made.sql), made


def test_tells_threads_and_connections(quiet_server: Service, quiet_cast: Cast) -> None:
    quiet_cast.alice.call("GET", "/v1/me")
    vitals = quiet_server.vitals()
    assert vitals["threads"] > 0
    assert vitals["connections"] > 0
    assert vitals["rss_kib"] > 10_000


def test_each_service_has_data_of_its_own(server: Service, quiet_server: Service, cast: Cast) -> None:
    assert server.database != quiet_server.database
    assert cast.alice.http.get(f"{quiet_server.origin}/v1/me").status_code == 401


def test_runs_on_the_chosen_setup(server: Service, fresh_server: Starter) -> None:
    assert str(server.database).startswith("postgresql:") == (SETUP == "deployment")


def test_ends_in_good_order_on_sigterm(fresh_server: Starter) -> None:
    service = fresh_server(agent=True)
    assert service.terminate() in (0, -15)
    with pytest.raises(httpx.ConnectError):
        service.http.get("/healthz")


@pytest.mark.faults
def test_data_survives_kill_and_restart(fresh_server: Starter) -> None:
    service = fresh_server(**QUIET)
    alice = Cast(service).alice
    service.kill()
    assert not service.running
    service.restart()
    assert alice.call("GET", "/v1/me")["number"] == alice.number
