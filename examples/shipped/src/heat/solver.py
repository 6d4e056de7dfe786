"""The kernels, which are compiled for the types in pyproject.toml, and for others if need be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import whorl


@whorl.kernel
def diffuse(new: Any, old: Any, rate: float) -> None:
    """One step of the heat equation; the rim stays as it is."""
    rows, columns = old.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
            new[i, j] = old[i, j] + rate * (around - 4 * old[i, j])


@whorl.kernel
def largest(plate: Any) -> float:
    """The largest absolute value."""
    found = 0.0
    for i in range(plate.shape[0]):
        for j in range(plate.shape[1]):
            found = max(found, math.fabs(plate[i, j]))
    return found


@whorl.kernel
def smoothed(values: Any, width: int) -> Any:
    """The mean of the neighbours of each value, as a new array."""
    result = np.zeros(values.size)
    for i in range(values.size):
        begin, end = max(i - width, 0), min(i + width + 1, values.size)
        total = 0.0
        for j in range(begin, end):
            total += values[j]
        result[i] = total / (end - begin)
    return result
