"""Contacts as JSON: what comes in, and what the schema says goes out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from apps.contacts.models import Contact
from apps.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from apps.core.rest import Digits, Fields, Text
from apps.identities.serializers import RefSerializer


class ContactQuery(Fields):
    """The query of a list of contacts."""

    state = serializers.ChoiceField(Contact.State.choices, required=False)
    limit = Digits(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(required=False, max_length=1024)


class ContactRequest(Fields):
    """Whom to ask, and what to say with it."""

    to = Text(max_length=64, help_text="A number, a handle or an @handle.")
    note = Text(default="", allow_blank=True, help_text="At most 500 characters, shown on one line.")


class ContactBody(serializers.Serializer[Any]):
    """How I see another."""

    identity = RefSerializer()
    state = serializers.ChoiceField(Contact.State.choices, allow_null=True)
    note = serializers.CharField()
    updated_at = serializers.DateTimeField(allow_null=True)


class ContactPage(serializers.Serializer[Any]):
    """A page of contacts."""

    items = ContactBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)
