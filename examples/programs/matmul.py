"""A matrix times a matrix, block by block, so that a block stays in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Matrix = npt.NDArray[np.float64]

BLOCK = 64


@whorl.kernel
def matmul(a: Matrix, b: Matrix, out: Matrix) -> None:
    rows, inner = a.shape
    columns = b.shape[1]
    for block in whorl.prange((rows + BLOCK - 1) // BLOCK):
        first = block * BLOCK
        last = min(first + BLOCK, rows)
        for i in range(first, last):
            for j in range(columns):
                out[i, j] = 0.0
        for k0 in range(0, inner, BLOCK):
            k1 = min(k0 + BLOCK, inner)
            for j0 in range(0, columns, BLOCK):
                j1 = min(j0 + BLOCK, columns)
                for i in range(first, last):
                    for k in range(k0, k1):
                        factor = a[i, k]
                        for j in range(j0, j1):
                            out[i, j] += factor * b[k, j]


def reference(a: Matrix, b: Matrix, out: Matrix) -> Matrix:
    return a @ b


def problem(n: int) -> tuple[Any, ...]:
    a, b = np.random.default_rng(4).random((2, n, n))
    return a, b, np.empty((n, n))
