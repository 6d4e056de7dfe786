"""How long a point of the plane takes to escape, for a picture of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Picture = npt.NDArray[np.int32]

LEFT, TOP, WIDTH, HEIGHT = -2.0, -1.25, 2.5, 2.5


@whorl.func
def escape(real: float, imaginary: float, most: int) -> int:
    x = y = 0.0
    for step in range(most):
        xx, yy = x * x, y * y
        if xx + yy > 4.0:
            return step
        x, y = xx - yy + real, 2.0 * x * y + imaginary
    return most


@whorl.kernel
def mandelbrot(most: int, out: Picture) -> None:
    rows, columns = out.shape
    for i in whorl.prange(rows):
        for j in range(columns):
            out[i, j] = escape(LEFT + WIDTH * j / columns, TOP + HEIGHT * i / rows, most)


def reference(most: int, out: Picture) -> Picture:
    rows, columns = out.shape
    real = LEFT + WIDTH * np.arange(columns)[None, :] / columns
    imaginary = TOP + HEIGHT * np.arange(rows)[:, None] / rows
    x = np.zeros(out.shape)
    y = np.zeros(out.shape)
    steps = np.full(out.shape, most, np.int32)
    for step in range(most):
        xx, yy = x * x, y * y
        steps[(xx + yy > 4.0) & (steps == most)] = step
        alive = steps == most
        x, y = np.where(alive, xx - yy + real, x), np.where(alive, 2.0 * x * y + imaginary, y)
    return steps


def problem(n: int) -> tuple[Any, ...]:
    return 100, np.empty((n, n), np.int32)
