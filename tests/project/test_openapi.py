"""docs/openapi.yaml is of use to others' tools. That it says what the code does is `make openapi-check`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from relayger import __version__
from tests.project.test_files import ROOT

PAGE = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in the page."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dicts(item)


def test_is_openapi_3_1_of_this_version() -> None:
    assert PAGE["openapi"] == "3.1.0"
    assert PAGE["info"]["version"] == __version__


def test_patterns_are_those_of_json_schema() -> None:
    patterns = [one["pattern"] for one in dicts(PAGE) if isinstance(one.get("pattern"), str)]
    assert patterns
    for pattern in patterns:
        re.compile(pattern)
        assert not re.search(r"\\[AZU]|\(\?P", pattern), pattern


def test_every_call_tells_its_errors() -> None:
    for path, calls in PAGE["paths"].items():
        for method, call in calls.items():
            assert {"400", "429", "503"} <= set(call["responses"]), f"{method} {path}"
            assert any(status.startswith("2") for status in call["responses"]), f"{method} {path}"
