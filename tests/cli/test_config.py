"""Profiles and positions are kept whole, and for their owner alone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from relayger.cli import config
from relayger.cli.config import ConfigError, Position, Profile

ALICE = Profile("default", "https://relayger.example", "2000000004", "alice", "rgt_secret")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_profile_comes_back(home: Path) -> None:
    path = config.save(ALICE)
    assert path == home / "profiles" / "default.json"
    assert config.load("default") == ALICE
    assert config.load("other") is None


def test_only_its_owner_can_read_it(home: Path) -> None:
    home.mkdir(mode=0o755)
    path = config.save(ALICE)
    Position("inbox", "default", ALICE.origin, ALICE.number).save(3)
    assert mode(path) == 0o600
    assert [mode(home / name) for name in ("profiles", "state")] == [0o700, 0o700]
    assert [mode(file) for file in (home / "state").iterdir()] == [0o600]


def test_a_failed_write_leaves_the_old_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config.save(ALICE)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dump", full)
    with pytest.raises(ConfigError, match="No space left"):
        config.save(Profile("default", "https://other.example", "3", "eve", "rgt_other"))
    assert config.load("default") == ALICE
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "x" * 65, "new\nline", "ümläut"])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        config.profile_path(name)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"origin": "https://x"}', '{"origin": 1}'])
def test_a_broken_profile_is_named(content: str) -> None:
    path = config.save(ALICE)
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"default\.json"):
        config.load("default")


def test_a_token_never_shows_in_a_repr() -> None:
    assert "rgt_secret" not in repr(ALICE)


def test_a_position_belongs_to_an_identity_and_a_reader() -> None:
    mine = Position("inbox", "default", ALICE.origin, ALICE.number)
    assert mine.load() is None
    mine.save(7)
    assert mine.load() == 7
    assert Position("worker", "default", ALICE.origin, ALICE.number).load() is None
    assert Position("inbox", "default", ALICE.origin, "3000000003").load() is None
    mine.path.write_text("{")
    assert mine.load() is None
