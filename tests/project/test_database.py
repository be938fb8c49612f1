"""In-process tests run on the chosen kind of database, set up as the service sets it up."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import connection

from tests.harness.environment import SCRATCH, SETUP


@pytest.mark.django_db
def test_is_of_the_chosen_kind() -> None:
    assert connection.vendor == {"embedded": "sqlite", "deployment": "postgresql"}[SETUP]


@pytest.mark.django_db
def test_is_nobody_elses() -> None:
    name = str(connection.settings_dict["NAME"])
    if SETUP == "embedded":
        assert name.startswith(str(SCRATCH))
    else:
        assert name.startswith("test_relayger_pytest_")


@pytest.mark.skipif(SETUP != "embedded", reason="SQLite's own promise")
@pytest.mark.django_db
def test_embedded_commits_reach_the_disk() -> None:
    with connection.cursor() as cursor:
        modes = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert modes == ["wal", 2]


def test_settings_write_nothing_outside_the_scratch_folder() -> None:
    assert settings.RELAYGER.var.is_relative_to(SCRATCH)
