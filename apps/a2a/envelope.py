"""The JSON-RPC envelope: what the request calls itself, its version, its method."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps.a2a import errors
from apps.a2a.errors import Fault, Id, Violation
from apps.core import strict_json
from apps.core.errors import DomainError

MAX_ID = 1024
_CHEAP = 16 * 1024  # a body up to here is parsed for its id even when nothing else of it matters

_JSON_TYPES = frozenset({"application/json", "application/a2a+json"})
_VERSION = re.compile(r"1\.0(?:\.[0-9A-Za-z.+-]{1,32})?", re.ASCII)
_SHOWABLE = re.compile(r"[0-9A-Za-z.+_-]{1,32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request as it came. `late` is an error that its params are due once nothing before them is wrong."""

    id: Id
    method: str
    params: dict[str, Any]
    late: Fault | None


def read(body: bytes, content_type: str | None) -> Envelope:
    """The request in a body. Raises Fault: -32700, -32600, or -32602 when nothing of it can be read."""
    value, late = _parse(body)
    if isinstance(value, list):
        raise errors.invalid_request("A2A has no batches: send one request object.")
    if not isinstance(value, dict):
        raise errors.invalid_request("A request is a JSON object.")
    id = value.get("id")
    if not _is_id(id):
        raise errors.invalid_request(
            f"id must be an integer of 64 bits or a text of at most {MAX_ID} characters."
        )
    if value.get("jsonrpc") != "2.0":
        raise errors.invalid_request('jsonrpc must be "2.0".', id)
    method = value.get("method")
    if not isinstance(method, str):
        raise errors.invalid_request("method must be a text.", id)
    params = value.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise errors.invalid_request("params must be an object.", id)
    if not _is_json(content_type):
        raise errors.content_type_not_supported(id)
    return Envelope(id, method, params, late)


def peek(body: bytes) -> Id:
    """The id of a request that is refused unread, None when it takes more than a glance."""
    if len(body) > _CHEAP:
        return None
    try:
        value = strict_json.loads(body)
    except DomainError:
        return None
    id = value.get("id") if isinstance(value, dict) else None
    return id if _is_id(id) else None


def check_version(id: Id, header: str | None, query: Callable[[], dict[str, str]]) -> None:
    """Raise -32009 unless the header, or without one the query, asks for a version that is spoken here."""
    asked = header if header is not None else _queried(query)
    asked = (asked or "").strip(" \t")
    if not _VERSION.fullmatch(asked):
        shown = (asked if _SHOWABLE.fullmatch(asked) else "in this spelling") if asked else "0.3"
        raise errors.version_not_supported(shown, id)


def _queried(query: Callable[[], dict[str, str]]) -> str | None:
    try:
        fields = query()
    except DomainError:
        return None  # a query that cannot be read asks for no version
    return next((value for name, value in fields.items() if name.lower() == "a2a-version"), None)


def _parse(body: bytes) -> tuple[Any, Fault | None]:
    """The JSON of a body; what is JSON but cannot be stored is read all the same, for its envelope's sake."""
    try:
        return strict_json.loads(body), None
    except strict_json.Invalid as error:
        if error.syntax:
            raise errors.parse_error(error.message) from None
        fault = errors.invalid_params([Violation("params", error.message)], error.message)
    try:
        # Bounded like the strict reader: no long integers, no deep recursion. Nothing of it reaches a params reader.
        return json.loads(body, parse_int=_short, parse_float=_any, parse_constant=_any), fault
    except (ValueError, RecursionError):
        raise fault from None


def _short(digits: str) -> int | float:
    return int(digits) if len(digits) <= 20 else _any(digits)


def _any(number: str) -> float:
    """What stands for a number that only has to be no id."""
    return 0.5


def _is_id(id: Any) -> bool:
    if isinstance(id, str):
        return len(id) <= MAX_ID and not strict_json.unstorable(id)
    if isinstance(id, bool):
        return False
    return id is None or (isinstance(id, int) and -(2**63) <= id < 2**64)


def _is_json(content_type: str | None) -> bool:
    """Whether a Content-Type stands for JSON in UTF-8; so does its absence."""
    if content_type is None:
        return True
    kind, *parameters = content_type.lower().split(";")
    charsets = [
        value.strip(' \t"')
        for name, _, value in (one.partition("=") for one in parameters)
        if name.strip() == "charset"
    ]
    return kind.strip() in _JSON_TYPES and all(charset in ("utf-8", "utf8") for charset in charsets)
