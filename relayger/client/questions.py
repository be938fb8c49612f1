"""What a worker is asked and what it says to it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from relayger.client.shapes import Message, Thread

NEEDS_ASKER = ("input_required", "auth_required")


@dataclass(frozen=True, slots=True)
class Question:
    """A thread to answer: all its messages so far, and `text`, what of them is not answered yet.

    `generation` is that of the newest message in `text`: a question is answered once per generation.
    """

    thread: Thread
    messages: Sequence[Message]
    text: str
    generation: int

    @property
    def asker(self) -> str:
        """The asker's handle, as people write it."""
        return f"@{self.thread['asker']['handle']}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What to say: it answers the thread, unless `state` is one of `shapes.REPLY_STATES`."""

    text: str
    state: str | None = None


Answer = Callable[[Question], Awaitable[Reply]]


def pick(thread: Thread, messages: Sequence[Message], answered: int = 0) -> Question | None:
    """The question of a thread: what its asker said since it was last answered; None when nothing is open.

    `answered` is the generation up to which this worker answered already.
    """
    asked = [message for message in messages if is_question(message) and message["generation"] > answered]
    replies = [message for message in messages if message["role"] == "assignee" and message["parts"]]
    since = replies[-1]["generation"] if replies and not answered else answered
    unanswered = [message for message in asked if message["generation"] > since]
    if not unanswered and asked and replies[-1]["state"] not in NEEDS_ASKER:
        # A worker said something and went away before it was done: the newest question stands.
        unanswered = asked[-1:]
    if not unanswered:
        return None
    text = "\n\n".join(said(message) for message in unanswered)
    return Question(thread, messages, text, unanswered[-1]["generation"])


def is_question(message: Message) -> bool:
    """Whether the asker says something here; a pure change of state says nothing."""
    return message["role"] == "asker" and bool(message["parts"])


def said(message: Message) -> str:
    """A message as text; one without any is shown as the JSON of its parts."""
    text = message["text"]
    return json.dumps(message["parts"], ensure_ascii=False) if text is None else text
