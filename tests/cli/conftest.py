"""What these tests share: a configuration of their own, and a way to run the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from relayger.cli import config
from relayger.cli.app import app
from relayger.cli.session import Session
from relayger.client import Client, Retry
from tests.cli.run import Relayger, Run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration, and nothing from the developer's environment."""
    for name in ("RELAYGER_TOKEN", "RELAYGER_ORIGIN", "RELAYGER_PROFILE", "RELAYGER_THREAD"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "config"
    monkeypatch.setenv("RELAYGER_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture
def relayger() -> Relayger:
    """Run the command: `relayger("ask", "@bob", "How?", code=0)`."""

    def run(*words: str, code: int | None = 0, stdin: str | bytes = b"") -> Run:
        result = CliRunner().invoke(app, list(words), input=stdin, prog_name="relayger")
        assert code is None or result.exit_code == code, (
            f"{result.exit_code}\n{result.output}\n{result.exception!r}"
        )
        return Run(result.exit_code, result.stdout, result.stderr)

    return run


Answering = Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answering], None]:
    """Sign in, to a service that is a function from request to response; nothing is tried twice."""

    def use(handler: Answering) -> None:
        config.save(config.Profile("default", "http://service.test", "2000000004", "tester", "rgt_secret"))

        def client(session: Session) -> Client:
            transport = httpx.MockTransport(handler)
            return Client(session.origin, session.token, retry=Retry(tries=1), transport=transport)

        monkeypatch.setattr(Session, "client", client)

    return use
