"""Heat on a plate: each point moves towards the mean of its four neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Plate = npt.NDArray[np.float64]


@whorl.kernel
def stencil(u: Plate, rate: float, out: Plate) -> None:
    rows, columns = u.shape
    for i in whorl.prange(1, rows - 1):
        for j in range(1, columns - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            out[i, j] = u[i, j] + rate * (around - 4.0 * u[i, j])


def reference(u: Plate, rate: float, out: Plate) -> Plate:
    expected = out.copy()  # the edge stays
    middle = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    expected[1:-1, 1:-1] = middle + rate * (around - 4.0 * middle)
    return expected


def problem(n: int) -> tuple[Any, ...]:
    u = np.random.default_rng(1).random((n, n))
    return u, 0.2, np.zeros_like(u)
