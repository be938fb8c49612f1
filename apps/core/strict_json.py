"""The one JSON reader and writer of every surface."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from apps.core.errors import Code, DomainError

MAX_DEPTH = 32
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Invalid(DomainError):
    """The text is not JSON, or holds what cannot be stored; `syntax` tells the first from the second."""

    def __init__(self, message: str, *, syntax: bool) -> None:
        super().__init__(
            Code.INVALID_JSON, message, next="Send UTF-8 JSON without duplicate keys, NUL or surrogates."
        )
        self.syntax = syntax


class _Refused(ValueError):
    """Raised out of a json hook for what JSON allows and we do not."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Refused("a key stands twice in one object")
    return result


def _int(digits: str) -> int:
    # Measured before conversion: int() of many digits is slow and, past 4,300, an error.
    if len(digits) > 20 or not _INT_MIN <= (value := int(digits)) <= _INT_MAX:
        raise _Refused("an integer does not fit 64 bits")
    return value


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refused("a number does not fit a double")
    return value


def _constant(name: str) -> Any:
    raise _Refused(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_int, parse_float=_float, parse_constant=_constant
)


def loads(body: bytes) -> Any:
    """Parse UTF-8 JSON.

    Raises Invalid for anything else: other encodings, a byte order mark, a duplicate key, NaN, a number past a
    double or 64 bits, more than 32 levels, NUL or a lone surrogate in a text or key.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid("The body is not UTF-8.", syntax=True) from None
    try:
        value = _DECODER.decode(text)
    except _Refused as error:
        raise Invalid(f"The JSON cannot be taken: {error}.", syntax=False) from None
    except RecursionError:
        raise Invalid(f"The JSON is nested deeper than {MAX_DEPTH} levels.", syntax=False) from None
    except ValueError:
        raise Invalid("The body is not JSON.", syntax=True) from None
    # The escapes are the only way a NUL or a surrogate gets through the decoding above.
    check(value, escapes="\\u" in text)
    return value


def check(value: Any, *, escapes: bool = True) -> None:
    """Raise Invalid when a parsed value is nested too deep or holds a text that cannot be stored."""
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            if escapes and _UNSTORABLE.search(item):
                raise Invalid("A text holds NUL or a lone surrogate.", syntax=False)
            continue
        if not isinstance(item, dict | list):
            continue
        if depth > MAX_DEPTH:
            raise Invalid(f"The JSON is nested deeper than {MAX_DEPTH} levels.", syntax=False)
        if isinstance(item, dict):
            stack.extend((key, depth) for key in item)
            stack.extend((child, depth + 1) for child in item.values())
        else:
            stack.extend((child, depth + 1) for child in item)


def dumps(value: Any) -> bytes:
    """Compact UTF-8 JSON; keys keep their order."""
    return orjson.dumps(value)


def unstorable(text: str) -> bool:
    """True when a text from outside JSON (a query, a path) holds what no database takes."""
    return _UNSTORABLE.search(text) is not None
