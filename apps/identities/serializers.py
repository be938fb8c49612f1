"""The shapes of identities, in and out."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.core.actor import SCOPES
from apps.core.paging import DEFAULT_LIMIT, MAX_LIMIT
from apps.core.rest import Digits, Fields, Flag, Name, Prose, Text, Whole
from apps.identities.actions import MAX_SKILLS
from apps.identities.keys import PURPOSES
from apps.identities.models import Identity
from apps.identities.queries import POLICIES
from apps.identities.tokens import MAX_DAYS

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


class KeyBody(serializers.Serializer[Any]):
    """A public key."""

    id = serializers.CharField()
    purpose = serializers.ChoiceField(list(PURPOSES))
    public_key = serializers.CharField()
    fingerprint = serializers.CharField(help_text="128 bits that two people can compare.")
    created_at = serializers.DateTimeField()
    retired_at = serializers.DateTimeField(allow_null=True)
    derived = serializers.BooleanField(
        help_text="Whether it is the X25519 form of the signing key, whose id it bears."
    )

    class Meta:
        ref_name = "Key"


class KeyInUse(KeyBody):
    changed_at = serializers.DateTimeField(
        allow_null=True, help_text="When it replaced another; null while it is the first."
    )

    class Meta:
        ref_name = "KeyInUse"


class KeysInUse(serializers.Serializer[Any]):
    """The keys that an identity signs with and is sealed to."""

    sign = KeyInUse(allow_null=True)
    seal = KeyInUse(allow_null=True)


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
    keys = KeysInUse(required=False, help_text="Where one identity is shown.")

    class Meta:
        ref_name = "Identity"


class Me(ProfileBody):
    """An identity as itself sees it."""

    policy = serializers.ChoiceField(sorted(POLICIES.values()), allow_null=True)
    receive = serializers.ChoiceField(Identity.Receive.choices)
    accept = serializers.ChoiceField(Identity.Accept.choices)
    account = serializers.CharField()
    public_key = serializers.CharField(allow_null=True)
    keys = KeysInUse()

    class Meta:
        ref_name = "Me"


class Registered(serializers.Serializer[Any]):
    identity = Me()
    token = serializers.CharField(help_text="Shown this once.")
    notice = serializers.CharField()
    duplicate = serializers.BooleanField()
    next = serializers.CharField(allow_null=True)


class RegisteredBefore(serializers.Serializer[Any]):
    """Whose a public key is already. It proves nothing, so nothing else is shown."""

    identity = RefSerializer()
    token = serializers.CharField(allow_null=True, help_text="Always null.")
    notice = serializers.CharField()
    duplicate = serializers.BooleanField()
    next = serializers.CharField(allow_null=True)


# -- tokens, keys, the audit log, claiming ------------------------------------------------------------------------


class ListQuery(Fields):
    """A page of a list."""

    limit = Digits(required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(required=False, max_length=500)


class NewToken(Fields):
    name = Name(min_length=1, max_length=120)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(list(SCOPES)),
        required=False,
        allow_empty=False,
        max_length=len(SCOPES),
        help_text="Some of those of the token that makes it; all of them when absent.",
    )
    expires_in_days = Whole(
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text="Never later than the token that makes it; when absent, as that one.",
    )
    client_id = Text(required=False, max_length=128)


class Rotate(Fields):
    client_id = Text(required=False, max_length=128)


class TokenBody(serializers.Serializer[Any]):
    """A token without its secret."""

    id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(list(SCOPES)))
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
    current = serializers.BooleanField(help_text="Whether this call was made with it.")

    class Meta:
        ref_name = "Token"


class MadeToken(TokenBody):
    token = serializers.CharField(allow_null=True, help_text="The secret, shown this once.")
    duplicate = serializers.BooleanField()
    next = serializers.CharField(allow_null=True, help_text="`rotate` when the secret was shown before.")

    class Meta:
        ref_name = "MadeToken"


class TokenPage(serializers.Serializer[Any]):
    items = TokenBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class NewKey(Fields):
    purpose = serializers.ChoiceField(list(PURPOSES))
    public_key = Text(
        max_length=64, help_text="Ed25519 to sign, X25519 to seal: 32 bytes, base64url, no padding."
    )


class KeyQuery(ListQuery):
    purpose = serializers.ChoiceField(list(PURPOSES), required=False)


class PublishedKey(KeyBody):
    duplicate = serializers.BooleanField(help_text="Whether it was the key in use already.")

    class Meta:
        ref_name = "PublishedKey"


class KeyPage(serializers.Serializer[Any]):
    items = KeyBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AuditNote(serializers.Serializer[Any]):
    """What happened to my access and standing."""

    id = serializers.CharField()
    action = serializers.CharField()
    at = serializers.DateTimeField()
    detail = serializers.DictField()
    credential = serializers.CharField(
        allow_null=True, help_text="The token it was done with; null when it was not I who did it."
    )
    address = serializers.CharField(allow_blank=True)


class AuditPage(serializers.Serializer[Any]):
    items = AuditNote(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ClaimFields(Fields):
    code = Text(required=False, max_length=100, help_text="To claim; without it, a code is made.")


class ClaimOffer(serializers.Serializer[Any]):
    """A code for one claim."""

    code = serializers.CharField(help_text="Shown this once.")
    expires_at = serializers.DateTimeField()


class Claimed(serializers.Serializer[Any]):
    identity = IdentityBody()
