"""Type checkers see a kernel with the signature of its function."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes.programs import ROOT

PROGRAM = """
from typing import Any
import numpy as np
import whorl


@whorl.kernel
def scaled(x: np.ndarray[Any, Any], factor: float, *, n: int = 3) -> float:
    return float(x[0] * factor * n)


@whorl.kernel(debug=True)
def half(n: int) -> int:
    return n // 2


class Solver:
    @whorl.kernel
    def step(self, dt: float) -> float:
        return dt

    @whorl.kernel
    @staticmethod
    def double(n: int) -> int:
        return 2 * n


x = np.ones(3)
reveal_type(scaled(x, 2.0))  # float
reveal_type(half(3))  # int
reveal_type(Solver().step(0.5))  # float
reveal_type(Solver.double(3))  # int
reveal_type(half.interpret(3))  # int
reveal_type(scaled.compile("f64[::1]", "f64").architecture)  # str
scaled(x)  # error
scaled(x, "2")  # error
scaled(x, 2.0, m=3)  # error
half("3")  # error
Solver().step("3")  # error
Solver().step()  # error
Solver().step.resume(from_checkpoint=1)
scaled.specialize(x, 2.0)
"""


def expected() -> tuple[dict[int, str], set[int]]:
    """The types that lines have, and the lines that are wrong."""
    types, wrong = {}, set()
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        _, mark, note = line.partition("  # ")
        if mark and note == "error":
            wrong.add(number)
        elif mark:
            types[number] = note
    return types, wrong


def check(messages: list[tuple[int, str, str]]) -> None:
    """See that lines have their types, and that exactly the wrong ones are errors."""
    types, wrong = expected()
    revealed = {line: text for line, kind, text in messages if kind != "error"}
    for line, name in types.items():
        assert re.search(rf'"(builtins\.)?{name}"$', revealed[line]), revealed[line]
    assert {line for line, kind, _ in messages if kind == "error"} == wrong


def test_mypy_sees_the_signature(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    cache = str(ROOT / ".mypy_cache")
    words = ["--config-file=", "--no-error-summary", "--cache-dir", cache, "program.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
    )  # fmt: skip
    assert not done.stderr, done.stderr
    rows = re.findall(r"^program\.py:(\d+): (error|note): (.*)$", done.stdout, re.MULTILINE)
    rows = [row for row in rows if row[1] == "error" or "Revealed" in row[2]]
    check([(int(line), kind, text) for line, kind, text in rows])


def test_pyright_sees_the_signature(tmp_path: Path) -> None:
    here = str(Path(sys.executable).parent)
    pyright = shutil.which("pyright", path=here) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}))
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "program.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    rows = json.loads(done.stdout)["generalDiagnostics"]
    check([(row["range"]["start"]["line"] + 1, row["severity"], row["message"]) for row in rows])
