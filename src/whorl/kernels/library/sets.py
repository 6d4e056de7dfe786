"""Arrays as sets of numbers: what is in them once, and what two have in common."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def _is_new(ordered, i):
    """Whether an element of a sorted array is another one than that before it."""
    if i == 0:
        return True
    if ordered.dtype.kind == "f" and ordered[i] != ordered[i] and ordered[i - 1] != ordered[i - 1]:
        return False  # NaN counts as one number here
    return ordered[i] != ordered[i - 1]


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    """The different numbers in an array, in order."""
    flat = np.ravel(ar)
    if not static(return_index or return_inverse or return_counts):
        return _unique(np.sort(flat))
    places = np.argsort(flat)
    ordered = flat[places]
    values = _unique(ordered)
    first = np.empty(len(values), np.int64)
    inverse = np.empty(flat.size, np.int64)
    counts = np.zeros(len(values), np.int64)
    count = -1
    for i in range(flat.size):
        if _is_new(ordered, i):
            count += 1
            first[count] = places[i]
        inverse[places[i]] = count
        counts[count] += 1
    results = (values,)
    if static(return_index):
        results = (*results, first)
    if static(return_inverse):
        results = (*results, np.reshape(inverse, ar.shape))
    if static(return_counts):
        results = (*results, counts)
    return results


def _unique(ordered):
    count = 0
    for i in range(len(ordered)):
        if _is_new(ordered, i):
            count += 1
    result = np.empty(count, ordered.dtype)
    count = 0
    for i in range(len(ordered)):
        if _is_new(ordered, i):
            result[count] = ordered[i]
            count += 1
    return result


def union1d(ar1, ar2):
    """The different numbers of two arrays, in order."""
    return unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


def intersect1d(ar1, ar2):
    """The different numbers that are in both of two arrays, in order."""
    values = unique(ar1)
    return values[np.isin(values, ar2)]


def setdiff1d(ar1, ar2):
    """The different numbers that are in the first of two arrays and not in the second, in order."""
    values = unique(ar1)
    return values[np.isin(values, ar2, invert=True)]


def setxor1d(ar1, ar2):
    """The different numbers that are in one of two arrays and not in the other, in order."""
    one, other = setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)
    return np.sort(np.concatenate((one, other)))


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(
        unique,
        limits="Of all elements: no `axis`; what it returns beside them is known at compile time.",
    ),
    row(union1d),
    row(intersect1d, limits="No `return_indices` and `assume_unique`."),
    row(setdiff1d, limits="No `assume_unique`."),
    row(setxor1d, limits="No `assume_unique`."),
)
