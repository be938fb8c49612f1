"""The shapes of deletion and reports, in and out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.rest import Fields, Prose, Text
from apps.identities.serializers import RefSerializer
from apps.lifecycle.models import Report

MAX_TEXT = 2000


class Deleted(serializers.Serializer[Any]):
    """That I am deleted, and until when I may come back."""

    deleted_at = serializers.DateTimeField()
    purge_at = serializers.DateTimeField()
    next = serializers.CharField()


class NewReport(Fields):
    about = Text(required=False, max_length=40, help_text="Whom I report: a number or handle.")
    message = Text(
        required=False, max_length=40, help_text="Or which message: its id; that reports its author."
    )
    reason = serializers.ChoiceField(Report.Reason.choices)
    text = Prose(required=False, allow_blank=True, default="", max_length=MAX_TEXT)
    client_id = Text(required=False, max_length=128)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("about" in attrs) == ("message" in attrs):
            raise serializers.ValidationError({"about": "Send either about, or message."})
        return attrs


class Reported(serializers.Serializer[Any]):
    """A report as its maker sees it; what becomes of it is the operators'."""

    id = serializers.CharField()
    about = RefSerializer()
    message = serializers.CharField(allow_null=True)
    reason = serializers.ChoiceField(Report.Reason.choices)
    text = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    duplicate = serializers.BooleanField()

    class Meta:
        ref_name = "Report"
