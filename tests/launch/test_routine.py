"""The launcher comes from the store; what fails on the way costs speed and one warning."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import whorl
import whorl.testing
from tests.kernels.native_calls import is_native, needs_native
from tests.processes.programs import QUICK_IMPORTS, written
from whorl.errors import KernelError
from whorl.launch import failure, routine, shipped_images, stored_routine
from whorl.launch.mapped import Unmappable

pytestmark = needs_native


def doubled(n: int) -> int:
    return 2 * n


@pytest.mark.parametrize(
    ("module", "step", "error"),
    [
        (routine, "launcher_text", KernelError("this is not in the dialect", "")),
        (routine, "launcher_text", ImportError("no compiler here")),
        (stored_routine, "load_routine", Unmappable("this system lets nothing run")),
    ],
)
def test_a_launcher_that_cannot_be_had_costs_speed_and_one_warning(
    module: Any,
    step: str,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    def fails(*args: Any) -> Any:
        raise error

    monkeypatch.setattr(module, step, fails)
    monkeypatch.setattr(shipped_images, "IMAGES", str(tmp_path))  # none, whatever was built
    monkeypatch.setattr(routine, "_addresses", {})
    monkeypatch.setattr(failure, "_reasons", {})
    with whorl.testing.fresh_cache(), caplog.at_level(logging.WARNING, "whorl.launch"):
        for _ in range(2):
            kernel: Any = whorl.kernel(doubled)
            assert [kernel(n) for n in range(9)] == [2 * n for n in range(9)]
            assert not is_native(kernel)
        on, reason = routine.status()
    assert not on
    assert str(error).splitlines()[0] in reason
    assert [
        record.getMessage().startswith("kernels are launched in Python: ")
        for record in caplog.records
    ] == [True]


PROGRAM = """
import sys
import numpy, whorl
from whorl.launch.native_tables import native_classes

@whorl.kernel
def doubled(n):
    return 2 * n

for n in range(9):
    assert doubled(n) == 2 * n
native = type(doubled) is native_classes(whorl.NumericKernel).native
names = ("llvmlite", "whorl.kernels.systems_compiler", "whorl.kernels.lowering", "whorl.kernels.ir")
print(native, doubled.python_calls < 6, [name for name in names if name in sys.modules])
"""


def test_a_process_that_finds_the_launcher_imports_no_compiler(tmp_path: Path) -> None:
    script = written(tmp_path, {"program.py": PROGRAM}) / "program.py"
    cache = {"WHORL_CACHE_DIR": str(tmp_path / "cache")}
    answers = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, **QUICK_IMPORTS, **cache},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        answers.append(done.stdout)
    assert answers[0].startswith("True True ['llvmlite', 'whorl.kernels.")
    assert answers[1] == "True True []\n"
