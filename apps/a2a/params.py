"""The params of each method, checked: what a caller may send, in the service's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from a2a.types import a2a_pb2 as pb
from google.protobuf.message import Message

from apps.a2a import errors, shapes
from apps.a2a.errors import Violation
from apps.core import ids
from apps.core.errors import DomainError
from apps.threads import parts as thread_parts
from apps.threads.parts import Part

MAX_MESSAGE_ID = 1024
MAX_CONTEXT = 128
MAX_REFERENCES = 16  # looked at for a parent; a message may name more
PAGE_SIZE = 50
MAX_PAGE_SIZE = 100

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Send:
    """SendMessage and SendStreamingMessage. `history` is None where it was left to the service."""

    message_id: str
    parts: list[Part]
    context: str | None
    task: str | None
    metadata: dict[str, Any] | None
    references: list[UUID]
    history: int | None
    immediate: bool
    push: bool


@dataclass(frozen=True, slots=True)
class Named:
    """A method about one task."""

    task: str
    history: int | None


@dataclass(frozen=True, slots=True)
class List:
    """ListTasks."""

    context: str | None
    status: str | None
    since: datetime | None
    page_size: int
    page_token: str | None
    history: int | None
    artifacts: bool


def send(raw: Raw) -> Send:
    """The params of a sending method. Raises Fault -32602."""
    found: list[Violation] = []
    read = _read(pb.SendMessageRequest, raw, found)
    message: Raw = read.get("message") or {}
    configuration: Raw = read.get("configuration") or {}
    _short(found, "message.messageId", message.get("message_id"), MAX_MESSAGE_ID)
    _short(found, "message.contextId", message.get("context_id"), MAX_CONTEXT)
    if message.get("role") == "ROLE_AGENT":
        found.append(Violation("message.role", "Must be ROLE_USER: what is sent here is yours."))
    history = _history(found, "configuration.historyLength", configuration)
    if found:
        raise errors.invalid_params(found)
    references = [ids.read("thr", task) for task in message.get("reference_task_ids", [])[:MAX_REFERENCES]]
    return Send(
        message_id=message["message_id"],
        parts=_parts(message["parts"]),
        context=message.get("context_id") or None,
        task=message.get("task_id") or None,
        metadata=_metadata(read.get("metadata"), message.get("metadata")),
        references=[task for task in references if task is not None],
        history=history,
        immediate=configuration.get("return_immediately", False),
        push="task_push_notification_config" in configuration,
    )


def named(kind: type[Message], raw: Raw) -> Named:
    """The params of a method about one task. Raises Fault -32602."""
    found: list[Violation] = []
    read = _read(kind, raw, found)
    history = _history(found, "historyLength", read)
    if found:
        raise errors.invalid_params(found)
    return Named(read["id"], history)


def listing(raw: Raw) -> List:
    """The params of ListTasks. Raises Fault -32602."""
    found: list[Violation] = []
    read = _read(pb.ListTasksRequest, raw, found)
    history = _history(found, "historyLength", read)
    size = read.get("page_size")
    if size is not None and not 1 <= size <= MAX_PAGE_SIZE:
        found.append(Violation("pageSize", f"Must be from 1 to {MAX_PAGE_SIZE}."))
    if found:
        raise errors.invalid_params(found)
    return List(
        context=read.get("context_id") or None,
        status=read.get("status"),
        since=read.get("status_timestamp_after"),
        page_size=PAGE_SIZE if size is None else size,
        page_token=read.get("page_token") or None,
        history=history,
        artifacts=read.get("include_artifacts", False),
    )


def _read(kind: type[Message], raw: Raw, found: list[Violation]) -> Raw:
    return shapes.read(shapes.shape_of(kind.DESCRIPTOR), raw, found)


def _history(found: list[Violation], where: str, read: Raw) -> int | None:
    length: int | None = read.get("history_length")
    if length is not None and length < 0:
        found.append(Violation(where, "Must not be negative."))
    return length


def _short(found: list[Violation], where: str, text: str | None, most: int) -> None:
    if text is not None and len(text) > most:
        found.append(Violation(where, f"Must have at most {most} characters."))


def _parts(read: list[Raw]) -> list[Part]:
    """Parts as they are stored, within the limits of any message. Raises Fault -32602."""
    # A proto's default is an absent field: "" names neither a media type nor a file.
    bare = [
        {key: value for key, value in part.items() if value != "" or key in ("text", "raw", "url", "data")}
        for part in read
    ]
    try:
        return thread_parts.check(bare, name=_part_field)
    except DomainError as error:
        raise errors.invalid_params([Violation(error.field or "message.parts", error.message)]) from None


def _part_field(index: int | None, key: str | None) -> str:
    if index is None:
        return "message.parts"
    return f"message.parts[{index}]" + (f".{'mediaType' if key == 'media_type' else key}" if key else "")


def _metadata(request: Raw | None, message: Raw | None) -> Raw | None:
    """Metadata of the request and of the message reach the agent as one object; the message's keys win."""
    return {**request, **(message or {})} if request else message
