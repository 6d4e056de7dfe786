"""Arrays put together, repeated, shifted and taken apart."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import atleast_1d, atleast_2d, atleast_3d, moveaxis
from .conditions import axis_of, refuse, require
from .library_function import LibraryFunction, row

__all__ = ["ROWS", "concatenate"]


def concatenate(arrays, axis=0, dtype=None):
    """Arrays one after the other along an axis."""
    axis = static(axis)
    every = _mapped(np.asarray, arrays)
    if axis is None:
        return _joined(_mapped(np.ravel, every), 0, dtype)
    return _joined(every, axis, dtype)


def _joined(arrays, axis, dtype):
    if len(arrays) == 0:
        refuse("there is no array to concatenate")
    first = arrays[0]
    if np.ndim(first) == 0:
        refuse("numbers cannot be concatenated", remedy="Write np.array([a, b]).")
    axis, ndim = axis_of(first, axis), first.ndim
    total = 0
    for each in arrays:
        if np.ndim(each) != ndim:
            refuse("arrays with {} and {} dimensions cannot be put together", ndim, np.ndim(each))
        for other in static(range(ndim)):
            if other != axis:
                require(each.shape[other] == first.shape[other], ValueError,
                        "arrays with {} and {} elements along axis {} cannot be put together",
                        first.shape[other], each.shape[other], other)  # fmt: skip
        total += each.shape[axis]
    kind = np.result_type(*arrays) if dtype is None else dtype
    result = np.empty((*first.shape[:axis], total, *first.shape[axis + 1 :]), kind)
    target = moveaxis(result, axis, 0)
    begin = 0
    for each in arrays:
        end = begin + each.shape[axis]
        target[begin:end] = moveaxis(each, axis, 0)
        begin = end
    return result


def _mapped(function, arrays):
    """A function of each array."""
    results = ()
    for each in arrays:
        results = (*results, function(each))
    return results


def stack(arrays, axis=0, dtype=None):
    """Arrays of one shape along a new axis."""
    if len(arrays) == 0:
        refuse("there is no array to stack")
    arrays = _mapped(np.asarray, arrays)
    ndim = np.ndim(arrays[0]) + 1
    place = static(axis)
    if not -ndim <= place < ndim:
        refuse("there is no axis {} of an array with {} dimensions", place, ndim)
    place = place % ndim
    if ndim == 1:
        return concatenate(_mapped(atleast_1d, arrays), 0, dtype)
    results = ()
    for each in arrays:
        results = (*results, np.expand_dims(each, place))
    return concatenate(results, place, dtype)


def hstack(tup, dtype=None):
    """Arrays beside each other: along the second axis, or the first of those with one."""
    parts = _mapped(atleast_1d, _mapped(np.asarray, tup))
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype)


def vstack(tup, dtype=None):
    """Arrays below each other: along the first axis."""
    return concatenate(_mapped(atleast_2d, _mapped(np.asarray, tup)), 0, dtype)


def dstack(tup):
    """Arrays behind each other: along the third axis."""
    return concatenate(_mapped(atleast_3d, _mapped(np.asarray, tup)), 2)


def column_stack(tup):
    """Arrays as the columns of a matrix."""
    columns = ()
    for each in tup:
        one = atleast_1d(np.asarray(each))
        columns = (*columns, one[:, np.newaxis] if one.ndim == 1 else one)
    return concatenate(columns, 1)


def block(arrays):
    """Arrays in a list beside each other, or in a list of lists as the blocks of a matrix."""
    if not isinstance(arrays[0], list):
        return concatenate(_mapped(atleast_1d, _mapped(np.asarray, arrays)), -1)
    rows = ()
    for line in arrays:
        rows = (*rows, concatenate(_mapped(atleast_2d, _mapped(np.asarray, line)), -1))
    return concatenate(rows, -2)


def resize(a, new_shape):
    """The elements in order in another shape, from the begin again where there are too few."""
    flat = np.ravel(a)
    result = np.empty(new_shape, a.dtype)
    target, n = np.ravel(result), flat.size
    if n == 0:
        result[...] = 0
    for i in range(target.size):
        if n > 0:
            target[i] = flat[i % n]
    return result


def append(arr, values, axis=None):
    """An array and more at its end; a new one, as NumPy's."""
    if static(axis) is None:
        return concatenate((np.ravel(atleast_1d(arr)), np.ravel(atleast_1d(values))), 0)
    return concatenate((arr, values), axis)


def roll(a, shift, axis=None):
    """The elements shifted around, along an axis or several, or in the order of all."""
    axis = static(axis)
    if axis is None:
        flat = np.ravel(a)
        return np.reshape(_rolled(flat, shift, 0), a.shape)
    if static(isinstance(axis, tuple)):
        for place in static(range(len(axis))):
            by = shift if np.ndim(shift) == 0 else shift[place]
            a = _rolled(a, by, axis[place])
        return a
    return _rolled(a, shift, axis)


def _rolled(a, shift, axis):
    place = axis_of(a, axis)
    source = moveaxis(a, place, 0)
    result = np.empty(a.shape, a.dtype)
    target = moveaxis(result, place, 0)
    length = a.shape[place]
    if length > 0:
        by = shift % length
        target[by:] = source[: length - by]
        target[:by] = source[length - by :]
    return result


def repeat(a, repeats, axis=None):
    """Each element, or each part along an axis, several times."""
    place = static(axis)
    source = np.ravel(atleast_1d(a)) if place is None else moveaxis(a, axis_of(a, place), 0)
    length = source.shape[0]
    if np.ndim(repeats) == 0:
        require(repeats >= 0, ValueError, "repeats may not contain negative values.")
        result = np.empty((length * repeats, *source.shape[1:]), source.dtype)
        for i in range(length):
            result[i * repeats : (i + 1) * repeats] = source[i]
    else:
        require(len(repeats) == length or len(repeats) == 1, ValueError,
                "{} repeats for {} elements", len(repeats), length)  # fmt: skip
        step = 0 if len(repeats) == 1 else 1
        total = 0
        for i in range(length):
            require(repeats[i * step] >= 0, ValueError, "repeats may not contain negative values.")
            total += int(repeats[i * step])
        result = np.empty((total, *source.shape[1:]), source.dtype)
        begin = 0
        for i in range(length):
            end = begin + int(repeats[i * step])
            result[begin:end] = source[i]
            begin = end
    if place is None:
        return result
    return moveaxis(result, 0, axis_of(a, place))


def tile(A, reps):
    """The array several times along each axis."""
    a = atleast_1d(A)
    counts = (reps,) if np.ndim(reps) == 0 else reps
    missing = len(counts) - a.ndim
    for _ in static(range(missing)):
        a = a[np.newaxis]
    for _ in static(range(-missing)):
        counts = (1, *counts)
    for axis in static(range(len(counts))):
        a = _tiled(a, counts[axis], axis)
    return a


def _tiled(a, count, axis):
    source = moveaxis(a, axis, 0)
    length = source.shape[0]
    times = max(int(count), 0)
    result = np.empty((*a.shape[:axis], length * times, *a.shape[axis + 1 :]), a.dtype)
    target = moveaxis(result, axis, 0)
    for i in range(times):
        target[i * length : (i + 1) * length] = source
    return result


def array_split(ary, indices_or_sections, axis=0):
    """Parts of an array along an axis, as equal as can be: views."""
    place = axis_of(ary, axis)
    source = moveaxis(ary, place, 0)
    length = source.shape[0]
    parts = ()
    cuts = static(indices_or_sections)
    if static(isinstance(cuts, (tuple, list))):
        begin = 0
        for cut in cuts:
            parts = (*parts, moveaxis(source[begin:cut], 0, place))
            begin = cut
        return (*parts, moveaxis(source[begin:], 0, place))
    if cuts <= 0:
        refuse("an array is split into 1 part or more, not {}", cuts)
    each, larger = length // cuts, length % cuts
    for i in static(range(cuts)):
        begin = i * each + min(i, larger)
        end = (i + 1) * each + min(i + 1, larger)
        parts = (*parts, moveaxis(source[begin:end], 0, place))
    return parts


def split(ary, indices_or_sections, axis=0):
    """Parts of an array along an axis, of one length: views."""
    if static(not isinstance(indices_or_sections, (tuple, list))):
        length = ary.shape[axis_of(ary, axis)]
        require(length % static(indices_or_sections) == 0, ValueError,
                "array split does not result in an equal division")  # fmt: skip
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """Parts of an array along its second axis, or the only one."""
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    """Parts of an array along its first axis."""
    return split(ary, indices_or_sections, 0)


_PARTS = "The number of parts, or the places of the cuts, are known at compile time; a tuple."
_OF_A_TUPLE = "Of a tuple or list of arrays that is written out."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(concatenate, limits=_OF_A_TUPLE),
    row(stack, limits=_OF_A_TUPLE),
    row(hstack, limits=_OF_A_TUPLE),
    row(vstack, limits=_OF_A_TUPLE),
    row(dstack, limits=_OF_A_TUPLE),
    row(column_stack, limits=_OF_A_TUPLE),
    row(append),
    row(block, limits="Of a list, or of a list of lists, that is written out."),
    row(resize),
    row(roll),
    row(repeat, method=True),
    row(tile),
    row(array_split, limits=_PARTS),
    row(split, limits=_PARTS),
    row(hsplit, limits=_PARTS),
    row(vsplit, limits=_PARTS),
)
