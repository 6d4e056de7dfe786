"""Elements that a condition or places select, and the places of such elements."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import atleast_1d, moveaxis
from .conditions import axis_of, refuse, require
from .library_function import LibraryFunction, method_row, row

__all__ = ["ROWS", "nonzero"]


def flatnonzero(a):
    """The places of the elements that are not zero, in the order of all elements."""
    flat = np.ravel(a)
    result = np.empty(np.count_nonzero(flat), np.int64)
    count = 0
    for i in range(flat.size):
        if flat[i]:
            result[count] = i
            count += 1
    return result


def nonzero(a):
    """The indices of the elements that are not zero: an array for each axis."""
    if np.ndim(a) == 0:
        refuse("np.nonzero of a number", remedy="Write x != 0.")
    flat = flatnonzero(a)
    return _unravelled(flat, a.shape)


def _unravelled(flat, shape):
    """Places in the order of all elements as indices, an array for each axis."""
    if len(shape) == 1:
        return (flat,)
    results, ndim = (), len(shape)
    below = 1
    for axis in static(range(ndim - 1, -1, -1)):
        indices = np.empty(flat.shape, np.int64)
        for i in range(len(flat)):
            indices[i] = flat[i] // below % shape[axis]
        results = (indices, *results)
        below = below * shape[axis]
    return results


def argwhere(a):
    """The indices of the elements that are not zero, as rows."""
    places, ndim = nonzero(a), a.ndim
    result = np.empty((len(places[0]), ndim), np.int64)
    for axis in static(range(ndim)):
        result[:, axis] = places[axis]
    return result


def unravel_index(indices, shape):
    """The indices of an element from its place in the order of all elements."""
    size = 1
    for extent in shape:
        size = size * extent
    if np.ndim(indices) == 0:
        require(0 <= indices < size, ValueError, "index {} is out of bounds for array with size {}",
                indices, size)  # fmt: skip
        results, ndim = (), len(shape)
        below = 1
        for axis in static(range(ndim - 1, -1, -1)):
            results = (np.int64(indices // below % shape[axis]), *results)
            below = below * shape[axis]
        return results
    for i in range(len(indices)):
        require(0 <= indices[i] < size, ValueError,
                "index {} is out of bounds for array with size {}", indices[i], size)  # fmt: skip
    return _unravelled(indices, shape)


def _wrapped(place, length, mode="raise"):
    if mode == "clip":
        return min(max(place, 0), length - 1)
    if mode == "wrap":
        return place % length
    require(-length <= place < length, IndexError,
            "index {} is out of bounds for axis 0 with size {}", place, length)  # fmt: skip
    return place + length if place < 0 else place


def take(a, indices, axis=None, *, mode="raise"):
    """The elements at some places, or the parts along an axis."""
    axis, mode = static(axis), static(mode)
    if mode not in ("raise", "clip", "wrap"):
        refuse("mode is 'raise', 'clip' or 'wrap', not {}", mode)
    source = np.ravel(a) if axis is None else moveaxis(a, axis_of(a, axis), 0)
    length = source.shape[0]
    if np.ndim(indices) == 0:
        return source[_wrapped(indices, length, mode)]
    places = np.ravel(indices)
    require(length > 0 or places.size == 0, IndexError,
            "cannot do a non-empty take from an empty axes.")  # fmt: skip
    result = np.empty((places.size, *source.shape[1:]), a.dtype)
    for i in range(places.size):
        result[i] = source[_wrapped(places[i], length, mode)]
    shaped = np.reshape(result, indices.shape + source.shape[1:])
    if axis is None or axis_of(a, axis) == 0:
        return shaped
    first, count = axis_of(a, axis), indices.ndim
    return moveaxis(shaped, static(tuple(range(count))), static(tuple(range(first, first + count))))


def put(a, ind, v):
    """Set the elements at some places, in the order of all elements."""
    places, values = np.ravel(atleast_1d(ind)), np.ravel(atleast_1d(v))
    size = a.size
    for i in range(places.size):
        place = _wrapped(places[i], size)
        if a.ndim == 1:
            a[place] = values[i % values.size]
        else:
            _put_one(a, place, values[i % values.size])


def _put_one(a, place, value):
    if a.ndim == 1:
        a[place] = value
    elif a.ndim == 2:
        a[place // a.shape[1], place % a.shape[1]] = value
    elif a.ndim == 3:
        rows = a.shape[1] * a.shape[2]
        a[place // rows, place // a.shape[2] % a.shape[1], place % a.shape[2]] = value
    else:
        refuse("np.put is for arrays with up to 3 dimensions")


def compress(condition, a, axis=None):
    """The elements, or parts along an axis, where a condition holds."""
    axis = static(axis)
    source = np.ravel(a) if axis is None else moveaxis(a, axis_of(a, axis), 0)
    count = 0
    for i in range(len(condition)):
        if condition[i]:
            require(i < source.shape[0], IndexError,
                    "index {} is out of bounds for axis 0 with size {}",
                    i, source.shape[0])  # fmt: skip
            count += 1
    result = np.empty((count, *source.shape[1:]), a.dtype)
    count = 0
    for i in range(len(condition)):
        if condition[i]:
            result[count] = source[i]
            count += 1
    if axis is None:
        return result
    return moveaxis(result, 0, axis_of(a, axis))


def _compressed(a, condition, axis=None):
    """The elements, or parts along an axis, where a condition holds."""
    return compress(condition, a, axis)


def extract(condition, arr):
    """The elements where a condition holds."""
    return compress(np.ravel(condition), arr)


def take_along_axis(arr, indices, axis=-1):
    """The elements whose places along an axis are given, as `np.argsort` gives them."""
    place = axis_of(arr, axis)
    if arr.ndim != indices.ndim:
        refuse("the array has {} dimensions and the indices have {}", arr.ndim, indices.ndim)
    source, places = moveaxis(arr, place, -1), moveaxis(indices, place, -1)
    result = np.empty(indices.shape, arr.dtype)
    target = moveaxis(result, place, -1)
    _take_rows(source, places, target)
    return result


def _take_rows(source, places, target):
    length = source.shape[-1]
    if source.ndim == 1:
        for i in range(places.shape[0]):
            target[i] = source[_wrapped(places[i], length)]
    elif source.ndim == 2:
        for i in range(places.shape[0]):
            for j in range(places.shape[1]):
                target[i, j] = source[i, _wrapped(places[i, j], length)]
    else:
        refuse("np.take_along_axis is for arrays with one or two dimensions")


def delete(arr, obj, axis=None):
    """The array without the elements at some places, or the parts along an axis."""
    axis = static(axis)
    source = np.ravel(arr) if axis is None else moveaxis(arr, axis_of(arr, axis), 0)
    length = source.shape[0]
    stays = np.ones(length, np.bool_)
    if np.ndim(obj) == 0:
        stays[_wrapped(obj, length)] = False
    else:
        for each in obj:
            stays[_wrapped(each, length)] = False
    result = compress(stays, source, 0)
    if axis is None:
        return result
    return moveaxis(result, 0, axis_of(arr, axis))


def insert(arr, obj, values, axis=None):
    """The array with a value, or a part along an axis, put in before a place."""
    axis = static(axis)
    source = np.ravel(arr) if axis is None else moveaxis(arr, axis_of(arr, axis), 0)
    length = source.shape[0]
    if np.ndim(obj) != 0:
        result = _with_several(source, np.asarray(obj), values)
        if axis is None:
            return result
        return moveaxis(result, 0, axis_of(arr, axis))
    require(-length <= obj <= length, IndexError,
            "index {} is out of bounds for axis 0 with size {}", obj, length)  # fmt: skip
    place = obj + length if obj < 0 else obj
    more = 1
    if np.ndim(values) == 1 and source.ndim == 1:
        more = len(values)
    result = np.empty((length + more, *source.shape[1:]), arr.dtype)
    result[:place] = source[:place]
    result[place : place + more] = values
    result[place + more :] = source[place:]
    if axis is None:
        return result
    return moveaxis(result, 0, axis_of(arr, axis))


def _with_several(source, places, values):
    """An array with more elements put in before several places."""
    length, more = source.shape[0], len(places)
    if np.ndim(values) > 0 and source.ndim != 1:
        refuse("np.insert at several places of an axis puts in a number")
    order = np.argsort(places)
    is_new = np.zeros(length + more, np.bool_)
    result = np.empty((length + more, *source.shape[1:]), source.dtype)
    for i in range(more):
        here = places[order[i]]
        require(-length <= here <= length, IndexError,
                "index {} is out of bounds for axis 0 with size {}", here, length)  # fmt: skip
        to = (here + length if here < 0 else here) + i
        is_new[to] = True
        result[to] = values if np.ndim(values) == 0 else values[order[i] % len(values)]
    count = 0
    for i in range(length + more):
        if not is_new[i]:
            result[i] = source[count]
            count += 1
    return result


def choose(a, choices):
    """From one of several arrays or numbers, whose number an array has, element by element."""
    n = len(choices)
    require(np.all((a >= 0) & (a < n)), ValueError, "invalid entry in choice array")
    result = np.where(a == n - 1, choices[n - 1], choices[n - 1])
    for i in static(range(n - 2, -1, -1)):
        result = np.where(a == i, choices[i], result)
    return result


def ix_(*args):
    """Places along each axis, so that together they index the product of all."""
    results, n = (), len(args)
    for axis in static(range(n)):
        places = np.flatnonzero(args[axis]) if args[axis].dtype == np.bool_ else args[axis]
        shape = ()
        for other in static(range(n)):
            shape = (*shape, len(places) if other == axis else 1)
        results = (*results, np.reshape(places, shape))
    return results


def trim_zeros(filt, trim="fb"):
    """The array with one dimension without zeros at its ends: a view."""
    begin, end = 0, len(filt)
    if static("f" in trim.lower()):
        while begin < end and filt[begin] == 0:
            begin += 1
    if static("b" in trim.lower()):
        while end > begin and filt[end - 1] == 0:
            end -= 1
    return filt[begin:end]


def select(condlist, choicelist, default=0):
    """From the first list of arrays whose condition holds, element by element."""
    if len(condlist) != len(choicelist) or len(condlist) == 0:
        refuse("np.select takes as many conditions as choices, and one or more")
    result, n = np.where(condlist[-1], choicelist[-1], default), len(condlist)
    for i in static(range(n - 2, -1, -1)):
        result = np.where(condlist[i], choicelist[i], result)
    return result


def isin(element, test_elements, invert=False):
    """Whether each element is one of some others."""
    invert = static(invert)
    if np.ndim(element) == 0:
        return _is_in(np.sort(np.ravel(atleast_1d(test_elements))), element) != invert
    ordered = np.sort(np.ravel(atleast_1d(test_elements)))
    flat = np.ravel(element)
    result = np.empty(flat.size, np.bool_)
    for i in range(flat.size):
        result[i] = _is_in(ordered, flat[i]) != invert
    return np.reshape(result, element.shape)


def _is_in(ordered, number):
    place = np.searchsorted(ordered, number)
    return place < len(ordered) and ordered[min(place, len(ordered) - 1)] == number


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(flatnonzero),
    row(nonzero, method=True),
    row(argwhere),
    row(unravel_index, limits="No `order`."),
    row(take, method=True, limits="`mode` by its name; no `out`."),
    row(put, method=True, limits="No `mode`; up to 3 dimensions."),
    row(compress),
    method_row(_compressed, "compress"),
    row(extract),
    row(take_along_axis, limits="One or two dimensions."),
    row(delete, limits="Places as an int, or as an array or tuple of ints."),
    row(insert, limits="At several places: numbers."),
    row(choose, limits="Of a list that is written out; no `mode`."),
    row(ix_),
    row(trim_zeros, limits="One dimension."),
    row(select, limits="Of lists that are written out."),
    row(isin, limits="No `assume_unique` and `kind`."),
)
