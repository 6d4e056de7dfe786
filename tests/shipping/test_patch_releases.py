"""A bundle that one Python has built is found by another one of the same minor version."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.every_python import Interpreter, running_at
from tests.kernels.native_calls import needs_native
from tests.processes.programs import ROOT
from tests.shipping.project import CALL, WITHOUT_LLVM, called, installed, written_project

pytestmark = needs_native

SERIES = "{}.{}".format(*sys.version_info[:2])
VERSION = "{}.{}.{}".format(*sys.version_info[:3])


def another_python() -> Interpreter | None:
    """An interpreter of the same minor version and another patch release."""
    pyenv = Path.home() / ".pyenv" / "versions"
    paths = [f"/usr/bin/python{SERIES}", f"/usr/local/bin/python{SERIES}", f"python{SERIES}"]
    paths += map(str, pyenv.glob(f"{SERIES}.*/bin/python3"))
    for path in paths:
        found = running_at(path)
        if found is not None and found.series == SERIES and found.version != VERSION:
            return found
    return None


def test_what_one_python_has_built_another_patch_release_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another_python()
    if other is None:
        pytest.skip(f"there is no other Python {SERIES} than {VERSION} here")
    site = installed(written_project(tmp_path / "project"), tmp_path / "site")
    packages = f"{site}:{ROOT / 'src'}:{sysconfig.get_path('purelib')}"
    monkeypatch.setattr(sys, "executable", other.path)
    ran = subprocess.run(
        [other.path, "-c", "import numpy"], env={"PYTHONPATH": packages}, check=False
    )
    if ran.returncode:
        pytest.skip(f"{other} cannot import what {VERSION} has installed")
    answer = called(Path(packages), tmp_path / "cache", WITHOUT_LLVM + CALL, WHORL_REQUIRE_HIT="1")
    assert answer[:2] == [16.0, {"found": 1}]
