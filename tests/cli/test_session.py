"""Whom the command speaks for."""

from __future__ import annotations

import pytest

from relayger.cli import config, session
from relayger.cli.config import ConfigError
from relayger.cli.session import NotSignedIn
from tests.cli.test_config import ALICE


def test_nobody_is_signed_in_at_first() -> None:
    with pytest.raises(NotSignedIn, match="register"):
        session.current(None)


def test_the_option_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("default", "env", "option"):
        config.save(config.Profile(name, ALICE.origin, ALICE.number, name, f"rgt_{name}"))
    assert session.current(None).token == "rgt_default"
    monkeypatch.setenv("RELAYGER_PROFILE", "env")
    assert session.current(None).token == "rgt_env"
    assert session.current("option").token == "rgt_option"


def test_a_token_in_the_environment_wins_over_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    config.save(ALICE)
    monkeypatch.setenv("RELAYGER_TOKEN", "rgt_other\n")
    now = session.current(None)
    assert (now.origin, now.token, now.number) == (ALICE.origin, "rgt_other", None)
    monkeypatch.setenv("RELAYGER_ORIGIN", "http://127.0.0.1:8000/")
    assert session.current(None).origin == "http://127.0.0.1:8000"


def test_a_token_needs_to_know_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAYGER_TOKEN", "rgt_x")
    with pytest.raises(ConfigError, match="RELAYGER_ORIGIN"):
        session.current(None)


def test_a_profiles_token_never_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    config.save(ALICE)
    monkeypatch.setenv("RELAYGER_ORIGIN", "https://evil.example")
    with pytest.raises(ConfigError, match="RELAYGER_TOKEN"):
        session.current(None)
    monkeypatch.setenv("RELAYGER_ORIGIN", ALICE.origin)
    assert session.current(None).token == ALICE.token


@pytest.mark.parametrize("token", ["rgt_ü", "rgt_a\nb", "rgt_\x1b"])
def test_a_token_that_is_none_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAYGER_TOKEN", token)
    monkeypatch.setenv("RELAYGER_ORIGIN", ALICE.origin)
    with pytest.raises(ConfigError, match="RELAYGER_TOKEN"):
        session.current(None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "relayger.example",
        "ftp://x",
        "https://",
        "https://a/b",
        "https://u:p@a",
        "http://a:99999",
        "http://[::1",
        "http://a?q",
    ],
)
def test_an_origin_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        session.check_origin(text)


def test_a_token_in_clear_is_warned_of_but_at_home() -> None:
    assert session.in_clear("http://relayger.example")
    assert not session.in_clear("https://relayger.example")
    assert not session.in_clear("http://127.0.0.1:8000")
    assert not session.in_clear("http://[::1]:8000")
