"""An operator at the service's admin pages, over HTTP as a browser would be."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys

import httpx

from tests.harness.deployment import ROOT
from tests.harness.environment import clean
from tests.harness.service import Service

EMAIL, PASSWORD = "operator@example.org", "correct horse battery"
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def create(service: Service, email: str = EMAIL, password: str = PASSWORD) -> None:
    """Make an operator, with Django's own command."""
    done = subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput", "--email", email],
        cwd=ROOT,
        env={**clean(dict(os.environ)), **service.environ, "DJANGO_SUPERUSER_PASSWORD": password},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


class Operator:
    """A signed-in operator's browser."""

    def __init__(self, service: Service) -> None:
        self.http = httpx.Client(base_url=service.origin, timeout=40)
        service.clients.add(self.http)

    def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> httpx.Response:
        return self.post("/admin/login/?next=/admin/", username=email, password=password)

    def page(self, path: str, status: int = 200, **params: str) -> str:
        answer = self.http.get(path, params=params)
        assert answer.status_code == status, f"{path}: {answer.status_code}"
        return html.unescape(answer.text)

    def post(self, path: str, **fields: str | list[str]) -> httpx.Response:
        """Send a page's form."""
        found = _CSRF.search(self.http.get(path).text)
        assert found is not None, f"{path} has no form"
        data = {"csrfmiddlewaretoken": found[1], **fields}
        return self.http.post(path, data=data, headers={"Referer": str(self.http.base_url)})

    def act(self, list: str, action: str, ids: list[str], **fields: str) -> str:
        """Do something with rows of a list; what the list then says."""
        path = f"/admin/{list}/"
        answer = self.post(path, action=action, _selected_action=ids, index="0", **fields)
        assert answer.status_code == 302, answer.text
        told = re.findall(r'<li class="(?:success|error|warning)">(.*?)</li>', self.page(path), re.DOTALL)
        return " ".join(told)
