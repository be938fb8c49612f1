"""The wheel is the command and the client, and stands without the service."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from relayger import __version__
from tests.project.test_files import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a release would build it but with what is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=60,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_holds_the_command_and_the_client_only(wheel: Path) -> None:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    whole = {"relayger/__init__.py", "relayger/py.typed", "relayger/sealed.py"}
    assert whole <= set(names)
    assert [
        name
        for name in names
        if name not in whole and not name.startswith(("relayger/cli/", "relayger/client/"))
    ] == []


def test_carries_the_version_and_the_script(wheel: Path) -> None:
    folder = f"relayger-{__version__}.dist-info"
    archive = zipfile.ZipFile(wheel)
    assert f"Version: {__version__}" in archive.read(f"{folder}/METADATA").decode()
    assert "relayger = relayger.cli:main" in archive.read(f"{folder}/entry_points.txt").decode()


def test_command_runs_without_the_service(wheel: Path, tmp_path: Path) -> None:
    """From the wheel alone, with Django and the apps out of reach, the command still explains itself."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "sys.modules.update(dict.fromkeys(('apps', 'django', 'relayger.server', 'relayger.settings')));"
        "from relayger.cli import main; sys.argv = ['relayger', '--help']; main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert "register" in run.stdout
