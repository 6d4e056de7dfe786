"""What identifies the tools behind a compiler that says nothing itself, by where it is from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = """
class Compiler:
    name, version, settings = "quiet", "1", ()
"""

ASK = """
import sys
from whorl.jit.compiler import toolchain_of
from {module} import Compiler

before = "importlib.metadata" in sys.modules
print(toolchain_of(Compiler()))
print("looked" if "importlib.metadata" in sys.modules and not before else "did not look")
"""


def told(directory: Path, module: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", ASK.format(module=module)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def installed(directory: Path, name: str, record: str, *, version: str = "1.2") -> None:
    home = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    home.mkdir(parents=True)
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (home / "RECORD").write_text(record)


@pytest.mark.parametrize("file", ["quiet.py", "quiet/__init__.py"])
def test_of_a_checkout_nothing_is_looked_for(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(COMPILER)
    assert told(tmp_path, "quiet") == ["", "did not look"]


@pytest.mark.parametrize("name", ["quiet", "python-quiet"])
def test_a_compiler_that_is_installed_is_known_by_its_distribution(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "quiet.py").write_text(COMPILER)
    installed(tmp_path, name, "quiet.py,sha256=abc,50\n")
    (first, _) = told(tmp_path, "quiet")
    assert first.startswith(f"{name} 1.2 ")
    (record,) = tmp_path.glob("*.dist-info/RECORD")
    record.write_text("quiet.py,sha256=abd,50\n")
    (second, _) = told(tmp_path, "quiet")
    assert second.startswith(f"{name} 1.2 ")
    assert first != second


def test_a_compiler_in_a_namespace_is_known_by_its_distributions(tmp_path: Path) -> None:
    (tmp_path / "shared" / "quiet").mkdir(parents=True)
    (tmp_path / "shared" / "quiet" / "__init__.py").write_text(COMPILER)
    installed(tmp_path, "shared-quiet", "shared/quiet/__init__.py,sha256=abc,50\n")
    (found, _) = told(tmp_path, "shared.quiet")
    assert found.startswith("shared-quiet 1.2 ")


def test_a_program_that_is_its_own_compiler_is_of_no_distribution(tmp_path: Path) -> None:
    text = COMPILER + ASK.replace("from {module} import Compiler", "")
    (tmp_path / "program.py").write_text(text)
    run = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == ["", "did not look"]


def test_a_distribution_that_is_found_under_no_name_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(COMPILER)
    installed(tmp_path, "python_quiet", "quiet.py,sha256=abc,50\n")
    (home,) = tmp_path.glob("*.dist-info")
    home.rename(tmp_path / "python-quiet-1.2.dist-info")  # as no installer names it
    assert told(tmp_path, "quiet")[0] == ""
