"""What the database knows of sending: which webhook is claimed, which ping is tried, what came of it.

Each step is one short transaction; none is open while something is sent.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from uuid import UUID

from django.conf import settings

from apps.core import db, times
from apps.inbox import sql, webhooks
from apps.inbox.sql import Hook, Ping

MOST_WAITING = 100  # of one webhook; more are thinned out
_FIRST, _LONGEST = 2.0, 3600.0  # seconds between two tries
_SLACK = 5.0  # seconds that a claim outlives its try, for what is written down after it
_OUTDATED = "A newer ping says the same."


@dataclass(frozen=True, slots=True)
class Claimed:
    """A webhook that this process alone sends to until a time."""

    webhook: UUID
    until: datetime


@dataclass(frozen=True, slots=True)
class Try:
    """A ping on its way: what to send, and where."""

    claim: Claimed
    hook: Hook
    ping: Ping
    at: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a try: an answer's status, or why there was none."""

    status: int | None
    error: str = ""
    retry_after: str | None = None

    @property
    def taken(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """Whether the receiver wants no more."""
        return self.status == 410


def claim(most: int) -> list[Claimed]:
    """Claim up to `most` webhooks that are due."""
    now = times.now()
    if not sql.any_due(now):
        return []
    until = _until(now)
    with db.write():
        return [Claimed(id, until) for id in sql.claim_due(now, until, most)]


def first(claimed: Claimed) -> Try | None:
    """Begin the first try of a claimed webhook; None when there is none to make."""
    with db.write():
        hook = sql.lock_claimed(claimed.webhook, claimed.until)
        return None if hook is None else _begin(claimed.webhook, hook)


def done(made: Try, outcome: Outcome) -> Try | None:
    """Write down what came of a try, and begin the next one of this webhook if it may come at once.

    A try whose claim others have taken over meanwhile is theirs to write down.
    """
    webhook = made.claim.webhook
    with db.write():
        if not outcome.taken:
            # Disabling tells the owner, and heads are locked before webhooks.
            sql.lock_head(made.hook.identity)
        hook = sql.lock_claimed(webhook, made.claim.until)
        if hook is None:
            return None
        sql.end_try(
            made.ping.id, "delivered" if outcome.taken else "pending", outcome.status, outcome.error[:200]
        )
        if outcome.taken:
            return _begin(webhook, hook)
        _failed(made, hook, outcome)
    return None


def _begin(webhook: UUID, hook: Hook) -> Try | None:
    pings = sql.waiting(webhook, MOST_WAITING + 1)
    if len(pings) > MOST_WAITING:
        sql.drop_outdated(webhook, _OUTDATED)
        pings = sql.waiting(webhook, 1)
    if not pings:
        sql.free_claim(webhook, None, None)
        return None
    now = times.now()
    until = _until(now)
    sql.begin_try(webhook, pings[0].id, now, until)
    return Try(Claimed(webhook, until), hook, pings[0], now)


def _failed(made: Try, hook: Hook, outcome: Outcome) -> None:
    now = times.now()
    # An address that was changed while the old one was tried starts afresh.
    since = hook.failing_since or now
    last = since + timedelta(days=settings.RELAYGER.webhook_days)
    if hook.url != made.hook.url:
        sql.free_claim(made.claim.webhook, now, None)
    elif outcome.gone:
        webhooks.disable(hook.identity, made.claim.webhook, "The receiver answered 410 Gone.")
    elif now >= last:
        webhooks.disable(hook.identity, made.claim.webhook, f"Every try failed since {times.show(since)}.")
    else:
        due = now + timedelta(seconds=_pause(made.ping.attempts + 1, outcome.retry_after, now))
        sql.free_claim(made.claim.webhook, min(due, last), since)


def _pause(attempts: int, retry_after: str | None, now: datetime) -> float:
    """Seconds until the next try: twice as long each time, and never less than the receiver asks for, in bounds."""
    seconds = min(_FIRST * 2.0 ** min(attempts - 1, 20), _LONGEST) * random.uniform(0.75, 1.25)  # noqa: S311  spreads load
    return max(seconds, min(_asked(retry_after, now), _LONGEST))


def _asked(retry_after: str | None, now: datetime) -> float:
    """What a Retry-After asks for, as seconds or as a date; 0 for what is neither."""
    text = (retry_after or "").strip()[:40]
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return (parsedate_to_datetime(text) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0


def _until(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.RELAYGER.webhook_seconds + _SLACK)
