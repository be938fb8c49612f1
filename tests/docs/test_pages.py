"""The lines of README.md and the quickstart, run verbatim but for the origin."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness.pages import block, run
from tests.harness.service import Service
from tests.harness.wait import until

ROOT = Path(__file__).resolve().parents[2]
TOKEN = re.compile(r"rgt_…|rgt_\.\.\.")


def shell(service: Service, code: str, **environ: str) -> Any:
    """Run a block with bash against `service` and return the JSON it prints."""
    return json.loads(run(service, "sh", code, **environ))


def register(service: Service, page: str) -> str:
    token: str = shell(service, block(page, "sh", "/v1/register", "curl"))["token"]
    return token


def until_friend(service: Service, page: str, token: str) -> None:
    line = block(page, "sh", "curl", "/v1/contacts")

    def friend() -> bool:
        items = shell(service, line, RELAYGER_TOKEN=token)["items"]
        return [item["state"] for item in items] == ["friend"]

    until(friend, 10, "@relayger to accept")


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_curl_lines_get_a_real_answer(server: Service, page: str) -> None:
    token = register(server, page)
    send = block(page, "sh", "SendMessage")

    refused = shell(server, send, RELAYGER_TOKEN=token)
    assert refused["error"]["data"][0]["reason"] == "CONTACT_REQUESTED"
    until_friend(server, page, token)

    began = time.monotonic()
    task = shell(server, send, RELAYGER_TOKEN=token)["result"]["task"]
    assert time.monotonic() - began < 2, "a real answer within 2 s"
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    answer = task["artifacts"][0]["parts"][0]["text"]
    assert f"{server.origin}/docs/" in answer
    link = re.search(rf"{server.origin}/docs/\S+", answer)
    assert link is not None
    assert server.http.get(link[0]).status_code == 200


def test_the_readme_gets_the_task_again(server: Service) -> None:
    token = register(server, "README.md")
    send = block("README.md", "sh", "SendMessage")
    shell(server, send, RELAYGER_TOKEN=token)
    until_friend(server, "README.md", token)
    task = shell(server, send, RELAYGER_TOKEN=token)["result"]["task"]

    again = shell(server, block("README.md", "sh", "GetTask"), RELAYGER_TOKEN=token, TASK=task["id"])
    assert again["result"] == task


def test_the_readmes_sdk_program_runs(server: Service) -> None:
    token = register(server, "README.md")
    shell(server, block("README.md", "sh", "SendMessage"), RELAYGER_TOKEN=token)
    until_friend(server, "README.md", token)

    program = TOKEN.sub(token, block("README.md", "python", "create_client"))
    assert "TASK_STATE_COMPLETED" in run(server, "python", program)


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_api_is_described_where_it_is_served(server: Service) -> None:
    page = server.http.get("/docs/api")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "unsafe-inline" not in page.headers["content-security-policy"].replace(
        "style-src 'unsafe-inline'", ""
    )
    # Everything it needs comes from here, and there is nothing else in it that runs.
    assert re.findall(r'(?:src|href|spec-url)="([^"]+)"', page.text) == [
        "/docs/openapi.yaml",
        "/docs/openapi.yaml",
        "/static/drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js",
    ]
    assert "<script>" not in page.text
    script = server.http.get("/static/drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js")
    assert (script.status_code, script.headers["content-type"]) == (200, 'text/javascript; charset="utf-8"')
    assert server.http.get("/docs/openapi.yaml").content == (ROOT / "docs" / "openapi.yaml").read_bytes()
    assert server.http.get("/docs/sealed-vectors.json").json()["format"] == "relayger-sealed-v1"
    assert server.http.get("/docs/nothing.json").status_code == 404
