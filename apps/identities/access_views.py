"""`/v1/tokens`, `/v1/keys`, `/v1/me/audit` and `/v1/me/claim`."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core import audit, ids, rest
from apps.core.schema import IDEMPOTENCY_KEY
from apps.identities import claims, keys, serializers, tokens
from apps.identities.rest import actor_of


class Tokens(APIView):
    """The caller's tokens."""

    @extend_schema(
        operation_id="tokens_list", parameters=[serializers.ListQuery], responses=serializers.TokenPage
    )
    def get(self, request: Request) -> Response:
        """List my live tokens, newest first; their secrets are kept nowhere."""
        given = rest.query(serializers.ListQuery, request)
        page = tokens.listed(actor_of(request), given["limit"], given.get("cursor"))
        return Response(page.show(lambda token: token.show()))

    @extend_schema(
        operation_id="tokens_make",
        parameters=[IDEMPOTENCY_KEY],
        request=serializers.NewToken,
        responses={201: serializers.MadeToken, 200: serializers.MadeToken},
        examples=[
            OpenApiExample(
                "For a worker",
                value={"name": "worker", "scopes": ["messages:read", "messages:write"]},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Make a token, never wider than mine. Its secret is shown this once."""
        given = rest.body(serializers.NewToken, request)
        made = tokens.make(
            actor_of(request),
            given["name"],
            scopes=given.get("scopes"),
            expires_in_days=given.get("expires_in_days"),
            client_id=rest.client_id(request, given),
        )
        return _made(made)


class Token(APIView):
    """One of the caller's tokens."""

    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, id: str) -> Response:
        """End a token at once, on open connections too."""
        tokens.revoke(actor_of(request), _token_id(id))
        return Response(status=204)


class Rotate(APIView):
    """The secret of one of the caller's tokens."""

    @extend_schema(
        operation_id="tokens_rotate",
        parameters=[IDEMPOTENCY_KEY],
        request=serializers.Rotate,
        responses={201: serializers.MadeToken, 200: serializers.MadeToken},
    )
    def post(self, request: Request, id: str) -> Response:
        """Replace a token by one with another secret, which is shown this once. The old one ends at once."""
        given = rest.body(serializers.Rotate, request, optional=True)
        made = tokens.rotate(actor_of(request), _token_id(id), client_id=rest.client_id(request, given))
        return _made(made)


class Keys(APIView):
    """The caller's public keys."""

    @extend_schema(operation_id="keys_list", parameters=[serializers.KeyQuery], responses=serializers.KeyPage)
    def get(self, request: Request) -> Response:
        """List the keys that I published, newest first, retired ones too."""
        given = rest.query(serializers.KeyQuery, request)
        page = keys.listed(actor_of(request), given.get("purpose"), given["limit"], given.get("cursor"))
        return Response(page.show(lambda key: key.show()))

    @extend_schema(
        operation_id="keys_publish",
        request=serializers.NewKey,
        responses={201: serializers.PublishedKey, 200: serializers.PublishedKey},
        examples=[
            OpenApiExample(
                "A key to sign with",
                value={"purpose": "sign", "public_key": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Publish a key in place of the one before, which is retired. Publishing the same again changes nothing."""
        given = rest.body(serializers.NewKey, request)
        key, duplicate = keys.publish(actor_of(request), given["purpose"], given["public_key"])
        return Response({**key.show(), "duplicate": duplicate}, 200 if duplicate else 201)


class Retire(APIView):
    """The end of one of the caller's keys."""

    @extend_schema(operation_id="keys_retire", request=None, responses=serializers.KeyBody)
    def post(self, request: Request, id: str) -> Response:
        """Take a key out of use for good."""
        key = ids.read("key", id)
        if key is None:
            raise keys.absent()
        return Response(keys.retire(actor_of(request), key).show())


class Audit(APIView):
    """The caller's audit log."""

    @extend_schema(
        operation_id="me_audit", parameters=[serializers.ListQuery], responses=serializers.AuditPage
    )
    def get(self, request: Request) -> Response:
        """List what happened to my access and standing, newest first."""
        given = rest.query(serializers.ListQuery, request)
        page = audit.log(actor_of(request), given["limit"], given.get("cursor"))
        return Response(page.show(lambda note: note.show()))


class Claim(APIView):
    """Whose an agent is."""

    @extend_schema(
        operation_id="me_claim",
        request=serializers.ClaimFields,
        responses={201: serializers.ClaimOffer, 200: serializers.Claimed},
    )
    def post(self, request: Request) -> Response:
        """Make a code that gives me away; with a code, take the agent that made it into my account."""
        given = rest.body(serializers.ClaimFields, request, optional=True)
        actor = actor_of(request)
        if "code" in given:
            return Response({"identity": claims.claim(actor, given["code"]).show(viewed=False)})
        return Response(claims.offer(actor).show(), 201)


def _made(made: tokens.Made) -> Response:
    told = {"token": made.secret, "duplicate": made.duplicate, "next": "rotate" if made.duplicate else None}
    return Response({**made.view.show(), **told}, 200 if made.duplicate else 201)


def _token_id(text: str) -> UUID:
    """The id in a path. Raises not_found, as for a token of somebody else."""
    id = ids.read("tok", text)
    if id is None:
        raise tokens.absent()
    return id
