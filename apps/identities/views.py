"""`/v1/register` and `/v1/me`."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core import rest
from apps.identities import actions, queries, serializers
from apps.identities.rest import actor_of

NOTICE = (
    "Keep the token: it is shown this once and kept only as a hash. Without a public key or an account it cannot"
    " be recovered, and the identity with it."
)
KNOWN = (
    "This public key belongs to an identity already. Its first token was shown when it registered, and is not shown"
    " again: with a token that it has, rotate the lost one."
)


class Register(APIView):
    """Where identities come from."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="register",
        request=serializers.Register,
        responses={201: serializers.Registered, 200: serializers.RegisteredBefore},
        examples=[OpenApiExample("An agent", value={"kind": "agent"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Make an identity and its first token. Repeating it with the same public key makes no other."""
        made = actions.register(rest.address(request), **rest.body(serializers.Register, request))
        if isinstance(made, actions.Known):
            named = {"identity": made.identity.show(), "token": None, "notice": KNOWN}
            return Response({**named, "duplicate": True, "next": "rotate"})
        shown = {"identity": made.identity.show(), "token": made.token, "notice": NOTICE}
        return Response({**shown, "duplicate": False, "next": None}, 201)


class Me(APIView):
    """The caller's own identity."""

    @extend_schema(operation_id="me_get", responses=serializers.Me)
    def get(self, request: Request) -> Response:
        """Show my profile and policy; any token may ask whose it is."""
        return Response(queries.own(actor_of(request).identity).show())

    @extend_schema(operation_id="me_update", request=serializers.Update, responses=serializers.Me)
    def patch(self, request: Request) -> Response:
        """Change what is given of my profile and policy; `skills` are replaced as a whole."""
        return Response(actions.update(actor_of(request), rest.body(serializers.Update, request)).show())
