"""The environment, read once and checked: what an operator may set, with its default and its range."""

from __future__ import annotations

import base64
import re
import secrets
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import dj_database_url
from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent


class WrongSetting(SystemExit):
    """A setting that cannot be used; its message is one line that names the variable."""


def _rate(value: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,8}/[1-9]?[0-9]{0,5}[smhd]", value):
        raise ValueError("must look like 60/m: a count, a slash and s, m, h or d")
    return value


def _origin(value: str) -> str:
    parts = urlsplit(value)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or value != f"{parts.scheme}://{parts.netloc}"
    ):
        raise ValueError("must be http(s)://host[:port] without a path")
    if parts.username is not None:
        raise ValueError("must not hold a user name")
    if parts.netloc.endswith(":") or parts.port == 0:  # `port` itself raises for what is not a port number
        raise ValueError("must not end in an empty port or 0")
    return value


def _database_url(value: str) -> str:
    try:
        engine = dj_database_url.parse(value)["ENGINE"]
    except Exception:
        raise ValueError("must be postgresql://user:password@host:port/name") from None
    if engine != "django.db.backends.postgresql":
        raise ValueError("must name a PostgreSQL database; leave it unset for the embedded SQLite")
    return value


def _redis_url(value: str) -> str:
    if urlsplit(value).scheme not in ("redis", "rediss", "unix"):
        raise ValueError("must be redis://host:port/number")
    return value


def read_keys(value: str) -> list[bytes]:
    """The keys in SECRETS_KEY, each 32 bytes. Raises ValueError, which does not show them."""
    keys = []
    for text in value.split(","):
        try:
            key = base64.b64decode(text.strip().rstrip("=") + "=", altchars=b"-_", validate=True)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise ValueError("must be keys of 32 bytes in base64url, separated by commas")
        keys.append(key)
    return keys


def _secrets(value: SecretStr) -> SecretStr:
    read_keys(value.get_secret_value())
    return value


Rate = Annotated[str, AfterValidator(_rate)]
Seconds = Annotated[float, Field(gt=0, le=86400 * 30)]
Days = Annotated[int, Field(ge=1, le=3650)]


class Config(BaseSettings):
    """All settings. Periods are in seconds unless the name says otherwise."""

    model_config = SettingsConfigDict(env_prefix="RELAYGER_", env_ignore_empty=True, extra="ignore")

    database_url: Annotated[str, AfterValidator(_database_url)] | None = Field(
        None, validation_alias="DATABASE_URL"
    )
    redis_url: Annotated[str, AfterValidator(_redis_url)] | None = Field(None, validation_alias="REDIS_URL")
    secret_key: SecretStr | None = Field(None, validation_alias="SECRET_KEY")
    # Encrypts what must be used again; several, separated by commas: the first encrypts, each decrypts.
    secrets_key: Annotated[SecretStr, AfterValidator(_secrets)] | None = Field(
        None, validation_alias="SECRETS_KEY"
    )
    origin: Annotated[str, AfterValidator(_origin)] = "http://127.0.0.1:8000"
    var: Path = ROOT / "var"
    debug: bool = False
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    trusted_proxies: int = Field(0, ge=0, le=10)

    db_threads: int = Field(4, ge=1, le=64)
    blocking_seconds: Seconds = 30
    hold_seconds: Seconds = 2
    keepalive_seconds: Seconds = 3
    sweep_seconds: Seconds = 5
    stream_seconds: Seconds = 600
    job_seconds: Seconds = 60
    outbox_seconds: Seconds = 5
    heartbeat_seconds: Seconds = 15
    hello_seconds: Seconds = 5
    live_seconds: Seconds = 35
    webhook_seconds: Seconds = 10
    retry_seconds: int = Field(86400, ge=0, le=86400 * 30)
    drain_seconds: Seconds = 10

    body_seconds: Seconds = 20
    write_seconds: Seconds = 30
    body_bytes: int = Field(1 << 20, ge=1 << 17, le=1 << 26)
    max_long_polls: int = Field(64, ge=1)
    max_a2a_waits: int = Field(1000, ge=1)
    max_sockets: int = Field(16, ge=1)
    max_members: int = Field(64, ge=2, le=1000)
    max_rooms: int = Field(200, ge=1)
    max_invites: int = Field(100, ge=1)
    max_tokens: int = Field(100, ge=1)
    max_keys: int = Field(100, ge=1)
    max_webhooks: int = Field(10, ge=1)
    max_hops: int = Field(8, ge=1, le=100)

    rate_register: Rate = "30/h"
    rate_handle: Rate = "10/d"
    rate_contact: Rate = "60/h"
    rate_ask: Rate = "120/m"
    rate_pair: Rate = "60/m"
    rate_file: Rate = "120/h"
    rate_search: Rate = "60/m"
    rate_room: Rate = "60/h"
    rate_report: Rate = "20/h"
    rate_export: Rate = "10/h"
    rate_login: Rate = "10/m"
    rate_ping: Rate = "20/h"
    rate_reply: Rate = "6000/m"
    rate_write: Rate = "600/m"
    rate_read: Rate = "3000/m"
    rate_public: Rate = "600/m"

    handle_hold_days: Days = 90
    thread_days: Days = 14
    delete_days: Days = 7
    audit_days: Days = 365
    delivery_days: Days = 7
    webhook_days: float = Field(1, gt=0, le=30)
    overlap_hours: float = Field(24, ge=0, le=24 * 30)
    idempotency_days: Days = 7
    inbox_days: Days = 30
    inbox_events: int = Field(100_000, ge=1)

    file_inline_bytes: int = Field(1 << 20, ge=1, le=1 << 26)
    file_bytes: int = Field(25 << 20, ge=1, le=1 << 31)
    file_seconds: Seconds = 600
    max_transfers: int = Field(8, ge=1)
    max_files: int = Field(1000, ge=1)
    max_file_versions: int = Field(100, ge=1)
    files_quota_bytes: int = Field(256 << 20, ge=1)
    files_bucket: str | None = None
    files_endpoint: str | None = None
    files_region: str | None = None

    private_targets: bool = False

    @property
    def embedded(self) -> bool:
        """True when nothing but this process and its folder is needed."""
        return self.database_url is None

    @property
    def host(self) -> str:
        """The origin's host name, the domain of our own A2A error reasons."""
        return urlsplit(self.origin).hostname or "localhost"

    @model_validator(mode="after")
    def _together(self) -> Config:
        if (self.database_url is None) != (self.redis_url is None):
            raise ValueError("DATABASE_URL and REDIS_URL: set both or neither")
        if not self.embedded and self.secret_key is None:
            raise ValueError("SECRET_KEY: must be set when DATABASE_URL is")
        if self.secret_key is not None and len(self.secret_key.get_secret_value()) < 32:
            raise ValueError("SECRET_KEY: must have at least 32 characters")
        return self


def load() -> Config:
    """Read and check the environment.

    Raises WrongSetting, whose message is one line naming the variable, when a value cannot be used.
    """
    try:
        config = Config()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        text = first["msg"].removeprefix("Value error, ")
        raise WrongSetting(f"relayger: {_variable(first['loc'])}{text}") from None
    if config.secret_key is None:
        config.secret_key = SecretStr(_kept_secret(config.var))
    return config


def _variable(loc: tuple[int | str, ...]) -> str:
    if not loc:
        return ""
    name = str(loc[0])
    return f"{name if name.isupper() else f'RELAYGER_{name.upper()}'}: "


def _kept_secret(var: Path) -> str:
    """The embedded service's own key: made at the first start, then kept beside its data."""
    path = var / "secret_key"
    try:
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            # Linked into place whole, so that two first starts at once agree on one key.
            fresh = path.with_name(f".secret_key.{secrets.token_hex(4)}")
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_urlsafe(48))
            path.hardlink_to(fresh)
        except FileExistsError:
            pass
        finally:
            fresh.unlink(missing_ok=True)
        return path.read_text().strip()
    except OSError as error:
        raise WrongSetting(f"relayger: RELAYGER_VAR: cannot write {var}: {error.strerror}") from None
