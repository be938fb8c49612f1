"""The lines of README.md and the quickstart, run verbatim but for the origin."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.harness.service import Service
from tests.harness.wait import until

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TOKEN = re.compile(r"rgt_…|rgt_\.\.\.")


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of one language on a page."""
    return [code for kind, code in BLOCK.findall((ROOT / page).read_text()) if kind == language]


def block(page: str, language: str, *needles: str) -> str:
    """The one block that holds all the needles."""
    found = [code for code in blocks(page, language) if all(needle in code for needle in needles)]
    assert len(found) == 1, f"{page} has {len(found)} {language} blocks with {needles}"
    return found[0]


def shell(service: Service, code: str, **environ: str) -> Any:
    """Run a block with bash against `service` and return the JSON it prints."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code.replace("http://127.0.0.1:8000", service.origin)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


def test_the_readmes_sdk_program_runs(server: Service, tmp_path: Path) -> None:
    token = register(server, "README.md")
    shell(server, block("README.md", "sh", "SendMessage"), RELAYGER_TOKEN=token)
    until_friend(server, "README.md", token)

    program = TOKEN.sub(token, block("README.md", "python", "create_client"))
    path = tmp_path / "program.py"
    path.write_text(program.replace("http://127.0.0.1:8000", server.origin))
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "TASK_STATE_COMPLETED" in done.stdout


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
