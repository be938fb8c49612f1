"""What a message is made of, checked the same for every surface."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from django.conf import settings

from apps.core import ids
from apps.core.errors import invalid
from apps.core.strict_json import dumps

MAX_TEXT = 32 * 1024
MAX_MESSAGE = 128 * 1024
MAX_PARTS = 64
MAX_NAME = 255
MAX_URL = 2048

_CONTENT = ("text", "data", "raw", "url", "file")
_KNOWN = frozenset({*_CONTENT, "version", "media_type", "filename", "metadata"})

Part = dict[str, Any]


def of_text(text: Any) -> list[Part]:
    """A message of one text. Raises invalid."""
    return check([{"text": text}], name=lambda _index, _key: "text")


def given_parts(given: dict[str, Any]) -> list[Part]:
    """The parts of a body that has either `text` or `parts`. Raises invalid."""
    if ("text" in given) == ("parts" in given):
        raise invalid("text", "Send exactly one of text and parts.")
    return of_text(given["text"]) if "text" in given else check(given["parts"])


def check(parts: Any, *, name: Any = None) -> list[Part]:
    """Parts as they are stored: each has exactly one of text, data, raw (base64), url and file (an id).

    `name(index, key)` spells a field for errors, `parts[0].text` by default. Raises invalid for anything else,
    or for more than 64 parts, 32 KiB of one text or 128 KiB in all.
    """
    name = name or _name
    if not isinstance(parts, list) or not parts:
        raise invalid(name(None, None), "Must be a list of at least one part.")
    if len(parts) > MAX_PARTS:
        raise invalid(name(None, None), f"A message has at most {MAX_PARTS} parts.")
    checked = [_part(part, index, name) for index, part in enumerate(parts)]
    if len(dumps(checked)) > MAX_MESSAGE:
        raise invalid(
            name(None, None), f"A message is at most {MAX_MESSAGE} bytes of JSON.", next="Send a file."
        )
    return checked


def _name(index: int | None, key: str | None) -> str:
    return "parts" if index is None else f"parts[{index}]" + (f".{key}" if key else "")


def _part(part: Any, index: int, name: Any) -> Part:
    if not isinstance(part, dict):
        raise invalid(name(index, None), "A part is a JSON object.")
    for key in part.keys() - _KNOWN:
        raise invalid(name(index, key), f"A part has no such field; known: {', '.join(sorted(_KNOWN))}.")
    content = [key for key in _CONTENT if key in part]
    if len(content) != 1:
        raise invalid(name(index, None), f"A part has exactly one of {', '.join(_CONTENT)}.")
    key = content[0]
    _content(key, part[key], name(index, key))
    for label in ("media_type", "filename"):
        if label in part and not (isinstance(part[label], str) and len(part[label]) <= MAX_NAME):
            raise invalid(name(index, label), f"Must be a text of at most {MAX_NAME} characters.")
    version = part.get("version", 1)
    if (
        isinstance(version, bool)
        or not isinstance(version, int)
        or not 1 <= version < 2**31
        or ("version" in part and key != "file")
    ):
        raise invalid(name(index, "version"), "Must be a whole number from 1, beside `file`.")
    if not isinstance(part.get("metadata", {}), dict):
        raise invalid(name(index, "metadata"), "Must be a JSON object.")
    return part


def _content(key: str, value: Any, field: str) -> None:
    if key == "data":
        return
    if not isinstance(value, str):
        raise invalid(field, "Must be a text.")
    if key == "text" and len(value.encode()) > MAX_TEXT:
        raise invalid(field, f"A text is at most {MAX_TEXT} bytes of UTF-8.", next="Send a file.")
    if key == "url" and not 1 <= len(value) <= MAX_URL:
        raise invalid(field, f"A URL has 1 to {MAX_URL} characters.")
    if key == "raw":
        _base64(value, field)
    if key == "file" and ids.read("fil", value) is None:
        raise invalid(field, "Must be the id of a file, fil_….")


def _base64(value: str, field: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise invalid(field, "Must be base64 with padding.") from None


def content_url(file: str, version: int) -> str:
    """Where a version of a file is downloaded, by who may."""
    return f"{settings.RELAYGER.origin}/v1/files/{file}/content?version={version}"


def check_metadata(metadata: Any, field: str = "metadata") -> dict[str, Any] | None:
    """Metadata as stored. Raises invalid unless it is an object of at most 128 KiB, or absent."""
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or len(dumps(metadata)) > MAX_MESSAGE:
        raise invalid(field, f"Must be a JSON object of at most {MAX_MESSAGE} bytes.")
    return metadata


def text_of(parts: list[Part]) -> str | None:
    """The text parts as one text, None when there are none."""
    texts = [part["text"] for part in parts if "text" in part]
    return "\n".join(texts) if texts else None


def first_line(parts: list[Part], most: int) -> str:
    """The first line of the text, for a note."""
    text = (text_of(parts) or "").strip()
    return text.split("\n", 1)[0].strip()[:most]
