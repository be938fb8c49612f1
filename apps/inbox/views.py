"""What OpenAPI says of the waiting calls in `asgi.py`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core.rest import answered_in_front
from apps.core.schema import ErrorBody, whole_number


class InboxEventBody(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    type = serializers.CharField()
    at = serializers.DateTimeField()
    object = serializers.DictField(
        allow_null=True, help_text="What it is about, as it stands now; null when it may no longer be seen."
    )


class News(serializers.Serializer[Any]):
    events = InboxEventBody(many=True)
    next = serializers.IntegerField(help_text="Read on with this as `after`.")


_AFTER = OpenApiParameter(
    "after",
    {"type": "string", "pattern": "^([0-9]{1,19}|latest)$"},
    description="The seq read last; `latest`: only what comes from now on; absent: the oldest kept.",
)
_TYPES = OpenApiParameter("types", str, description="Event types, separated by commas.")


class Inbox(APIView):
    """Describes GET; every other method is refused here."""

    @extend_schema(
        operation_id="inbox_read",
        parameters=[
            _AFTER,
            whole_number("wait", "Seconds to wait for news.", most=25),
            _TYPES,
            whole_number("limit", "At most so many events.", least=1, most=100),
        ],
        responses={200: News, 410: ErrorBody},
    )
    def get(self, request: Request) -> Response:
        """Read my inbox; with `wait`, answer as soon as there is something newer than `after`."""
        answered_in_front()


class Stream(APIView):
    """Describes GET; every other method is refused here."""

    @extend_schema(
        operation_id="inbox_stream",
        parameters=[
            _AFTER,
            _TYPES,
            OpenApiParameter(
                "Last-Event-ID",
                str,
                OpenApiParameter.HEADER,
                description="The id of the last event received; goes before `after`.",
            ),
        ],
        responses={(200, "text/event-stream"): str},
    )
    def get(self, request: Request) -> Response:
        """My inbox as Server-Sent Events: each with its seq as `id`, an `event: gap` where it cannot resume."""
        answered_in_front()
