"""`/v1/chats`, `/v1/messages`, `/v1/invites` and `/v1/search`."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.contacts import rooms as membership
from apps.core import ids, rest
from apps.core.errors import not_found
from apps.core.schema import IDEMPOTENCY_KEY
from apps.identities.rest import actor_of
from apps.threads import chat_serializers as shapes
from apps.threads import chats, messages, rooms
from apps.threads.parts import given_parts


class Chats(APIView):
    """The chats that I am in."""

    @extend_schema(operation_id="chats_list", parameters=[shapes.ChatQuery], responses=shapes.ChatPage)
    def get(self, request: Request) -> Response:
        """List my chats, newest activity first."""
        given = rest.query(shapes.ChatQuery, request)
        page = chats.listed(actor_of(request), given.get("kind"), given["limit"], given.get("cursor"))
        return Response(page.show(chats.show))

    @extend_schema(
        operation_id="chats_make",
        parameters=[IDEMPOTENCY_KEY],
        request=shapes.NewRoom,
        responses={201: shapes.MadeRoom, 200: shapes.MadeRoom},
        examples=[
            OpenApiExample("A private room", value={"topic": "Engines", "client_id": "r1"}, request_only=True)
        ],
    )
    def post(self, request: Request) -> Response:
        """Make a room that I own. Direct chats make themselves with the first contact request."""
        given = rest.body(shapes.NewRoom, request)
        row, duplicate = rooms.make(
            actor_of(request),
            given["topic"],
            given["visibility"],
            given.get("invite", []),
            rest.client_id(request, given),
        )
        return Response({"chat": chats.show(row), "duplicate": duplicate}, 200 if duplicate else 201)


class Chat(APIView):
    """One chat: `{id}` is a `con_…` or, for the direct chat with somebody, a number or handle."""

    @extend_schema(operation_id="chats_get", responses=shapes.ChatWithPeople)
    def get(self, request: Request, id: str) -> Response:
        """Show a chat, its people and their keys."""
        return Response(chats.get(actor_of(request), id))

    @extend_schema(operation_id="chats_change", request=shapes.ChangeRoom, responses=shapes.ChatBodyFields)
    def patch(self, request: Request, id: str) -> Response:
        """Change the topic of my room, or who may come in."""
        given = rest.body(shapes.ChangeRoom, request)
        row = rooms.change(
            actor_of(request), id, topic=given.get("topic"), visibility=given.get("visibility")
        )
        return Response(chats.show(row))


class History(APIView):
    """What was written in a chat."""

    @extend_schema(operation_id="messages_list", parameters=[shapes.HistoryQuery], responses=shapes.History)
    def get(self, request: Request, id: str) -> Response:
        """Read a chat by its cursor, forwards with `after`, backwards with `before`; with neither the newest."""
        given = rest.query(shapes.HistoryQuery, request)
        actor = actor_of(request)
        page = chats.history(
            actor, id, after=given.get("after"), before=given.get("before"), limit=given["limit"]
        )
        return Response(
            {
                "items": [entry.show(actor.identity) for entry in page.entries],
                "next_cursor": page.next_cursor,
                "head": page.head,
            }
        )

    @extend_schema(
        operation_id="messages_post",
        parameters=[IDEMPOTENCY_KEY],
        request=shapes.Post,
        responses={201: shapes.Posted, 200: shapes.Posted},
        examples=[OpenApiExample("A text", value={"text": "Hello", "client_id": "m1"}, request_only=True)],
    )
    def post(self, request: Request, id: str) -> Response:
        """Write a plain message. To somebody who is no contact yet it sends a contact request instead."""
        given = rest.body(shapes.Post, request)
        actor = actor_of(request)
        posted = messages.post(
            actor,
            id,
            given_parts(given),
            metadata=given.get("metadata"),
            client_id=rest.client_id(request, given),
        )
        body = {"message": posted.entry.show(actor.identity), "duplicate": posted.duplicate}
        return Response(body, 200 if posted.duplicate else 201)


class Read(APIView):
    """How far I have read."""

    @extend_schema(operation_id="chats_read", request=shapes.ReadUpTo, responses=shapes.ChatBodyFields)
    def post(self, request: Request, id: str) -> Response:
        """Note that I read a chat up to a cursor. An earlier one changes nothing."""
        given = rest.body(shapes.ReadUpTo, request)
        return Response(chats.show(chats.mark_read(actor_of(request), id, given["cursor"])))


class Join(APIView):
    @extend_schema(operation_id="chats_join", request=None, responses=shapes.ChatBodyFields)
    def post(self, request: Request, id: str) -> Response:
        """Come into a public room. I read what is written from now on."""
        return Response(chats.show(rooms.join(actor_of(request), id)))


class Leave(APIView):
    @extend_schema(operation_id="chats_leave", request=None, responses={204: None})
    def post(self, request: Request, id: str) -> Response:
        """Leave a room. One that I own goes to who has been there longest."""
        rooms.leave(actor_of(request), id)
        return Response(status=204)


class Invite(APIView):
    @extend_schema(
        operation_id="chats_invite",
        request=shapes.Asked,
        responses={201: shapes.InviteBody},
        examples=[OpenApiExample("Ask somebody in", value={"who": "@ada"}, request_only=True)],
    )
    def post(self, request: Request, id: str) -> Response:
        """Ask somebody into a room. Asking again while it waits changes nothing."""
        given = rest.body(shapes.Asked, request)
        invite = rooms.invite(actor_of(request), id, given["who"], given["note"])
        return Response(membership.show(invite), 201)


class Remove(APIView):
    @extend_schema(operation_id="chats_remove", request=shapes.Removed, responses=shapes.ChatBodyFields)
    def post(self, request: Request, id: str) -> Response:
        """Take somebody out of my room, at once. Only an invitation brings them back."""
        given = rest.body(shapes.Removed, request)
        return Response(chats.show(rooms.remove(actor_of(request), id, given["who"])))


class Message(APIView):
    """One of my messages, outside threads."""

    @extend_schema(operation_id="messages_edit", request=shapes.Edit, responses=shapes.EntryBody)
    def patch(self, request: Request, id: str) -> Response:
        """Replace what my message says."""
        given = rest.body(shapes.Edit, request)
        actor = actor_of(request)
        entry = messages.edit(actor, _message_id(id), given_parts(given), given.get("metadata"))
        return Response(entry.show(actor.identity))

    @extend_schema(operation_id="messages_delete", responses={204: None})
    def delete(self, request: Request, id: str) -> Response:
        """Take my message back. Its place stays, empty."""
        messages.delete(actor_of(request), _message_id(id))
        return Response(status=204)


class Invites(APIView):
    @extend_schema(operation_id="invites_list", parameters=[shapes.ListQuery], responses=shapes.InvitePage)
    def get(self, request: Request) -> Response:
        """List the invitations that wait for my answer, newest first."""
        given = rest.query(shapes.ListQuery, request)
        page = membership.invites(actor_of(request), given["limit"], given.get("cursor"))
        return Response(page.show(membership.show))


class AcceptInvite(APIView):
    @extend_schema(operation_id="invites_accept", request=None, responses=shapes.InviteBody)
    def post(self, request: Request, id: str) -> Response:
        """Come into the room. I read what is written from now on."""
        return Response(membership.show(rooms.answer(actor_of(request), _invite_id(id), accept=True)))


class DeclineInvite(APIView):
    @extend_schema(operation_id="invites_decline", request=None, responses=shapes.InviteBody)
    def post(self, request: Request, id: str) -> Response:
        """Decline an invitation. Nobody is told."""
        return Response(membership.show(rooms.answer(actor_of(request), _invite_id(id), accept=False)))


class Search(APIView):
    @extend_schema(operation_id="search", parameters=[shapes.SearchQuery], responses=shapes.Found)
    def get(self, request: Request) -> Response:
        """Find messages in my chats that have every word, newest first."""
        given = rest.query(shapes.SearchQuery, request)
        actor = actor_of(request)
        page = messages.search(actor, given["q"], given.get("chat"), given["limit"], given.get("cursor"))
        return Response(page.show(lambda entry: entry.show(actor.identity)))


def _message_id(text: str) -> UUID:
    id = ids.read("msg", text)
    if id is None:
        raise messages.absent()
    return id


def _invite_id(text: str) -> UUID:
    id = ids.read("inv", text)
    if id is None:
        raise not_found("invitation")
    return id
