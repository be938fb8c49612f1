"""The shapes of files, in and out."""

from __future__ import annotations

import re
from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from apps.core.rest import Digits, Fields, Name, Text, Whole
from apps.identities.serializers import ListQuery as ListQuery
from apps.identities.serializers import RefSerializer

MAX_NAME = 255
MAX_TYPE = 127
_TOKEN = r"[a-z0-9][a-z0-9!#$&^_.+-]*"  # noqa: S105  of RFC 6838, not a secret


class FileName(Name):
    """The name of a file: one line that leads into no folder."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_length=1, max_length=MAX_NAME, **kwargs)
        self.validators.append(RegexValidator(r"^(?!\.{1,2}$)[^/\\]*\Z", "Must be a name without a folder."))


class MediaType(Text):
    """A media type without parameters, in lower case."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_TYPE, help_text="type/subtype, without parameters.", **kwargs)
        self.validators.append(
            RegexValidator(
                rf"^{_TOKEN}/{_TOKEN}\Z", "Must be a type/subtype, without parameters.", flags=re.ASCII
            )
        )

    def to_internal_value(self, data: Any) -> str:
        return super().to_internal_value(data).lower()


class NewFile(Fields):
    """A file inside JSON."""

    name = FileName()
    media_type = MediaType(required=False)
    content = Text(
        allow_blank=True, help_text="Base64, of at most 1 MiB; more is uploaded as multipart/form-data."
    )
    client_id = Text(required=False, max_length=128)


class UploadFields(Fields):
    """A file as multipart/form-data."""

    file = serializers.FileField(allow_empty_file=True, help_text="At most 25 MiB.")
    name = FileName(required=False, help_text="Instead of the file's own.")
    media_type = MediaType(required=False)
    client_id = Text(required=False, max_length=128)

    class Meta:
        ref_name = "FileUpload"


class ChangeFile(Fields):
    """A new name, media type or content."""

    name = FileName(required=False)
    media_type = MediaType(required=False)
    content = Text(required=False, allow_blank=True, help_text="Base64: a new version.")
    client_id = Text(required=False, max_length=128)
    expected_version = Whole(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Change it only if this is its newest version.",
    )


class ChangeUpload(UploadFields):
    """A new version as multipart/form-data."""

    expected_version = Digits(required=False, min_value=1, max_value=2**31 - 1)

    class Meta:
        ref_name = "FileVersionUpload"


class VersionBody(serializers.Serializer[Any]):
    """One content of a file."""

    version = serializers.IntegerField()
    name = serializers.CharField()
    media_type = serializers.CharField()
    size = serializers.IntegerField(help_text="In bytes.")
    sha256 = serializers.CharField(help_text="Of the content, in hexadecimal.")
    content_url = serializers.CharField(help_text="Where it is downloaded, with a token of a member.")
    created_at = serializers.DateTimeField()

    class Meta:
        ref_name = "FileVersion"


class FileBody(VersionBody):
    """A file with its newest version."""

    id = serializers.CharField()
    chat = serializers.CharField()
    owner = RefSerializer()
    updated_at = serializers.DateTimeField()

    class Meta:
        ref_name = "File"


class FileWithVersions(FileBody):
    versions = VersionBody(many=True, help_text="Newest first.")

    class Meta:
        ref_name = "FileWithVersions"


class FilePage(serializers.Serializer[Any]):
    items = FileBody(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class MadeFile(serializers.Serializer[Any]):
    file = FileBody()
    duplicate = serializers.BooleanField()
