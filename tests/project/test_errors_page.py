"""docs/errors.md and the closed list of codes say the same."""

from __future__ import annotations

import re

from apps.core.errors import STATUS, Code
from tests.project.test_files import ROOT


def rows() -> dict[str, int]:
    """The table's first two columns: the code and its HTTP status."""
    page = (ROOT / "docs" / "errors.md").read_text()
    return {
        code: int(status) for code, status in re.findall(r"^\| `([a-z_]+)` \| (\d{3}) \|", page, re.MULTILINE)
    }


def test_page_lists_exactly_the_codes() -> None:
    assert set(rows()) == {code.value for code in Code}


def test_page_tells_each_status() -> None:
    assert rows() == {code.value: STATUS[code] for code in Code}
