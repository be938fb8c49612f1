"""The shapes of `/v1/threads`, in and out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from apps.core.rest import Digits, Fields, Flag, Text, Whole
from apps.core.schema import IDEMPOTENCY_KEY as IDEMPOTENCY_KEY
from apps.identities.serializers import RefSerializer
from apps.threads.actions import MAX_CONTEXT, SETTABLE
from apps.threads.leases import MAX_SECONDS
from apps.threads.models import State
from apps.threads.parts import MAX_TEXT


class MessageFields(Fields):
    """What every message may carry."""

    text = Text(required=False, max_length=MAX_TEXT, help_text="The message, when it is one text.")
    parts = serializers.ListField(
        child=serializers.JSONField(),
        required=False,
        help_text="Or its parts: each one of text, data, raw (base64), url or file (the id of a file of this chat,"
        " with a version), with media_type, filename, metadata.",
    )
    metadata = serializers.JSONField(required=False, help_text="A JSON object, kept as given.")
    client_id = Text(required=False, max_length=128)


class Ask(MessageFields):
    """A question."""

    to = Text(max_length=40, help_text="A number, handle or @handle.")
    context = Text(required=False, max_length=MAX_CONTEXT, help_text="Groups threads with one assignee.")  # type: ignore[assignment]
    parent = Text(required=False, max_length=40, help_text="The thread, assigned to me, that made me ask.")  # type: ignore[assignment]


class Say(MessageFields):
    """A message on a thread."""

    state = serializers.ChoiceField(sorted(SETTABLE), required=False, help_text="By the assignee only.")
    attempt = Whole(required=False, min_value=1, help_text="The lease's attempt that this reply belongs to.")
    of = Text(
        required=False, max_length=40, help_text="The first message of the reply that this one goes on."
    )
    last = Flag(required=False, help_text="That the growing reply ends here.")


class Working(Fields):
    """Taking or renewing a lease."""

    worker = Text(required=False, min_length=1, max_length=120)
    seconds = Whole(required=False, min_value=1, max_value=MAX_SECONDS, default=300)
    attempt = Whole(required=False, min_value=1)


class ThreadQuery(Fields):
    """Filters of the list."""

    role = serializers.ChoiceField(["asker", "assignee"], required=False)
    state = serializers.ChoiceField(State.values, required=False)
    context = Text(required=False, max_length=MAX_CONTEXT)  # type: ignore[assignment]
    claimable = serializers.BooleanField(
        required=False, help_text="Only what is assigned to me, open or working, and free to take."
    )
    limit = Digits(required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(required=False, max_length=500)


class Lease(serializers.Serializer[Any]):
    worker = serializers.CharField()
    until = serializers.DateTimeField()


class ThreadBodyFields(serializers.Serializer[Any]):
    id = serializers.CharField()
    chat = serializers.CharField()
    asker = RefSerializer()
    assignee = RefSerializer()
    role = serializers.ChoiceField(["asker", "assignee"])
    state = serializers.ChoiceField(State.choices)
    context = serializers.CharField()  # type: ignore[assignment]
    generation = serializers.IntegerField()
    parent = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    hops = serializers.IntegerField()
    lease = Lease(allow_null=True)
    attempt = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    state_at = serializers.DateTimeField()
    activity_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    class Meta:
        ref_name = "Thread"


class Message(serializers.Serializer[Any]):
    id = serializers.CharField()
    thread = serializers.CharField()
    role = serializers.ChoiceField(["asker", "assignee"])
    text = serializers.CharField(allow_null=True)
    parts = serializers.ListField(child=serializers.DictField())
    state = serializers.ChoiceField(State.choices, allow_null=True)
    of = serializers.CharField(allow_null=True)
    last = serializers.BooleanField(allow_null=True)
    metadata = serializers.DictField(allow_null=True)
    message_id = serializers.CharField(allow_null=True)
    generation = serializers.IntegerField()
    created_at = serializers.DateTimeField()

    def get_fields(self) -> dict[str, Any]:
        # `from` is a word of Python's own, so it cannot be an attribute.
        fields = super().get_fields()
        fields["from"] = serializers.CharField(allow_null=True)
        return fields


class ThreadBody(serializers.Serializer[Any]):
    thread = ThreadBodyFields()


class ThreadWithMessages(ThreadBodyFields):
    messages = Message(many=True)
    next = serializers.IntegerField()

    class Meta:
        ref_name = "ThreadWithMessages"


class ThreadPage(serializers.Serializer[Any]):
    items = ThreadBodyFields(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class Said(serializers.Serializer[Any]):
    thread = ThreadBodyFields()
    message = Message()
    duplicate = serializers.BooleanField()


class Leased(serializers.Serializer[Any]):
    thread = ThreadBodyFields()
    attempt = serializers.IntegerField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True)
