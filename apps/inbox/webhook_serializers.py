"""The shapes of webhooks, in and out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.core import times
from apps.core.addresses import MAX_URL
from apps.core.rest import Fields, Name, Text, Whole
from apps.inbox.models import Outbox, Webhook

MAX_OVERLAP_HOURS = 720


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(Text):
    """A time with an offset, as `core.times` reads it."""

    def to_internal_value(self, data: Any) -> datetime:  # type: ignore[override]
        moment = times.read(super().to_internal_value(data))
        if moment is None:
            raise serializers.ValidationError("Must be a time such as 2026-01-31T12:00:00Z.")
        return moment


class NewWebhook(Fields):
    url = Text(max_length=MAX_URL, help_text="http or https, on the public internet, without credentials.")
    name = Name(required=False, allow_blank=True, max_length=120)
    client_id = Text(required=False, max_length=128)


class WebhookChange(Fields):
    url = Text(required=False, max_length=MAX_URL)
    name = Name(required=False, allow_blank=True, max_length=120)
    state = serializers.ChoiceField(
        [Webhook.State.ACTIVE.value], required=False, help_text="Enables a disabled webhook again."
    )


class WebhookRotate(Fields):
    overlap_hours = Whole(
        required=False,
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        help_text="How long the old secret signs too; 24 unless the operator says otherwise.",
    )
    client_id = Text(required=False, max_length=128)


class WebhookReplay(Fields):
    after = Whole(
        required=False, min_value=0, max_value=2**63 - 1, help_text="The seq of the last event that is known."
    )
    since = Moment(required=False, help_text="The time of the first event that is wanted.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) == 2:
            raise serializers.ValidationError({"since": "Send either after or since."})
        return attrs


class WebhookBody(serializers.Serializer[Any]):
    """A webhook without its secret."""

    id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(Webhook.State.choices)
    reason = serializers.CharField(allow_null=True, help_text="Why it is disabled.")
    url = serializers.CharField()
    created_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when no ping was taken; null while all is well."
    )
    old_secret_until = serializers.DateTimeField(
        allow_null=True, help_text="Until when the secret before the last rotation signs too."
    )

    class Meta:
        ref_name = "Webhook"


class MadeWebhook(WebhookBody):
    secret = serializers.CharField(allow_null=True, help_text="`whsec_…`, shown this once.")
    duplicate = serializers.BooleanField()
    next = serializers.CharField(allow_null=True, help_text="`rotate` when the secret was shown before.")

    class Meta:
        ref_name = "MadeWebhook"


class WebhookPage(serializers.Serializer[Any]):
    items = WebhookBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class DeliveryBody(serializers.Serializer[Any]):
    """A ping and what came of it."""

    id = serializers.CharField(help_text="The `webhook-id` of every try.")
    type = serializers.ChoiceField(["inbox", "test"])
    seq = serializers.IntegerField()
    state = serializers.ChoiceField(Outbox.State.choices)
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="Of the last answer.")
    error = serializers.CharField(
        allow_null=True, help_text="Why there was no answer, or why it was dropped."
    )
    created_at = serializers.DateTimeField()
    tried_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        ref_name = "Delivery"


class DeliveryPage(serializers.Serializer[Any]):
    items = DeliveryBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class Replayed(serializers.Serializer[Any]):
    """The pings that were queued."""

    queued = serializers.IntegerField()
    next = serializers.IntegerField(
        allow_null=True, help_text="Replay on with this as `after`; null when nothing more was found."
    )
