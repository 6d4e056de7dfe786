"""The pull of every body on every other one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Array = npt.NDArray[np.float64]

SOFTENING = 1e-3


@whorl.kernel
def forces(position: Array, mass: Array, out: Array) -> None:
    n = mass.size
    for i in whorl.prange(n):
        x, y, z = position[i, 0], position[i, 1], position[i, 2]
        ax = ay = az = 0.0
        for j in range(n):
            dx = position[j, 0] - x
            dy = position[j, 1] - y
            dz = position[j, 2] - z
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = mass[j] / (squared * math.sqrt(squared))
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        out[i, 0] = ax
        out[i, 1] = ay
        out[i, 2] = az


def reference(position: Array, mass: Array, out: Array) -> Array:
    apart = position[None, :, :] - position[:, None, :]
    squared = (apart**2).sum(axis=2) + SOFTENING
    pull = mass / (squared * np.sqrt(squared))
    total: Array = (pull[:, :, None] * apart).sum(axis=1)
    return total


def problem(n: int) -> tuple[Any, ...]:
    random = np.random.default_rng(2)
    return random.random((n, 3)), random.random(n), np.empty((n, 3))
