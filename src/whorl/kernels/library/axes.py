"""Axes in another order or direction, added or dropped: views, as NumPy's are."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .conditions import axis_of, refuse, require
from .library_function import LibraryFunction, row

__all__ = ["ROWS", "every_axis", "moveaxis"]


def every_axis(axis, ndim):
    """Axes from the front, of an int, a tuple or None for all; a wrong one stays what it is.

    >>> every_axis((-1, 0), 3), every_axis(None, 2)
    ((2, 0), (0, 1))
    """
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(each % ndim if -ndim <= each < ndim else each for each in axes)


def as_rows(a):
    """A contiguous array as a matrix whose rows go along its last axis.

    >>> as_rows(np.zeros((2, 3, 4))).shape
    (6, 4)
    """
    count = 1
    for extent in a.shape[:-1]:
        count = count * extent
    return np.reshape(a, (count, a.shape[-1]))


def _moved(ndim, source, destination):
    """The order of axes after some were moved; () if that cannot be."""
    source, destination = every_axis(source, ndim), every_axis(destination, ndim)
    if len(source) != len(destination):
        return ()
    order = [axis for axis in range(ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        order = [*order[:to], axis, *order[to:]]
    return tuple(order)


def moveaxis(a, source, destination):
    """The array with an axis, or several, at another place."""
    ndim = a.ndim
    order = static(_moved(ndim, source, destination))
    if static(sorted(order) != list(range(ndim))):
        refuse("axes {} cannot be moved to {} in an array with {} dimensions",
               source, destination, ndim)  # fmt: skip
    return np.transpose(a, order)


def rollaxis(a, axis, start=0):
    """The array with an axis moved before another."""
    axis = axis_of(a, axis)
    start = static(start)
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def flip(m, axis=None):
    """The array in the other direction, along all axes or some."""
    ndim = m.ndim
    axis = static(axis)
    for each in static(every_axis(axis, ndim)):
        place = axis_of(m, each)
        m = moveaxis(moveaxis(m, place, 0)[::-1], 0, place)
    return m


def fliplr(m):
    """The array with its columns in reverse."""
    if m.ndim < 2:
        refuse("np.fliplr needs an array with 2 dimensions or more")
    return m[:, ::-1]


def flipud(m):
    """The array with its rows in reverse."""
    if m.ndim < 1:
        refuse("np.flipud needs an array with a dimension or more")
    return m[::-1]


def rot90(m, k=1, axes=(0, 1)):
    """The array turned by 90 degrees, k times."""
    first, second = static(every_axis(axes, m.ndim))
    first, second = axis_of(m, first), axis_of(m, second)
    if first == second:
        refuse("the axes of np.rot90 are two different ones")
    turns = static(k % 4)
    if turns == 0:
        return m
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return np.swapaxes(flip(m, second), first, second)
    return flip(np.swapaxes(m, first, second), second)


def expand_dims(a, axis):
    """The array with a new axis of length 1, or several."""
    wanted = static(axis if isinstance(axis, tuple) else (axis,))
    ndim = a.ndim + len(wanted)
    for each in static(sorted(every_axis(wanted, ndim))):
        if not 0 <= each < ndim:
            refuse("there is no axis {} of an array with {} dimensions", each, ndim)
        a = moveaxis(a[np.newaxis], 0, each)
    return a


def squeeze(a, axis):
    """The array without axes of length 1."""
    ndim = a.ndim
    for each in static(sorted(every_axis(axis, ndim), reverse=True)):
        place = axis_of(a, each)
        require(a.shape[place] == 1, ValueError, "axis {} has {} elements, not 1",
                place, a.shape[place])  # fmt: skip
        a = moveaxis(a, place, 0)[0]
    return a


def atleast_1d(a):
    """The array with one dimension or more."""
    if np.ndim(a) == 0:
        return np.full(1, a)
    return a


def atleast_2d(a):
    """The array with two dimensions or more."""
    if np.ndim(a) == 0:
        return np.full((1, 1), a)
    if a.ndim == 1:
        return a[np.newaxis, :]
    return a


def atleast_3d(a):
    """The array with three dimensions or more."""
    if np.ndim(a) == 0:
        return np.full((1, 1, 1), a)
    if a.ndim == 1:
        return a[np.newaxis, :, np.newaxis]
    if a.ndim == 2:
        return a[:, :, np.newaxis]
    return a


_ONE_ARRAY = "One array at a time."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(moveaxis),
    row(rollaxis),
    row(flip),
    row(fliplr),
    row(flipud),
    row(rot90, limits="`k` is known at compile time."),
    row(expand_dims),
    row(squeeze, method=True, limits="`axis` has to be given: which lengths are 1 is not known."),
    row(atleast_1d, limits=_ONE_ARRAY),
    row(atleast_2d, limits=_ONE_ARRAY),
    row(atleast_3d, limits=_ONE_ARRAY),
)
