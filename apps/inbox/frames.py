"""What a client may send on `/ws`: the shapes, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from apps.core.errors import Code, DomainError
from apps.core.strict_json import Invalid, loads
from apps.inbox.feed import read_types

VERSION = 1
_MAX_ID = 128
_FIELDS = {
    "watch": {"v", "type", "id", "chat"},
    "unwatch": {"v", "type", "id", "chat"},
    "call": {"v", "type", "id", "tool", "arguments"},
}
_SHAPES = 'Send {"v": 1, "type": "watch", "chat": "con_…"}, unwatch or call; `id` may name the answer.'


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame: whose inbox, from where on (a seq, `latest`, None for the oldest kept) and of what."""

    token: str
    after: str | None
    types: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Frame:
    """A later frame; `id` comes back with its answer."""

    type: Literal["watch", "unwatch", "call"]
    id: str | None
    chat: str


def hello(text: str | None) -> Hello:
    """Read the first frame. Raises invalid_hello, unsupported_version, or invalid for an event type not known."""
    shape = 'Send {"v": 1, "token": "rgt_…"}; `after` and `types` may follow.'
    given = _object(text, Code.INVALID_HELLO, shape)
    for name in given.keys() - {"v", "token", "after", "types"}:
        raise DomainError(Code.INVALID_HELLO, "The first frame has no such field.", field=name, next=shape)
    token, after, types = given.get("token"), given.get("after"), given.get("types")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise DomainError(Code.INVALID_HELLO, "The token is missing.", field="token", next=shape)
    if after is not None and (isinstance(after, bool) or not isinstance(after, str | int)):
        raise DomainError(Code.INVALID_HELLO, "Must be a seq, or latest.", field="after", next=shape)
    if types is not None and not (isinstance(types, list) and all(isinstance(one, str) for one in types)):
        raise DomainError(Code.INVALID_HELLO, "Must be a list of event types.", field="types", next=shape)
    return Hello(token, None if after is None else str(after), read_types(",".join(types or [])))


def read(text: str | None) -> Frame:
    """Read a later frame. Raises invalid_frame, unsupported_version."""
    given = _object(text, Code.INVALID_FRAME, _SHAPES)
    kind, id, chat = given.get("type"), given.get("id"), given.get("chat", "")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise DomainError(Code.INVALID_FRAME, "There is no such frame.", field="type", next=_SHAPES)
    for name in given.keys() - _FIELDS[kind]:
        raise DomainError(Code.INVALID_FRAME, f"A {kind} has no such field.", field=name, next=_SHAPES)
    if id is not None and not (isinstance(id, str) and len(id) <= _MAX_ID):
        raise DomainError(
            Code.INVALID_FRAME, f"Must be a text of at most {_MAX_ID} characters.", field="id", next=_SHAPES
        )
    if not isinstance(chat, str) or (kind != "call" and not chat):
        raise DomainError(Code.INVALID_FRAME, "Must be a chat's id.", field="chat", next=_SHAPES)
    return Frame(cast(Literal["watch", "unwatch", "call"], kind), id, chat)


def _object(text: str | None, code: Code, shape: str) -> dict[str, Any]:
    """The JSON object in a text frame of this version."""
    if text is None:
        raise DomainError(code, "Frames are text.", next=shape)
    try:
        given = loads(text.encode("utf-8"))
    except Invalid as error:
        raise DomainError(code, error.message, next=shape) from None
    if not isinstance(given, dict):
        raise DomainError(code, "A frame is a JSON object.", next=shape)
    version = given.get("v")
    if version is None or isinstance(version, bool) or not isinstance(version, int):
        raise DomainError(code, "The version is missing.", field="v", next=shape)
    if version != VERSION:
        raise DomainError(
            Code.UNSUPPORTED_VERSION, f"This service speaks version {VERSION}.", field="v", next=shape
        )
    return given
