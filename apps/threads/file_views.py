"""Files over `/v1`: what answers at once, and what OpenAPI says of the calls in `file_asgi.py`."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.core import rest
from apps.core.schema import IDEMPOTENCY_KEY, whole_number
from apps.identities.rest import actor_of
from apps.threads import file_serializers as shapes
from apps.threads import files
from apps.threads.file_asgi import file_id
from apps.threads.file_sql import FileRow


class ChatFiles(APIView):
    """The files of a chat: `{id}` is a `con_…` or, for the direct chat with somebody, a number or handle."""

    @extend_schema(operation_id="files_list", parameters=[shapes.ListQuery], responses=shapes.FilePage)
    def get(self, request: Request, id: str) -> Response:
        """List a chat's files, newest first."""
        given = rest.query(shapes.ListQuery, request)
        page = files.listed(actor_of(request), id, given["limit"], given.get("cursor"))
        return Response(page.show(FileRow.show))

    @extend_schema(
        operation_id="files_make",
        parameters=[IDEMPOTENCY_KEY],
        request={"application/json": shapes.NewFile, "multipart/form-data": shapes.UploadFields},
        responses={201: shapes.MadeFile, 200: shapes.MadeFile},
        examples=[
            OpenApiExample(
                "A small file",
                value={"name": "hello.txt", "media_type": "text/plain", "content": "SGVsbG8="},
                request_only=True,
                media_type="application/json",
            )
        ],
    )
    def post(self, request: Request, id: str) -> Response:
        """Store a file in a chat. Inside JSON, or as multipart/form-data when it is larger."""
        rest.answered_in_front()


class File(APIView):
    """One file."""

    @extend_schema(operation_id="files_get", responses=shapes.FileWithVersions)
    def get(self, request: Request, id: str) -> Response:
        """Show a file and its versions."""
        return Response(files.get(actor_of(request), file_id(id)))

    @extend_schema(
        operation_id="files_change",
        parameters=[IDEMPOTENCY_KEY],
        request={"application/json": shapes.ChangeFile, "multipart/form-data": shapes.ChangeUpload},
        responses=shapes.MadeFile,
    )
    def patch(self, request: Request, id: str) -> Response:
        """Rename my file, or give it a new version."""
        rest.answered_in_front()

    @extend_schema(operation_id="files_delete", responses={204: None})
    def delete(self, request: Request, id: str) -> Response:
        """Delete my file with all its versions, also when I have left its chat."""
        files.delete(actor_of(request), file_id(id))
        return Response(status=204)


class FileContent(APIView):
    """Describes GET; every other method is refused here."""

    @extend_schema(
        operation_id="files_download",
        parameters=[
            whole_number("version", "Which version; the newest without it.", least=1),
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="An ETag one has."),
        ],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, 304: None},
    )
    def get(self, request: Request, id: str) -> Response:
        """Download a file, as an attachment. Its ETag is the SHA-256 of its content."""
        rest.answered_in_front()
