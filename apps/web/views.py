"""The documentation as Markdown, where the answers of @relayger link to."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

_DOCS = {path.stem: path for path in (settings.BASE_DIR / "docs").glob("*.md")}


@require_safe
@cache_control(public=True, max_age=300)
def docs(request: HttpRequest, page: str = "quickstart") -> HttpResponse:
    """One page of `docs/`. Only the pages found at the start exist, so no name leads out of the folder."""
    if page not in _DOCS:
        raise Http404
    return HttpResponse(_DOCS[page].read_bytes(), "text/markdown; charset=utf-8")
