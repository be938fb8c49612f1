"""The lines that the documentation shows, run as its readers run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.harness.deployment import ROOT
from tests.harness.service import Service

ORIGIN = "http://127.0.0.1:8000"  # what the pages say
_COMMANDS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}


def block(page: str, language: str, *needles: str) -> str:
    """The one fenced block of a language on a page that holds all the needles."""
    text = (ROOT / page).read_text()
    fenced = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found = [str(code) for code in fenced if all(needle in code for needle in needles)]
    assert len(found) == 1, f"{page} has {len(found)} {language} blocks with {needles}"
    return found[0]


def run(service: Service, language: str, code: str, **environ: str) -> str:
    """Run a block against `service`, with the page's origin replaced, and return what it prints."""
    if language == "sh" and "curl" in code and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(
        [*_COMMANDS[language], code.replace(ORIGIN, service.origin)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
