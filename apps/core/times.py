"""Times: aware UTC inside, ISO 8601 with milliseconds and Z outside."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from django.utils.dateparse import parse_datetime

_ISO = re.compile(r"[0-9T:.+\-Zz ]{16,40}", re.ASCII)


def now() -> datetime:
    """The present, cut to the millisecond, so that what is shown is what is stored."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def show(moment: datetime) -> str:
    """`2026-01-31T12:00:00.000Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def show_maybe(moment: datetime | None) -> str | None:
    """The same of a moment that there may not be."""
    return None if moment is None else show(moment)


def read(text: str) -> datetime | None:
    """The moment an ISO 8601 text with an offset names, or None when it names none."""
    if not _ISO.fullmatch(text):
        return None
    try:
        moment = parse_datetime(text)
        return None if moment is None or moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
