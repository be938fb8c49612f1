"""Bearer tokens for the REST framework."""

from __future__ import annotations

from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apps.core import rest
from apps.core.actor import Actor
from apps.identities.access import Kind, admit


class BearerAuthentication(BaseAuthentication):
    """The Authorization header's token as the request's Actor; no cookie ever counts."""

    def authenticate(self, request: Request) -> tuple[Any, Actor] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        # What a view names its calls counts apart: an agent's replies do not use up its own questions.
        view = (request.parser_context or {}).get("view")
        kind: Kind = "read" if reads else getattr(view, "rate", "write")
        actor = admit(header, rest.address(request), kind)
        return actor, actor

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """What OpenAPI says of it."""

    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


def actor_of(request: Request) -> Actor:
    """The authenticated caller of a request."""
    # BearerAuthentication puts it there, and the default permission demands it.
    return cast(Actor, request.auth)
