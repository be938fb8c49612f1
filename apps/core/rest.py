"""The REST framework as `/v1` uses it: strict JSON in and out, one error body, unknown fields named."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NoReturn

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions, parsers, renderers, serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core import limits, strict_json
from apps.core.asgi import internal, too_large
from apps.core.errors import Code, DomainError, invalid, not_found, unauthenticated, unavailable

logger = logging.getLogger(__name__)


class StrictJSONParser(parsers.BaseParser):
    """`core.strict_json` as the only reader of bodies."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return strict_json.loads(stream.read())


class JSONRenderer(renderers.BaseRenderer):
    """`core.strict_json` as the only writer."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else strict_json.dumps(data)


class JSONOnly(DefaultContentNegotiation):
    """JSON whatever Accept says: a client that asks for something else can still read an error."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class Text(serializers.CharField):
    """A text as given: a JSON string only, nothing trimmed."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a text.")
        return str(super().to_internal_value(data))


class Whole(serializers.IntegerField):
    """A whole number: a JSON number only, never true or "1"."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            raise serializers.ValidationError("Must be a whole number.")
        return int(super().to_internal_value(data))


class Digits(serializers.IntegerField):
    """A whole number in a query: ASCII digits only, never "1.0" or another script's digits."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not data.isascii() or not data.isdigit():
            raise serializers.ValidationError("Must be a whole number.")
        return int(super().to_internal_value(data))


class Flag(serializers.BooleanField):
    """true or false, never a text or number that resembles one."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("Must be true or false.")
        return data


class Fields(serializers.Serializer[Any]):
    """A body or query whose unknown fields are refused by name."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise invalid(None, "The body must be a JSON object.")
        for name in data:
            if name not in self.fields:
                known = ", ".join(sorted(self.fields))
                raise invalid(str(name)[:100], "This call has no such field.", next=f"Known: {known}.")
        return super().to_internal_value(data)


def body(serializer: type[Fields], request: Request) -> dict[str, Any]:
    """The checked body of a request. Raises invalid naming the first field at fault."""
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    values: dict[str, Any] = checked.validated_data
    return values


def query(serializer: type[Fields], request: Request) -> dict[str, Any]:
    """The checked query of a request, the last of each field."""
    given = request.query_params.dict()
    for name, value in given.items():
        if strict_json.unstorable(name) or strict_json.unstorable(str(value)):
            raise invalid(None, "The query holds a NUL or bytes that are not UTF-8.")
    checked = serializer(data=given)
    checked.is_valid(raise_exception=True)
    values: dict[str, Any] = checked.validated_data
    return values


def answered_in_front() -> NoReturn:
    """What the schema-only views of waiting calls do: `relayger.asgi` answers those before Django sees them."""
    raise RuntimeError("this call is answered in front of Django's handler")


def address(request: HttpRequest | Request) -> str:
    """The client's address as `core.limits` trusts it."""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR")
    return limits.client_address(request.META.get("REMOTE_ADDR"), [forwarded] if forwarded else [])


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal in the one error body; None leaves a fault of ours to Django's handler."""
    refusal = _refusal(error)
    if refusal is None:
        return None
    return Response(refusal.body(), refusal.status, headers=refusal.headers())


def _refusal(error: Exception) -> DomainError | None:
    match error:
        case DomainError():
            return error
        case exceptions.ValidationError():
            field, message = _first(error.detail)
            return invalid(field, message)
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return unauthenticated()
        case exceptions.MethodNotAllowed():
            return DomainError(Code.METHOD_NOT_ALLOWED, str(error.detail))
        case exceptions.UnsupportedMediaType():
            return DomainError(
                Code.UNSUPPORTED_MEDIA_TYPE,
                "The body must be JSON.",
                next="Send Content-Type: application/json.",
            )
        case exceptions.NotFound() | Http404():
            return not_found("thing")
        case exceptions.PermissionDenied() | PermissionDenied():
            return DomainError(Code.INSUFFICIENT_SCOPE, "This token may not do that.")
        case RequestDataTooBig():
            return too_large(0)
        case OperationalError() | InterfaceError():
            return unavailable()
    return None


def _first(detail: Any, path: str = "") -> tuple[str | None, str]:
    """The first message of a nested validation error, and the dotted path to its field."""
    if isinstance(detail, dict):
        name, inner = next(iter(detail.items()))
        name = "" if name == "non_field_errors" else str(name)
        return _first(inner, f"{path}.{name}" if path and name else path or name)
    if isinstance(detail, list):
        index = next((i for i, item in enumerate(detail) if item), 0)
        inner = detail[index]
        return _first(inner, f"{path}[{index}]" if isinstance(inner, dict) else path)
    return path or None, str(detail)


def handler404(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A path that leads nowhere."""
    return _plain(DomainError(Code.NOT_FOUND, "There is no such address here.", next="See /v1 in the docs."))


def handler500(request: HttpRequest) -> HttpResponse:
    """A fault of ours, in the same body as every other error."""
    return _plain(internal())


def handler400(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A request Django itself refuses, such as one for another host."""
    return _plain(invalid(None, "This request cannot be read."))


def _plain(error: DomainError) -> HttpResponse:
    return HttpResponse(strict_json.dumps(error.body()), "application/json", error.status)
