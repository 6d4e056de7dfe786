"""A sparse matrix times a vector; the matrix lies in compressed rows, as in SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int32]

PER_ROW = 16


@whorl.kernel
def spmv(starts: Indices, columns: Indices, values: Vector, x: Vector, out: Vector) -> None:
    for row in whorl.prange(out.size):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total


def reference(starts: Indices, columns: Indices, values: Vector, x: Vector, out: Vector) -> Vector:
    rows = np.repeat(np.arange(out.size), np.diff(starts))
    expected = np.zeros_like(out)
    np.add.at(expected, rows, values * x[columns])
    return expected


def problem(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(3)
    counts = random.integers(PER_ROW // 2, 2 * PER_ROW - PER_ROW // 2, n)
    starts = np.zeros(n + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    columns = random.integers(0, n, starts[-1]).astype(np.int32)
    return starts, columns, random.random(starts[-1]), random.random(n), np.empty(n)
