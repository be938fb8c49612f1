"""What OpenAPI says of every call: the errors any of them may answer with."""

from __future__ import annotations

import re
from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from apps.core.errors import Code

_MEANINGS = {
    "200": "Done",
    "201": "Made",
    "204": "Done; there is no body",
    "400": "Bad input: `field` says where",
    "401": "No valid token",
    "403": "Not allowed to you, or not yet",
    "404": "Absent, or not for you to see",
    "409": "Something stands in the way: `code` says what",
    "410": "No longer kept: go on from `oldest`",
    "413": "Too large",
    "415": "Not declared as JSON",
    "429": "Too much: wait for the seconds in `Retry-After`",
    "503": "The database is away: wait for the seconds in `Retry-After`",
}


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same as `client_id` in the body: a repeat with the same content returns the first result.",
)


class ErrorDetail(serializers.Serializer[Any]):
    """A refusal: its code, what to do next, and what this code adds."""

    code = serializers.ChoiceField([code.value for code in Code])
    message = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    next = serializers.CharField(allow_null=True)
    suggestions = serializers.ListField(child=serializers.CharField(), required=False)
    until = serializers.DateTimeField(required=False, allow_null=True)
    reason = serializers.CharField(required=False)
    oldest = serializers.IntegerField(required=False)
    scope = serializers.CharField(required=False)
    missing = serializers.ListField(child=serializers.CharField(), required=False)


class ErrorBody(serializers.Serializer[Any]):
    """The body of every error."""

    error = ErrorDetail()


class Schema(AutoSchema):
    """drf-spectacular's reading of a view, with the errors that no view has to name."""

    def get_summary(self) -> str | None:
        """The first sentence of the call's docstring."""
        return _halves(super().get_description())[0]

    def get_description(self) -> str:  # type: ignore[override]
        """What follows it."""
        return _halves(super().get_description())[1]

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for status in self._error_statuses():
            if status not in bodies:
                bodies[status] = self._get_response_for_code(  # type: ignore[no-untyped-call]
                    ErrorBody, status, direction=direction
                )
        for status, response in bodies.items():
            response["description"] = _MEANINGS.get(status) or response["description"]
        return bodies

    def _error_statuses(self) -> list[str]:
        statuses = ["400", "429", "503"]
        if any(self.get_auth()):
            statuses += ["401", "403"]
        if "{" in self.path:
            statuses.append("404")
        if self.method in ("POST", "PATCH", "PUT"):
            statuses += ["409", "413"]
            if self.get_request_serializer() is not None:
                statuses.append("415")
        return statuses


def whole_number(name: str, description: str, *, least: int = 0, most: int | None = None) -> OpenApiParameter:
    """A whole number in a query, for what is answered in front of Django."""
    schema: dict[str, Any] = {"type": "integer", "minimum": least}
    return OpenApiParameter(
        name, schema if most is None else {**schema, "maximum": most}, description=description
    )


def _halves(text: str) -> tuple[str, str]:
    """The first sentence of a text, without its full stop, and the rest."""
    first, _, rest = " ".join(text.split()).partition(". ")
    return first.removesuffix("."), rest


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
