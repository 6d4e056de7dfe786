"""Kernels are called from C: the numbers are those of Python, and failed checks have messages."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.native_calls import needs_native

pytestmark = [
    needs_native,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]

KERNELS = """
import math
from dataclasses import dataclass
from typing import Annotated, Any
import numpy as np
import whorl


@dataclass
class Grid:
    values: Annotated[Any, "f32[:, :]"]
    n: int


@whorl.kernel
def total(new, scale, flag):
    s = 0.0
    for i in range(new.shape[0]):
        for j in range(new.shape[1]):
            s += new[i, j] * scale
            new[i, j] = i - j
    if flag:
        s = -s
    return s, new.shape[0]


@whorl.kernel
def ratio(a, b):
    if b == 0:
        raise ZeroDivisionError("b is zero")
    return math.sin(a) / b


@whorl.kernel
def small(x, n):
    for i in range(x.size):
        x[i] += n


@whorl.kernel
def made(n):
    return np.zeros(n)
"""
PROGRAM = """
#include "loops.h"
#include <stdio.h>
#include <string.h>

int main(void) {
    double new[6] = {1, 2, 3, 4, 5, 6}, s, q;
    int64_t rows;
    int status = total(new, 2, 3, 0.5, true, &s, &rows);
    printf("%d %g %ld %g %g\\n", status, s, (long)rows, new[1], new[5]);
    status = ratio(0.5, 2.0, &q);
    printf("%d %.17g\\n", status, q);
    status = ratio(0.5, 0.0, &q);
    printf("%d %s\\n", status != 0, loops_message("ratio", status));
    uint8_t bytes[8] = {1, 0, 2, 0, 3, 0, 250, 0};
    status = add_small(bytes, 4, 2, 10);
    printf("%d %d %d %d %d\\n", status, bytes[0], bytes[1], bytes[4], bytes[6]);
    return 0;
}
"""
WANTED = (
    "loops:total(f64[:, ::1], f64, bool)",
    "loops:ratio(f64, f64)",
    "loops:small(u8[:], u8) as add_small",
)


def export(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "whorl", "export", *arguments],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "loops.py").write_text(KERNELS)
    return tmp_path


def test_functions_are_called_from_c(place: Path) -> None:
    words = [word for each in WANTED for word in ("--kernel", each)]
    done = export(place, "loops", "--c", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote loops.h and libloops.so: total, ratio, add_small\n"
    (place / "main.c").write_text(PROGRAM)
    words = ["-Wall", "-Werror", "main.c", "-L.", "-lloops", "-Wl,-rpath,.", "-o", "main"]
    subprocess.run(["cc", *words], cwd=place, check=True)
    ran = subprocess.run(["./main"], cwd=place, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "0 -10.5 2 -1 -1",
        f"0 {math.sin(0.5) / 2:.17g}",
        '1 ZeroDivisionError: b is zero (at loops.py:30: `raise ZeroDivisionError("b is zero")`)',
        "0 11 0 13 4",
    ]
    again = export(place, "loops", "--c", "--kernel", WANTED[0])
    assert (again.returncode, "exists already; --force" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--c"], 2, "--c needs a kernel"),
        (["--kernel", "loops:small(u8[:], u8)"], 2, "are for --c"),
        (["--c", "--kernel", "loops"], 1, "write module:kernel(types)"),
        (["--c", "--kernel", "loops:made(i64)"], 1, "it returns arrays"),
        (["--c", "--kernel", "loops:gone(i64)"], 1, "there is no gone in loops"),
        (["--c", "--kernel", "loops:small(u8[:], u9)"], 1, "is no type of an argument"),
        (["--c", "--target", "x86-64-v9", "--kernel", "a:b(i64)"], 2, "x86-64-v9"),
    ],
)
def test_what_cannot_be_exported_is_said(
    place: Path, arguments: list[str], code: int, message: str
) -> None:
    done = export(place, "loops", *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "loops.h").exists()
