"""The calls under `/v1/contacts` that end threads too."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.contacts.serializers import ContactBody
from apps.identities.rest import actor_of
from apps.lifecycle import actions


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
