"""The wheel of `examples/shipped` runs without LLVM, whichever backend has built it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.kernels.native_calls import needs_native
from tests.processes.programs import ROOT
from tests.shipping.project import WITHOUT_LLVM, called
from whorl.shipping.build_process import wheel_tag

pytestmark = needs_native

EXAMPLE = ROOT / "examples" / "shipped"
SETUPTOOLS = """
[build-system]
requires = ["setuptools>=77", "whorl"]
build-backend = "setuptools.build_meta"
"""
BUILDS = {
    "hatchling": ["-m", "hatchling", "build", "-t", "wheel", "-d", "dist"],
    "setuptools": ["-c", "from setuptools import setup; setup()", "-q", "bdist_wheel"],
}
PROGRAM = """
import json, sys
import numpy as np
import heat
old = np.zeros((5, 5)); old[2, 2] = 1.0
new = old.copy()
heat.diffuse(new, old, 0.25)
single = new.astype("f4")
print(json.dumps([
    new[2].tolist(), heat.largest(new), heat.largest(single),
    heat.smoothed(np.arange(4.0), 1).tolist(), heat.__file__,
]))
"""


@pytest.mark.parametrize("backend", BUILDS)
def test_the_wheel_of_the_example_needs_no_compiler(backend: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))
    if backend == "setuptools":
        file = project / "pyproject.toml"
        file.write_text(SETUPTOOLS + file.read_text().partition('"hatchling.build"\n')[2])
    done = subprocess.run(
        [sys.executable, *BUILDS[backend]],
        cwd=project,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (project / "dist").iterdir()
    assert wheel.name == f"heat-1.0-{wheel_tag(['x86-64'])}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert "heat/kernels.whorl" in names
        tags = archive.read("heat-1.0.dist-info/WHEEL").decode()
        assert "Root-Is-Purelib: false" in tags
        archive.extractall(tmp_path / "site")
    answer = called(
        tmp_path / "site", tmp_path / "cache", WITHOUT_LLVM + PROGRAM, WHORL_REQUIRE_HIT="1"
    )
    *results, file_of_package = answer
    assert results == [[0.0, 0.25, 0.0, 0.25, 0.0], 0.25, 0.25, [0.5, 1.0, 2.0, 2.5]]
    assert file_of_package.startswith(str(tmp_path / "site"))
    own_tests = f"import os, pytest\nwords = ['-q', '-c', os.devnull, {str(project / 'tests')!r}]\n"
    own_tests += "print(int(pytest.main(words)))\n"
    code = called(
        tmp_path / "site", tmp_path / "cache", WITHOUT_LLVM + own_tests, WHORL_REQUIRE_HIT="1"
    )
    assert code == 0
