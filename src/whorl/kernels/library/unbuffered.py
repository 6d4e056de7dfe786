"""`np.add.at` and its kind: an element that is named twice is changed twice."""

from __future__ import annotations

import numpy as np

from .conditions import refuse, require

__all__ = ["change_at", "change_at_pairs"]


def _wrapped(place, length):
    require(-length <= place < length, IndexError,
            "index {} is out of bounds for an axis of size {}", place, length)  # fmt: skip
    return place + length if place < 0 else place


def _changed(ufunc, old, value):
    return ufunc(old) if value is None else ufunc(old, value)


def change_at(ufunc, a, indices, b=None):
    """Change the elements, or rows, at some places, one after the other."""
    if np.ndim(indices) == 0:
        place = _wrapped(indices, a.shape[0])
        a[place] = _changed(ufunc, a[place], b)
        return
    flat = np.ravel(indices)
    places = np.flatnonzero(flat) if np.result_type(indices) == np.bool_ else flat
    is_one = b is None or np.ndim(b) == 0
    values = b if is_one or a.ndim > 1 else np.ravel(b)
    if not is_one:
        require(len(values) == places.size or len(values) == 1, ValueError,
                "{} values for {} places", len(values), places.size)  # fmt: skip
    for i in range(places.size):
        place = _wrapped(places[i], a.shape[0])
        if is_one:
            a[place] = _changed(ufunc, a[place], values)
        else:
            a[place] = _changed(ufunc, a[place], values[i if len(values) > 1 else 0])


def change_at_pairs(ufunc, a, rows, columns, b=None):
    """Change the elements at some rows and columns, one after the other."""
    if a.ndim != 2:
        refuse("two arrays of indices are for an array with two dimensions, not {}", a.ndim)
    i, j = np.ravel(rows), np.ravel(columns)
    require(i.size == j.size, IndexError,
            "shape mismatch: {} rows and {} columns", i.size, j.size)  # fmt: skip
    is_one = b is None or np.ndim(b) == 0
    values = b if is_one else np.ravel(b)
    for k in range(i.size):
        row, column = _wrapped(i[k], a.shape[0]), _wrapped(j[k], a.shape[1])
        if is_one:
            a[row, column] = _changed(ufunc, a[row, column], values)
        else:
            a[row, column] = _changed(ufunc, a[row, column], values[k])
