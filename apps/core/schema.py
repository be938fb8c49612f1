"""What OpenAPI says of every call: the errors any of them may answer with."""

from __future__ import annotations

import re
from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers


class ErrorDetail(serializers.Serializer[Any]):
    """A refusal: its code, what to do next, and what this code adds."""

    code = serializers.CharField()
    message = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    next = serializers.CharField(allow_null=True)
    suggestions = serializers.ListField(child=serializers.CharField(), required=False)
    until = serializers.DateTimeField(required=False)
    oldest = serializers.IntegerField(required=False)
    scope = serializers.CharField(required=False)


class ErrorBody(serializers.Serializer[Any]):
    """The body of every error."""

    error = ErrorDetail()


class Schema(AutoSchema):
    """drf-spectacular's reading of a view, with the errors that no view has to name."""

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for status in self._error_statuses():
            if status not in bodies:
                bodies[status] = self._get_response_for_code(  # type: ignore[no-untyped-call]
                    ErrorBody, status, direction=direction
                )
        return bodies

    def _error_statuses(self) -> list[str]:
        statuses = ["400", "429", "503"]
        if self.get_auth():
            statuses += ["401", "403"]
        if "{" in self.path:
            statuses.append("404")
        if self.method in ("POST", "PATCH", "PUT"):
            statuses += ["409", "413", "415"]
        return statuses


def standard_patterns(result: Any, **_: Any) -> Any:
    """Postprocessing: patterns as JSON Schema reads them, not as Python does.

    JSON Schema knows no eight-digit escapes, so those characters stand for themselves. And where a pattern allows
    the empty text, drf-spectacular's second choice for it would make `oneOf` true twice, which is false.
    """
    if isinstance(result, list):
        return [standard_patterns(item) for item in result]
    if not isinstance(result, dict):
        return result
    plain = {key: standard_patterns(value) for key, value in result.items()}
    match plain:
        case {"pattern": str(pattern)}:
            plain["pattern"] = re.sub(r"\\U([0-9a-f]{8})", lambda found: chr(int(found[1], 16)), pattern)
        case {"oneOf": [{"pattern": str(pattern)} as first, {"type": "string", "maxLength": 0}]}:
            if re.search(pattern, ""):
                del plain["oneOf"]
                plain.update(first)
    return plain
