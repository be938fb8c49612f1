"""The REST framework as `/v1` uses it: strict JSON in and out, one error body, unknown fields named."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.validators import RegexValidator
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions, parsers, renderers, serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from apps.core import idempotency, limits, strict_json, texts
from apps.core.asgi import internal, read_query, too_large
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


class Name(Text):
    """A text on one line, trimmed, without what nobody sees or what changes how its surroundings read."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=True, **kwargs)
        self.validators.append(
            RegexValidator(texts.NAME, "Must be one line without control, direction or invisible characters.")
        )

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if texts.loosely_joined(name):
            raise serializers.ValidationError("Has a zero-width joiner that joins nothing.")
        return name


class Prose(Text):
    """A text of any number of lines, without other control characters and what turns its surroundings."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.validators.append(RegexValidator(texts.PROSE, "Must not have control or direction characters."))


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
            if self.parent is not None:
                raise serializers.ValidationError({"non_field_errors": "Must be a JSON object."})
            raise invalid(None, "The body must be a JSON object.")
        for name in data:
            if name not in self.fields:
                known = f"Known: {', '.join(sorted(self.fields))}."
                if self.parent is not None:
                    # Its place is known only to what holds it, which adds that to the field's name.
                    raise serializers.ValidationError({str(name)[:100]: f"There is no such field. {known}"})
                raise invalid(str(name)[:100], "This call has no such field.", next=known)
        return super().to_internal_value(data)


def body(serializer: type[Fields], request: Request, *, optional: bool = False) -> dict[str, Any]:
    """The checked body of a request; one without a body has no fields if that is `optional`.

    Raises invalid naming the first field at fault, invalid_json, unsupported_media_type.
    """
    # Not `request.data`: it takes a body without Content-Length, sent in chunks, for none.
    plain: HttpRequest = request._request
    if not plain.body and optional:
        given: Any = {}
    elif plain.body and plain.content_type != StrictJSONParser.media_type:
        raise exceptions.UnsupportedMediaType(plain.content_type or "")
    else:
        given = strict_json.loads(plain.body)
    return checked(serializer, given)


def checked(serializer: type[Fields], given: Any) -> dict[str, Any]:
    """The checked fields of what a call was given. Raises invalid naming the first field at fault."""
    one = serializer(data=given)
    if not one.is_valid():
        raise invalid(*_first(one.errors))
    values: dict[str, Any] = one.validated_data
    return values


def query(serializer: type[Fields], request: Request) -> dict[str, Any]:
    """The checked query of a request, the last of each field."""
    return checked(serializer, read_query(request.META["QUERY_STRING"].encode()))


def client_id(request: Request, given: dict[str, Any]) -> str | None:
    """The call's idempotency key: the body's `client_id` or the Idempotency-Key header. Raises invalid."""
    return one_key(request.headers.get("Idempotency-Key"), given)


def one_key(named: str | None, given: dict[str, Any]) -> str | None:
    """The same from the header's value. Raises invalid."""
    header = idempotency.check_key(named, "Idempotency-Key")
    key = idempotency.check_key(given.get("client_id"))
    if header is not None and key is not None and header != key:
        raise invalid(
            "client_id", "The body and the Idempotency-Key header disagree.", next="Send one of them."
        )
    return key if key is not None else header


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
            return too_large(settings.RELAYGER.body_bytes)
        case OperationalError() | InterfaceError():
            return unavailable()
    return None


def _first(detail: Any, path: str = "") -> tuple[str | None, str]:
    """The first message of a nested validation error, and the dotted path to its field."""
    if isinstance(detail, dict):
        name, inner = next(iter(detail.items()))
        if isinstance(name, int):  # the place of a list's item
            return _first(inner, f"{path}[{name}]")
        name = "" if name == "non_field_errors" else str(name)
        return _first(inner, f"{path}.{name}" if path and name else path or name)
    if isinstance(detail, list):
        index = next((i for i, item in enumerate(detail) if item), 0)
        inner = detail[index]
        return _first(inner, f"{path}[{index}]" if isinstance(inner, dict) else path)
    return path or None, str(detail)


def handler404(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A path that leads nowhere."""
    return _plain(DomainError(Code.NOT_FOUND, "There is no such address here.", next="See /docs/agents."))


def handler500(request: HttpRequest) -> HttpResponse:
    """A fault of ours, in the same body as every other error."""
    return _plain(internal())


def handler400(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A request Django itself refuses, such as one for another host."""
    return _plain(invalid(None, "This request cannot be read."))


def _plain(error: DomainError) -> HttpResponse:
    return HttpResponse(strict_json.dumps(error.body()), "application/json", error.status)
