"""The operators' pages: Django's admin, guarded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from apps.core import limits, rest
from apps.core.errors import DomainError

# Django's admin brings its scripts and styles as files of its own.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class OperatorSite(AdminSite):
    """Only who `is_staff` comes in, and each address tries only so often."""

    site_header = site_title = "Relayger operators"
    index_title = "Reports and standing"
    site_url = None

    def admin_view(self, view: Callable[..., HttpResponseBase], cacheable: bool = False) -> Any:
        """A page for operators, with the policy that keeps what others wrote from running in it."""
        inner = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            return _strict(inner(request, *args, **kwargs))

        return guarded

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The form to sign in with; 429 for an address that has tried too often."""
        if request.method == "POST":
            try:
                limits.hit("login", rest.address(request))
            except DomainError as error:
                told = f"{error.message} {error.next or ''}\n"
                return _strict(
                    HttpResponse(told, "text/plain; charset=utf-8", error.status, headers=error.headers())
                )
        return _strict(super().login(request, extra_context))


def _strict(response: HttpResponseBase) -> HttpResponseBase:
    response.headers["Content-Security-Policy"] = _POLICY
    return response


site = OperatorSite(name="admin")
