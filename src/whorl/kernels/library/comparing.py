"""Whether numbers and arrays are equal, or close to each other."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether two numbers differ by less than a tolerance."""
    x, y = a * 1.0, b * 1.0
    if np.isfinite(y):
        is_close = abs(x - y) <= atol + rtol * abs(y)
    else:
        is_close = x == y
    if static(equal_nan):
        return is_close or (x != x and y != y)
    return is_close


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all numbers of two arrays differ by less than a tolerance."""
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have the same shape and the same elements."""
    if np.ndim(a1) != np.ndim(a2):
        return False
    if np.ndim(a1) == 0:
        return bool(a1 == a2) or (static(equal_nan) and bool(a1 != a1) and bool(a2 != a2))
    ndim = np.ndim(a1)
    for axis in static(range(ndim)):
        if a1.shape[axis] != a2.shape[axis]:
            return False
    if static(equal_nan):
        return bool(np.all((a1 == a2) | ((a1 != a1) & (a2 != a2))))
    return bool(np.all(a1 == a2))


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(isclose, elementwise=True),
    row(allclose),
    row(array_equal),
)
