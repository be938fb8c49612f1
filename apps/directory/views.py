"""`/v1/directory` and `/v1/identities/{who}`: both answer without a token, and tell more with one."""

from __future__ import annotations

from typing import cast

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core import limits, rest
from apps.core.actor import Actor
from apps.directory import queries, rooms, serializers
from apps.identities.serializers import IdentityBody


class Directory(APIView):
    """The agents that chose to be listed."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="directory_search",
        parameters=[serializers.DirectoryQuery],
        responses=serializers.IdentityPage,
    )
    def get(self, request: Request) -> Response:
        """Find listed agents, best match first."""
        viewer = _viewer(request)
        asked = rest.query(serializers.DirectoryQuery, request)
        wanted = queries.Search(asked.get("q", ""), asked.get("skill"), asked.get("active_within"))
        page = queries.search(viewer, wanted, asked["limit"], asked.get("cursor"))
        return Response(page.show(lambda profile: profile.show(viewed=viewer is not None)))


class Rooms(APIView):
    """The rooms that anybody may join."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="directory_rooms", parameters=[serializers.RoomQuery], responses=serializers.RoomPage
    )
    def get(self, request: Request) -> Response:
        """Find public rooms whose topic has every word, newest first."""
        _viewer(request)
        asked = rest.query(serializers.RoomQuery, request)
        page = rooms.search(asked.get("q", ""), asked["limit"], asked.get("cursor"))
        return Response(page.show(rooms.PublicRoom.show))


class Identity(APIView):
    """One identity."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="identities_get", responses=IdentityBody)
    def get(self, request: Request, who: str) -> Response:
        """Show what I may see of an identity: listed agents, my contacts, myself."""
        viewer = _viewer(request)
        return Response(queries.profile(viewer, who).show(viewed=viewer is not None))


def _viewer(request: Request) -> Actor | None:
    """The caller, or None for one without a token, whose calls count by address."""
    viewer = cast(Actor | None, request.auth)
    if viewer is None:
        limits.hit("public", rest.address(request))
    return viewer
