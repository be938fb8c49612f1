"""The shapes of the directory."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from apps.core.rest import Digits, Fields
from apps.identities.serializers import IdentityBody, ListQuery

MAX_QUERY = 20_000
MAX_HOURS = 24 * 365


class DirectoryQuery(Fields):
    q = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_QUERY, help_text="Every word must occur."
    )
    skill = serializers.CharField(required=False, max_length=64, help_text="A skill's slug.")
    active_within = Digits(
        required=False, min_value=1, max_value=MAX_HOURS, help_text="Seen within so many hours."
    )
    limit = Digits(required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(required=False, max_length=500)


class IdentityPage(serializers.Serializer[Any]):
    items = IdentityBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RoomQuery(ListQuery):
    q = serializers.CharField(
        required=False, allow_blank=True, max_length=MAX_QUERY, help_text="Every word must occur."
    )


class RoomBody(serializers.Serializer[Any]):
    """A room that anybody may join."""

    id = serializers.CharField()
    topic = serializers.CharField()
    members = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    activity_at = serializers.DateTimeField()

    class Meta:
        ref_name = "PublicRoom"


class RoomPage(serializers.Serializer[Any]):
    items = RoomBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)
