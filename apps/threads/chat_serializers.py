"""The shapes of `/v1/chats`, `/v1/messages`, `/v1/invites` and `/v1/search`, in and out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.contacts.models import Chat, Invite, Member
from apps.core.rest import Digits, Fields, Name, Text, Whole
from apps.identities.serializers import KeysInUse, RefSerializer
from apps.identities.serializers import ListQuery as ListQuery
from apps.threads.models import Entry, State
from apps.threads.rooms import MAX_INVITED
from apps.threads.serializers import MessageFields

MAX_TOPIC = 200
MOST = 2**63 - 1


class ChatQuery(ListQuery):
    """Filters of the list."""

    kind = serializers.ChoiceField([Chat.Kind.DIRECT, Chat.Kind.ROOM], required=False)


class NewRoom(Fields):
    topic = Name(min_length=1, max_length=MAX_TOPIC)
    visibility = serializers.ChoiceField(
        Chat.Visibility.choices,
        required=False,
        default=Chat.Visibility.PRIVATE,
        help_text="Who may come in: the invited, or anybody who finds it in the directory.",
    )
    invite = serializers.ListField(
        child=Text(max_length=64),
        required=False,
        max_length=MAX_INVITED,
        help_text="Numbers or handles to ask in.",
    )
    client_id = Text(required=False, max_length=128)


class ChangeRoom(Fields):
    topic = Name(required=False, min_length=1, max_length=MAX_TOPIC)
    visibility = serializers.ChoiceField(Chat.Visibility.choices, required=False)


class HistoryQuery(Fields):
    """Which part of a history."""

    after = Digits(required=False, min_value=0, max_value=MOST, help_text="Show what follows this cursor.")
    before = Digits(required=False, min_value=0, max_value=MOST, help_text="Show what is before it.")
    limit = ListQuery().fields["limit"]


class Post(MessageFields):
    """A plain message."""


class Edit(Fields):
    """What a message says from now on."""

    text = MessageFields().fields["text"]
    parts = MessageFields().fields["parts"]
    metadata = MessageFields().fields["metadata"]


class ReadUpTo(Fields):
    cursor = Whole(min_value=0, max_value=MOST, help_text="The newest entry that was read.")


class Asked(Fields):
    who = Text(max_length=64, help_text="A number, a handle or an @handle.")
    note = Text(required=False, default="", allow_blank=True, help_text="At most 500 characters.")


class Removed(Fields):
    who = Text(max_length=64, help_text="A number, a handle or an @handle.")


class SearchQuery(ListQuery):
    q = serializers.CharField(max_length=10_000, help_text="Words that a message must have, each of them.")
    chat = serializers.CharField(required=False, max_length=64, help_text="Only in this chat.")


class ChatBodyFields(serializers.Serializer[Any]):
    """A chat as one of its members sees it."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(Chat.Kind.choices)
    topic = serializers.CharField(allow_blank=True)
    visibility = serializers.ChoiceField(Chat.Visibility.choices)
    role = serializers.ChoiceField(Member.Role.choices)
    members = serializers.IntegerField()
    head = serializers.IntegerField(help_text="The cursor of the newest entry.")
    read = serializers.IntegerField(help_text="The cursor that I read up to.")
    unread = serializers.IntegerField(help_text="Messages of others past it; counted up to 100.")
    created_at = serializers.DateTimeField()
    activity_at = serializers.DateTimeField()

    class Meta:
        ref_name = "Chat"

    def get_fields(self) -> dict[str, Any]:
        # `with` is a word of Python's own, so it cannot be an attribute.
        return {
            **super().get_fields(),
            "with": RefSerializer(allow_null=True, help_text="The other side of a direct chat."),
        }


class PersonBody(RefSerializer):
    """A member."""

    role = serializers.ChoiceField(Member.Role.choices)
    joined_at = serializers.DateTimeField()
    read = serializers.IntegerField(help_text="The cursor that it read up to.")
    keys = KeysInUse()

    class Meta:
        ref_name = "ChatMember"


class ChatWithPeople(ChatBodyFields):
    people = PersonBody(many=True)

    class Meta:
        ref_name = "ChatWithPeople"


class ChatPage(serializers.Serializer[Any]):
    items = ChatBodyFields(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class MadeRoom(serializers.Serializer[Any]):
    chat = ChatBodyFields()
    duplicate = serializers.BooleanField()


class EntryBody(serializers.Serializer[Any]):
    """A message or an event of a chat."""

    id = serializers.CharField()
    chat = serializers.CharField()
    cursor = serializers.IntegerField()
    kind = serializers.ChoiceField(Entry.Kind.choices)
    type = serializers.CharField()
    thread = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    parts = serializers.ListField(child=serializers.DictField())
    state = serializers.ChoiceField(State.choices, allow_null=True)
    about = serializers.DictField(allow_null=True, help_text="What an event is about.")
    of = serializers.CharField(allow_null=True)
    last = serializers.BooleanField(allow_null=True)
    metadata = serializers.DictField(allow_null=True)
    client_id = serializers.CharField(allow_null=True, help_text="Of my own messages.")
    created_at = serializers.DateTimeField()
    edited_at = serializers.DateTimeField(allow_null=True)
    deleted_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        ref_name = "ChatEntry"

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": RefSerializer(allow_null=True)}


class History(serializers.Serializer[Any]):
    """A part of a chat, oldest first."""

    items = EntryBody(many=True)
    next_cursor = serializers.IntegerField(
        allow_null=True, help_text="The next `after`, or `before`; null when there is no more."
    )
    head = serializers.IntegerField(help_text="The cursor of the newest entry.")


class Posted(serializers.Serializer[Any]):
    message = EntryBody()
    duplicate = serializers.BooleanField()


class Found(serializers.Serializer[Any]):
    items = EntryBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class InviteBody(serializers.Serializer[Any]):
    """An invitation to a room."""

    id = serializers.CharField()
    chat = serializers.CharField()
    topic = serializers.CharField()
    note = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(Invite.State.choices)
    created_at = serializers.DateTimeField()

    class Meta:
        ref_name = "Invite"

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "from": RefSerializer()}


class InvitePage(serializers.Serializer[Any]):
    items = InviteBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)
