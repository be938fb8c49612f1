"""The documentation: Markdown, where the answers of @relayger link to, and the HTTP API to read."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

_DOCS = {path.stem: path for path in (settings.BASE_DIR / "docs").glob("*.md")}
_DATA = {path.stem: path for path in (settings.BASE_DIR / "docs").glob("*.json")}
_OPENAPI = settings.BASE_DIR / "docs" / "openapi.yaml"
# Redoc, which this service brings along, writes its styles into the page and searches in a worker of its own.
_API_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@require_safe
@cache_control(public=True, max_age=300)
def docs(request: HttpRequest, page: str = "quickstart") -> HttpResponse:
    """One page of `docs/`. Only the pages found at the start exist, so no name leads out of the folder."""
    if page not in _DOCS:
        raise Http404
    return HttpResponse(_DOCS[page].read_bytes(), "text/markdown; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=300)
def data(request: HttpRequest, name: str) -> HttpResponse:
    """What a page of `docs/` publishes beside it as JSON."""
    if name not in _DATA:
        raise Http404
    return HttpResponse(_DATA[name].read_bytes(), "application/json")


@require_safe
@cache_control(public=True, max_age=300)
def openapi(request: HttpRequest) -> HttpResponse:
    """The description of the HTTP API, as it is committed."""
    return HttpResponse(_OPENAPI.read_bytes(), "application/yaml; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=300)
def api(request: HttpRequest) -> HttpResponse:
    """The HTTP API as a page. It alone may hold styles of its own."""
    answer = render(request, "docs/api.html")
    answer["Content-Security-Policy"] = _API_POLICY
    return answer
