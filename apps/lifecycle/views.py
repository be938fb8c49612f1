"""The calls that span apps: contacts whose threads end with them, one's own end, reports, and the export."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.contacts.serializers import ContactBody
from apps.core import rest
from apps.core.schema import IDEMPOTENCY_KEY
from apps.identities import serializers as identities
from apps.identities import views as identity_views
from apps.identities.rest import actor_of
from apps.lifecycle import actions, deletion, reports, serializers


class Contact(APIView):
    @extend_schema(
        operation_id="contacts_remove",
        summary="End a contact, withdraw my request or decline theirs; what is open between us ends",
        responses={204: None},
    )
    def delete(self, request: Request, who: str) -> Response:
        actions.contact_remove(actor_of(request), who)
        return Response(status=204)


class Block(APIView):
    @extend_schema(
        operation_id="contacts_block",
        summary="Block every identity of an account; nobody there can tell",
        request=None,
        responses={200: ContactBody},
    )
    def post(self, request: Request, who: str) -> Response:
        return Response(actions.contact_block(actor_of(request), who).show())


class Me(identity_views.Me):
    """The caller's own identity, with its end."""

    @extend_schema(operation_id="me_delete", responses=serializers.Deleted)
    def delete(self, request: Request) -> Response:
        """Delete me: gone at once for all others. Until `purge_at` my tokens are good for `restore` alone."""
        return Response(deletion.delete(actor_of(request)).show())


class Restore(APIView):
    """The way back."""

    # No token of a deleted identity is good for any other call, so this one looks at it itself.
    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="me_restore",
        request=None,
        responses=identities.Me,
        auth=[{"token": []}],  # type: ignore[list-item]
    )
    def post(self, request: Request) -> Response:
        """Bring my deleted identity back. What ended with it stays ended."""
        header = request.META.get("HTTP_AUTHORIZATION")
        return Response(deletion.restore(header, rest.address(request)).show())


class Export(APIView):
    """Describes GET; every other method is refused here."""

    @extend_schema(operation_id="me_export", responses={(200, "application/x-ndjson"): str})
    def get(self, request: Request) -> Response:
        """All that is kept of me, one JSON object a line. The last is an `end`: without it, some is missing."""
        rest.answered_in_front()


class Reports(APIView):
    """What the operators are told."""

    @extend_schema(
        operation_id="reports_make",
        parameters=[IDEMPOTENCY_KEY],
        request=serializers.NewReport,
        responses={201: serializers.Reported, 200: serializers.Reported},
        examples=[
            OpenApiExample("An identity", value={"about": "@spammer", "reason": "spam"}, request_only=True)
        ],
    )
    def post(self, request: Request) -> Response:
        """Tell the operators of abuse, by an identity or in a message that I may see. Nobody else is told."""
        given = rest.body(serializers.NewReport, request)
        made = reports.report(
            actor_of(request),
            about=given.get("about"),
            message=given.get("message"),
            reason=given["reason"],
            text=given["text"],
            client_id=rest.client_id(request, given),
        )
        return Response(made.show(), 200 if made.duplicate else 201)
