"""After each edit of a program, `whorl why` names the edit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes.kernel_edits import CASES
from tests.processes.programs import QUICK_IMPORTS, ROOT

# A case of the edit matrix, and what is said of it: the cause, the end of the path, old and new.
READ, CODE = "a read differs", "its code was edited"
NAMED: list[tuple[str, str, str, str, str]] = [
    ("the kernel", CODE, "code", "", ""),
    ("the annotation of a local", CODE, "code", "", ""),
    ("a global", READ, ".SCALE", "2.0", "3.0"),
    ("a global's type", READ, ".SCALE", "2", "2.0"),
    ("a global that was a builtin", READ, ".abs", "builtins.abs", ".main.abs"),
    ("an imported name", READ, ".TILE", "16", "8"),
    ("a module attribute", READ, ".config.TILE", "16", "8"),
    ("an entry of a dict", READ, ".TABLE['low']", "1", "9"),
    ("the length of a tuple", READ, ".WEIGHTS", "2", "3"),
    ("a NumPy scalar", READ, ".SCALE", "float64(2.0)", "float64(3.0)"),
    ("the dtype of a global array", READ, ".DATA", "<f8", "<i4"),
    ("zero and minus zero", READ, ".ZERO", "0.0", "-0.0"),
    ("which enum member", READ, "arg:mode", "Mode.FAST", "Mode.SLOW"),
    ("a class attribute in static", READ, "arg:self.gravity", "1.0", "2.0"),
    ("a method that is overridden now", READ, "arg:self.force", "code", "code"),
    ("a property in static", READ, "arg:self.much", "8", "12"),
    ("the dimensions of a read member", READ, "arg:self.x", "1 dimension", "2 dimensions"),
    ("a member that was None", READ, "arg:self.x", "NoneType", "array of <f8"),
    ("a member that was absent", READ, "arg:self.extra", "False", "True"),
    ("a parameter's annotation", READ, ".annotation('n')", "'float'", "'int'"),
    ("which branch static takes", READ, ".FLAG", "True", "False"),
    ("a helper two modules away", READ, ".far.far", "code", "code"),
    ("a global two modules away", READ, ".far.SCALE", "2", "3"),
    ("a helper's default", READ, ".helper.default('by')", "2", "3"),
    ("what a kernel closes over", READ, ".cell('scale')", "2", "3"),
    ("an argument of a partial", READ, ".helper.args[0]", "2", "3"),
    ("a lambda", READ, ".helper", "code", "code"),
    ("debug", READ, "target:debug", "False", "True"),
    ("nogil", READ, "compiler:nogil", "False", "True"),
]

RUNNER = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"{name}.main")
"""


def why(cache: Path) -> list[dict[str, Any]]:
    words = ["why", "--json", "--limit", "0", "--cache-dir", str(cache)]
    done = subprocess.run(
        [sys.executable, "-m", "whorl", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def misses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What was missed after the edits, by the package of the program."""
    base = tmp_path_factory.mktemp("edits")
    names = {row[0] for row in NAMED}
    cases = [case for case in CASES if case.what in names]
    assert len(cases) == len(NAMED)
    before = 0
    for folder, is_edited in ((base / "old", False), (base / "new", True)):
        for case in cases:
            case.write(folder, is_edited=is_edited)
        environment = {
            **os.environ, **QUICK_IMPORTS, "WHORL_CACHE_DIR": str(base / "cache"),
            "PYTHONPATH": str(folder),
        }  # fmt: skip
        words = [sys.executable, "-c", RUNNER, *(case.package for case in cases)]
        subprocess.run(words, env=environment, cwd=folder, check=True, timeout=120)
        if not is_edited:
            first = why(base / "cache")
            before = len(first)
            assert {miss["cause"] for miss in first} <= {"first compile", READ}
    found: dict[str, list[dict[str, Any]]] = {}
    for miss in why(base / "cache")[before:]:
        found.setdefault(miss["program"].partition(".")[0], []).append(miss)
    return found


@pytest.mark.parametrize("row", NAMED, ids=[row[0] for row in NAMED])
def test_why_names_the_edit(
    misses: dict[str, list[dict[str, Any]]], row: tuple[str, str, str, str, str]
) -> None:
    what, cause, path, old, new = row
    case = next(case for case in CASES if case.what == what)
    told = misses[case.package]
    assert {miss["cause"] for miss in told} == {cause}
    differences = [each for miss in told for each in miss["differences"]]
    named = [each for each in differences if each["path"].endswith(path)]
    assert named
    assert all(old in each["old"] and new in each["new"] for each in named)
    assert path.startswith("compiler:") or any(each["line"] for each in differences)
