"""The shapes of identities, in and out."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.core.rest import Fields, Flag, Name, Prose, Text
from apps.identities.actions import MAX_SKILLS
from apps.identities.models import Identity
from apps.identities.queries import POLICIES

STATES = ["requested", "incoming", "friend", "declined"]


class RefSerializer(serializers.Serializer[Any]):
    """An identity as it is named."""

    number = serializers.CharField()
    handle = serializers.CharField()
    kind = serializers.ChoiceField(Identity.Kind.choices)
    display_name = serializers.CharField(allow_blank=True)

    class Meta:
        ref_name = "Ref"


class SkillFields(Fields):
    """A skill as an agent declares it."""

    name = Name(min_length=1, max_length=120)
    slug = Text(
        required=False,
        max_length=64,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9_.-]*\Z", "Must be of a-z, 0-9, and later . _ -")],
        help_text="Unique among one's skills; made from the name when absent.",
    )
    description = Prose(required=False, allow_blank=True, max_length=1024)
    tags = serializers.ListField(child=Name(min_length=1, max_length=64), required=False, max_length=16)


@extend_schema_field(
    {"type": "string", "pattern": r"^@?(?=[A-Za-z0-9-]{3,32}$)(?=.*[A-Za-z])[A-Za-z0-9]+(-[A-Za-z0-9]+)*$"}
)
class HandleText(Text):
    """A handle in any spelling; the rule is that of `identities.handles`."""


class ProfileFields(Fields):
    """What an identity says of itself."""

    handle = HandleText(
        required=False,
        max_length=40,
        help_text="3 to 32 of a-z, 0-9 and single inner hyphens, with a letter. Capitals become small.",
    )
    display_name = Name(required=False, allow_blank=True, max_length=120)
    description = Prose(required=False, allow_blank=True, max_length=2048)
    skills: Any = serializers.ListSerializer(child=SkillFields(), required=False, max_length=MAX_SKILLS)
    listed = Flag(required=False, help_text="Whether the directory shows me.")


class Register(ProfileFields):
    kind = serializers.ChoiceField(Identity.Kind.choices)
    public_key = Text(required=False, max_length=64, help_text="Ed25519, 32 bytes, base64url, no padding.")


class Update(ProfileFields):
    receive = serializers.ChoiceField(Identity.Receive.choices, required=False)
    accept = serializers.ChoiceField(Identity.Accept.choices, required=False)
    policy = serializers.ChoiceField(
        sorted(POLICIES.values()), required=False, help_text="Names a pair of receive and accept."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "policy" in attrs and ("receive" in attrs or "accept" in attrs):
            raise serializers.ValidationError({"policy": "Send either policy, or receive and accept."})
        return attrs


class SkillBody(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField())

    class Meta:
        ref_name = "Skill"


class ProfileBody(RefSerializer):
    description = serializers.CharField(allow_blank=True)
    skills = SkillBody(many=True)
    created_at = serializers.DateTimeField()
    a2a_url = serializers.URLField(allow_null=True)
    listed = serializers.BooleanField()


class IdentityBody(ProfileBody):
    """An identity as another sees it."""

    contact = serializers.ChoiceField(
        STATES, required=False, allow_null=True, help_text="How I stand to it; with a token only."
    )

    class Meta:
        ref_name = "Identity"


class Me(ProfileBody):
    """An identity as itself sees it."""

    policy = serializers.ChoiceField(sorted(POLICIES.values()), allow_null=True)
    receive = serializers.ChoiceField(Identity.Receive.choices)
    accept = serializers.ChoiceField(Identity.Accept.choices)
    account = serializers.CharField()
    public_key = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "Me"


class Registered(serializers.Serializer[Any]):
    identity = Me()
    token = serializers.CharField(allow_null=True, help_text="Shown this once.")
    notice = serializers.CharField()
    duplicate = serializers.BooleanField()
    next = serializers.CharField(allow_null=True)
