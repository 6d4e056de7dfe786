"""Kernels with statements over arrays are found by a second process, and compiled after an edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.processes.programs import printed, written

PROGRAM = """
import json

import numpy as np

import whorl

SCALE = {scale}


@whorl.kernel
def smooth(a, b):
    b[1:-1] = (a[:-2] + a[1:-1] * SCALE + a[2:]) / 3
    a += b[::-1]


a, b = np.arange(6.0) ** 2, np.zeros(6)
smooth(a, b)
try:
    smooth(a, np.zeros(4))
    error = ""
except ValueError as caught:
    error = str(caught)
print(json.dumps([a.tolist(), b.tolist(), error, smooth.stats().get("compiled", 0)]))
"""


def run(folder: Path, scale: float) -> Any:
    program = written(folder, {"program.py": PROGRAM.format(scale=scale)}) / "program.py"
    return printed(program, environment={"WHORL_CACHE_DIR": str(folder / "cache")})


def test_a_second_process_finds_the_kernel_and_an_edited_constant_compiles_it(
    tmp_path: Path,
) -> None:
    first, second, edited = run(tmp_path, 1.0), run(tmp_path, 1.0), run(tmp_path, 2.0)
    assert first[-1] == 1
    assert second == [*first[:-1], 0]
    assert edited[-1] == 1
    assert first[1] == [0, 5 / 3, 14 / 3, 29 / 3, 50 / 3, 0]
    assert edited[1] == [0, 2, 6, 38 / 3, 22, 0]
    assert first[2].startswith("an array of shape (4,) does not fit into shape (2,) in `b[1:-1] = ")
