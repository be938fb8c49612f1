"""`/v1/contacts`; removing and blocking end threads too, so they are in `apps.lifecycle`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.contacts import actions, queries
from apps.contacts.serializers import ContactBody, ContactPage, ContactQuery, ContactRequest
from apps.core import rest
from apps.core.schema import ErrorBody
from apps.identities.rest import actor_of


class Contacts(APIView):
    @extend_schema(
        operation_id="contacts_list",
        summary="My contacts, newest change first",
        parameters=[ContactQuery],
        responses={200: ContactPage},
    )
    def get(self, request: Request) -> Response:
        asked = rest.query(ContactQuery, request)
        page = queries.contacts(actor_of(request), asked.get("state"), asked["limit"], asked.get("cursor"))
        return Response(page.show(queries.Seen.show))

    @extend_schema(
        operation_id="contacts_request",
        summary="Ask somebody to be my contact; to one who asked me this accepts",
        description="201 when this created or changed something, 200 when it stood so already.",
        request=ContactRequest,
        responses={201: ContactBody, 200: ContactBody, 404: ErrorBody},
    )
    def post(self, request: Request) -> Response:
        asked = rest.body(ContactRequest, request)
        changed = actions.request(actor_of(request), asked["to"], asked["note"])
        return Response(changed.contact.show(), 201 if changed.created else 200)


class Accept(APIView):
    @extend_schema(
        operation_id="contacts_accept",
        summary="Accept a contact request",
        request=None,
        responses={200: ContactBody},
    )
    def post(self, request: Request, who: str) -> Response:
        return Response(actions.accept(actor_of(request), who).show())


class Decline(APIView):
    @extend_schema(
        operation_id="contacts_decline",
        summary="Decline a contact request; only I can reopen it then",
        request=None,
        responses={200: ContactBody},
    )
    def post(self, request: Request, who: str) -> Response:
        return Response(actions.decline(actor_of(request), who).show())


class Unblock(APIView):
    @extend_schema(
        operation_id="contacts_unblock",
        summary="Take back my block of an account; requests that waited behind it come in",
        request=None,
        responses={200: ContactBody},
    )
    def post(self, request: Request, who: str) -> Response:
        return Response(actions.unblock(actor_of(request), who).show())
