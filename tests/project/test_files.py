"""What stands in the committed files, whatever they are about."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).relative_to(ROOT).as_posix()

# Put together here, so that this file does not hold what it looks for.
REGISTRIES = [
    r"py" + r"pi\.(python\.)?org",
    r"python" + r"hosted\.org",
    r"registry\." + r"npmjs\.",
    r"registry\." + r"yarnpkg\.",
    r"\b(deb|security)\." + r"debian\.org",
    r"--(extra-)?" + r"index-url",
    r"--" + r"find-links",
    r"^\s*(registry|index)\s*=\s*[\"']?" + r"http",
]
UNFINISHED = [
    r"\b" + word + r"\b" for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX", "raise NotImplemented" + "Error")
]
MACHINES = [r"/home/\w", r"/ro" + r"ot/", r"/wo" + r"rk/", r"\.\./sha" + r"red"]
LONGEST = {"apps/": 400, "benchmarks/": 400, "relayger/": 400}


@cache
def committed() -> tuple[str, ...]:
    """The paths that git knows or would add."""
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked archive does not tell its own files from others")
    listed = subprocess.run(
        # Whoever owns the checkout: this only lists names.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(sorted(path for path in set(listed.stdout.split("\0")) if (ROOT / path).is_file()))


def lines(*suffixes: str) -> Iterator[tuple[str, int, str]]:
    """Every line of the committed text files as path, number, text."""
    for path in committed():
        if path == HERE or (suffixes and not path.endswith(suffixes)):
            continue
        try:
            text = (ROOT / path).read_text("utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            yield path, number, line


def found(patterns: list[str], *suffixes: str) -> list[str]:
    """The places where a pattern stands."""
    pattern = re.compile("|".join(patterns))
    return [
        f"{path}:{number}: {line.strip()[:120]}"
        for path, number, line in lines(*suffixes)
        if pattern.search(line)
    ]


def test_no_registry_address() -> None:
    assert found(REGISTRIES) == []


def test_no_unfinished_place() -> None:
    assert found(UNFINISHED, ".py", ".html", ".js", ".css", ".md") == []


def test_no_path_of_a_machine() -> None:
    assert found(MACHINES) == []


def test_no_large_module() -> None:
    large = {
        path: size
        for path in committed()
        for folder, longest in LONGEST.items()
        if path.startswith(folder) and path.endswith(".py") and "/migrations/" not in path
        if (size := len((ROOT / path).read_text().splitlines())) > longest
    }
    assert large == {}


@pytest.mark.parametrize("name", ["server", "dev", "bench"])
def test_lock_pins_everything_with_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    entries = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==[^ ]+( ; .*)? \\$", entry), entry
    assert text.count("--hash=sha256:") >= len(entries)


@pytest.mark.parametrize("name", ["dev", "bench"])
def test_every_lock_holds_the_server_lock(name: str) -> None:
    def pins(name: str) -> set[str]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return set(re.findall(r"^([a-z0-9._-]+(?:\[[a-z,]+\])?==[^ ]+)", text, re.MULTILINE))

    assert pins("server") <= pins(name)
