"""Scripts and styles, served by the service itself."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]  # has no types
from whitenoise.responders import StaticFile  # type: ignore[import-untyped]  # the same


class Assets(WhiteNoiseMiddleware):  # type: ignore[misc]  # the same
    """WhiteNoise's, but each file is one piece: Django's ASGI handler warns of what it would have to read in many."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The answer with a file, or with what of it was asked for."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file:
                body = found.file.read()
        return HttpResponse(body, status=int(found.status), headers=dict(found.headers))
