"""A wrong setting stops the start with one line that names the variable."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from relayger import config
from tests.harness.environment import SETTINGS, clean
from tests.project.test_files import ROOT

KEY = "k" * 32
POSTGRES = "postgresql://relayger@127.0.0.1/relayger"
REDIS = "redis://127.0.0.1/0"

WRONG = [
    ({"DATABASE_URL": "mysql://127.0.0.1/relayger", "REDIS_URL": REDIS, "SECRET_KEY": KEY}, "DATABASE_URL"),
    ({"DATABASE_URL": "nonsense", "REDIS_URL": REDIS, "SECRET_KEY": KEY}, "DATABASE_URL"),
    ({"DATABASE_URL": POSTGRES, "REDIS_URL": "http://127.0.0.1", "SECRET_KEY": KEY}, "REDIS_URL"),
    ({"DATABASE_URL": POSTGRES, "SECRET_KEY": KEY}, "REDIS_URL"),
    ({"REDIS_URL": REDIS}, "DATABASE_URL"),
    ({"DATABASE_URL": POSTGRES, "REDIS_URL": REDIS}, "SECRET_KEY"),
    ({"SECRET_KEY": "short"}, "SECRET_KEY"),
    ({"SECRETS_KEY": "c2hvcnQ"}, "SECRETS_KEY"),
    ({"SECRETS_KEY": "A" * 43 + ",%"}, "SECRETS_KEY"),
    ({"RELAYGER_ORIGIN": "relayger.example"}, "RELAYGER_ORIGIN"),
    ({"RELAYGER_ORIGIN": "https://relayger.example/path"}, "RELAYGER_ORIGIN"),
    ({"RELAYGER_ORIGIN": "https://me@relayger.example"}, "RELAYGER_ORIGIN"),
    ({"RELAYGER_ORIGIN": "https://relayger.example:port"}, "RELAYGER_ORIGIN"),
    ({"RELAYGER_DEBUG": "maybe"}, "RELAYGER_DEBUG"),
    ({"RELAYGER_TRUSTED_PROXIES": "-1"}, "RELAYGER_TRUSTED_PROXIES"),
    ({"RELAYGER_DB_THREADS": "0"}, "RELAYGER_DB_THREADS"),
    ({"RELAYGER_BLOCKING_SECONDS": "long"}, "RELAYGER_BLOCKING_SECONDS"),
    ({"RELAYGER_SWEEP_SECONDS": "0"}, "RELAYGER_SWEEP_SECONDS"),
    ({"RELAYGER_SWEEP_SECONDS": "nan"}, "RELAYGER_SWEEP_SECONDS"),
    ({"RELAYGER_BODY_BYTES": "10"}, "RELAYGER_BODY_BYTES"),
    ({"RELAYGER_RATE_WRITE": "many"}, "RELAYGER_RATE_WRITE"),
    ({"RELAYGER_RATE_WRITE": "60/y"}, "RELAYGER_RATE_WRITE"),
]


@pytest.mark.parametrize(("environ", "name"), WRONG)
def test_wrong_value_names_its_variable(
    environ: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in SETTINGS:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(config.WrongSetting) as stop:
        config.load()
    message = str(stop.value)
    assert name in message
    assert "\n" not in message
    for variable, value in environ.items():
        if variable in SETTINGS:
            assert value not in message, "an address or key may hold a secret"


def test_serve_stops_with_that_line_alone() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "relayger.cli", "serve"],
        cwd=ROOT,
        env={**clean(dict(os.environ)), "RELAYGER_BLOCKING_SECONDS": "long"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode != 0
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert "RELAYGER_BLOCKING_SECONDS" in run.stderr


def test_embedded_key_is_made_once_and_kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    var = tmp_path_factory.mktemp("var")
    program = "from relayger.config import load; print(load().secret_key.get_secret_value())"
    environ = {**clean(dict(os.environ)), "RELAYGER_VAR": str(var)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60
        ).stdout.strip()
        for _ in range(2)
    )
    assert len(first) >= 50
    assert first == second
    assert (var / "secret_key").stat().st_mode & 0o777 == 0o600
