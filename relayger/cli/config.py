"""What the command keeps: a file per profile with its token, and where each reader of an inbox was.

Only their owner can read these files, and each is replaced as a whole: a crash leaves the old one or the new one.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import typer

DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ConfigError(Exception):
    """The configuration cannot be used as it is; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Profile:
    """An identity on a service, and the token that speaks for it."""

    name: str
    origin: str
    number: str
    handle: str
    token: str = field(repr=False)


def folder() -> Path:
    """Where everything is kept: RELAYGER_CONFIG_DIR, or the user's config folder."""
    given = os.environ.get("RELAYGER_CONFIG_DIR")
    return Path(given) if given else Path(typer.get_app_dir("relayger"))


def check_name(name: str) -> str:
    """A profile's name, which is part of a file's. Raises ConfigError for what cannot be one."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot name a profile: letters, digits, dots, hyphens and underscores can."
        )
    return name


def profile_path(name: str) -> Path:
    """The file of a profile."""
    return folder() / "profiles" / f"{check_name(name)}.json"


def load(name: str) -> Profile | None:
    """A profile, or None when there is none. Raises ConfigError for a file that is broken."""
    path = profile_path(name)
    kept = _read(path)
    if kept is None:
        return None
    values = {key: kept.get(key) for key in ("origin", "number", "handle", "token")}
    if not all(isinstance(value, str) and value for value in values.values()):
        raise ConfigError(f"{path} is no profile; move it away and register again.")
    return Profile(name, **{key: str(value) for key, value in values.items()})


def save(profile: Profile) -> Path:
    """Keep a profile; returns where."""
    path = profile_path(profile.name)
    kept = asdict(profile)
    del kept["name"]
    _write(path, kept)
    return path


def check_writable(name: str) -> None:
    """Raise ConfigError unless a new profile can be kept: a token that cannot be stored would be lost."""
    path = profile_path(name)
    if load(name) is not None:
        raise ConfigError(f"The profile {name} is taken ({path}); choose another with --profile.")
    try:
        _private(path.parent)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ConfigError(f"Cannot write to {path.parent}: {error.strerror}.") from error


@dataclass(frozen=True, slots=True)
class Position:
    """How far one reader (`inbox`, `worker`) of one identity's inbox has come."""

    reader: str
    profile: str
    origin: str
    number: str

    @property
    def path(self) -> Path:
        """Its own file, so that two readers never overwrite each other."""
        return folder() / "state" / f"{check_name(self.profile)}.{self.reader}.json"

    def load(self) -> int | None:
        """The seq to read on from; None when nothing was read yet, or by another identity."""
        try:
            kept = _read(self.path) or {}
        except ConfigError:
            return None  # it only remembers; reading from the start mends it
        same = kept.get("origin") == self.origin and kept.get("number") == self.number
        seq = kept.get("seq")
        return seq if same and isinstance(seq, int) and seq >= 0 else None

    def save(self, seq: int) -> None:
        """Remember how far was read."""
        _write(self.path, {"origin": self.origin, "number": self.number, "seq": seq})


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON; move it away.") from error
    return found if isinstance(found, dict) else {}


def _write(path: Path, value: dict[str, Any]) -> None:
    """Replace a file, readable by its owner alone from its first byte on. Raises ConfigError."""
    try:
        _private(path.parent)
        number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=2)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"Cannot write {path}: {error.strerror}.") from error


def _private(directory: Path) -> None:
    """Make a folder of the configuration, closed to others, and the one above it."""
    for path in (directory.parent, directory):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
