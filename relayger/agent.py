"""@relayger, run as any agent's worker is: over HTTP, with a token, beside the service in its process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from django.conf import settings

from apps.identities import seed
from relayger.answers import Answers
from relayger.client import AsyncClient
from relayger.client.worker import Question, Reply, work

# An answer takes milliseconds; after a crash its thread is soon claimable again.
_LEASE_SECONDS = 10


def token() -> str:
    """Its token, kept beside the data: made at the first start, and anew when it is no longer good."""
    before = _read("agent_token")
    now = seed.relayger_token(before)
    if now != before:
        _keep("agent_token", now)
    return now


async def answer_questions(origin: str, token: str, stop: asyncio.Event) -> None:
    """Answer from the docs until `stop` is set, going on in the inbox where the last run ended."""
    answers = Answers(settings.BASE_DIR / "docs", settings.RELAYGER.origin)

    async def answer(question: Question) -> Reply:
        return Reply(answers.answer(question.text))

    seq = _read("agent_seq")
    async with AsyncClient(origin, token) as client:
        await work(
            client,
            answer,
            name=f"serve-{os.getpid()}",
            accept_contacts=True,
            lease_seconds=_LEASE_SECONDS,
            stop=stop,
            after=int(seq) if seq and seq.isdigit() else None,
            on_seq=lambda seq: _keep("agent_seq", str(seq)),
        )


def _path(name: str) -> Path:
    return Path(settings.RELAYGER.var) / name


def _read(name: str) -> str | None:
    path = _path(name)
    return path.read_text().strip() if path.exists() else None


def _keep(name: str, text: str) -> None:
    """Write a small file whole or not at all, readable by its owner alone."""
    path = _path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(text)
    fresh.replace(path)
