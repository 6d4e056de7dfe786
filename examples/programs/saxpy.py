"""a * x + y: one pass over two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Vector = npt.NDArray[np.float32]


@whorl.kernel
def saxpy(a: np.float32, x: Vector, y: Vector, out: Vector) -> None:
    for i in whorl.prange(x.size):
        out[i] = a * x[i] + y[i]


def reference(a: np.float32, x: Vector, y: Vector, out: Vector) -> Vector:
    return a * x + y


def problem(n: int) -> tuple[Any, ...]:
    x, y = np.random.default_rng(0).random((2, n), np.float32)
    return np.float32(2.5), x, y, np.empty_like(x)
