"""Sorted arrays, and places in sorted arrays.

Values are sorted by a quicksort, places by a merge sort, which is stable. NaN comes last. Runs of
16 elements are sorted by insertion.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import as_rows, moveaxis
from .conditions import axis_of, refuse, require, require_ndim
from .library_function import LibraryFunction, method_row, row

__all__ = ["ROWS", "SUBROUTINES", "argsort", "searchsorted", "sort"]

_RUN: Final = 16


def _is_before(a, b, has_nan):
    """Whether one number comes before another; NaN comes after all others."""
    if has_nan:
        return a < b or (a == a and b != b)
    return a < b


def _insert(a, low, high):
    """Sort a few elements by insertion."""
    for i in range(low + 1, high + 1):
        x = a[i]
        j = i
        while j > low and x < a[j - 1]:
            a[j] = a[j - 1]
            j -= 1
        a[j] = x


def _sift(a, begin, n):
    """Let an element of a heap sink to its place."""
    x, parent = a[begin], begin
    child = 2 * begin + 1
    while child < n:
        if child + 1 < n and a[child] < a[child + 1]:
            child += 1
        if x < a[child]:
            a[parent] = a[child]
            parent = child
            child = 2 * parent + 1
        else:
            child = n
    a[parent] = x


def _sort_heap(a):
    """Sort without NaN, in no more than n log n steps whatever the order was."""
    n = a.shape[0]
    for i in range(n // 2):
        _sift(a, n // 2 - 1 - i, n)
    for i in range(1, n):
        x = a[n - i]
        a[n - i] = a[0]
        a[0] = x
        _sift(a, 0, n - i)


def _parts(a, low, high):
    """Split a part of an array by a pivot: where the smaller elements end, the larger begin."""
    first, middle, last = a[low], a[(low + high) // 2], a[high]
    pivot = max(min(first, middle), min(max(first, middle), last))
    i, j = low, high
    while i <= j:
        while a[i] < pivot:
            i += 1
        while pivot < a[j]:
            j -= 1
        if i <= j:
            x = a[i]
            a[i] = a[j]
            a[j] = x
            i += 1
            j -= 1
    return j, i


def _sort_run(a):
    """Sort an array with one dimension in place: a quicksort, a heap where that goes badly."""
    n = a.shape[0]
    if a.dtype.kind == "f":  # NaN to the end, so that the others need no test for it
        count = 0
        for i in range(n):
            if a[i] == a[i]:
                a[count] = a[i]
                count += 1
        for i in range(count, n):
            a[i] = np.nan
        n = count
    waiting = np.empty(128, np.int64)  # the larger part waits: no more than 64 of them
    top, low, high, steps = 0, 0, n - 1, 0
    is_done = n < 2
    while not is_done:
        if high - low < _RUN or steps > 100 * n:
            if high - low < _RUN:
                _insert(a, low, high)
            else:
                _sort_heap(a[low : high + 1])
            if top == 0:
                is_done = True
            else:
                top -= 2
                low, high = int(waiting[top]), int(waiting[top + 1])
        else:
            steps += high - low
            end, begin = _parts(a, low, high)
            if end - low < high - begin:
                waiting[top] = begin
                waiting[top + 1] = high
                high = end
            else:
                waiting[top] = low
                waiting[top + 1] = end
                low = begin
            top += 2


def _sort_places(a, places, spare):
    """Sort the places of elements by the elements."""
    n = places.shape[0]
    if a.dtype.kind == "f":  # those of NaN to the end, in their order
        count, others = 0, 0
        for i in range(n):
            place = places[i]
            if a[place] == a[place]:
                places[count] = place
                count += 1
            else:
                spare[others] = place
                others += 1
        for i in range(others):
            places[count + i] = spare[i]
        n = count
    for begin in range(0, n, _RUN):
        for i in range(begin + 1, min(begin + _RUN, n)):
            place = places[i]
            x = a[place]
            j = i
            while j > begin and x < a[places[j - 1]]:
                places[j] = places[j - 1]
                j -= 1
            places[j] = place
    width = _RUN
    while width < n:
        for begin in range(0, n - width, 2 * width):
            middle = begin + width
            end = min(middle + width, n)
            if a[places[middle]] < a[places[middle - 1]]:
                for i in range(width):
                    spare[i] = places[begin + i]
                i, j, k = 0, middle, begin
                while i < width and j < end:
                    first, second = spare[i], places[j]
                    is_second = a[second] < a[first]
                    places[k] = second if is_second else first
                    i += 1 - int(is_second)
                    j += int(is_second)
                    k += 1
                while i < width:
                    places[k] = spare[i]
                    i += 1
                    k += 1
        width *= 2


def put_in_place(a, k):
    """Move the element that is at a place in order there: smaller ones before it, larger after."""
    low, high, steps = 0, a.shape[0] - 1, 0
    while low < high:
        steps += high - low
        if steps > 100 * a.shape[0]:
            _sort_heap(a[low : high + 1])
            high = low
        else:
            end, begin = _parts(a, low, high)
            if k <= end:
                high = end
            elif k >= begin:
                low = begin
            else:
                high = low


def _sort_rows(rows):
    """Sort each row of a matrix in place."""
    _refuse_complex(rows)
    for i in range(rows.shape[0]):
        _sort_run(rows[i])


def sort(a, axis=-1, kind=None):
    """A sorted copy."""
    axis = static(axis)
    if axis is None:
        flat = np.ravel(a).copy()
        _sort_rows(np.reshape(flat, (1, flat.size)))
        return flat
    place = axis_of(a, axis)
    source = moveaxis(a, place, -1)
    result = np.empty(source.shape, a.dtype)
    result[...] = source
    _sort_rows(as_rows(result))
    return moveaxis(result, -1, place)


def sort_in_place(a, axis=-1, kind=None):
    """Sort the array itself."""
    a[...] = sort(a, axis)


def argsort(a, axis=-1, kind=None, stable=None):
    """The places of the elements in their order."""
    axis = static(axis)
    if axis is None:
        return _places(np.reshape(np.ravel(a), (1, a.size)))[0]
    place = axis_of(a, axis)
    source = np.ascontiguousarray(moveaxis(a, place, -1))
    return moveaxis(np.reshape(_places(as_rows(source)), source.shape), -1, place)


def _refuse_complex(a):
    if a.dtype.kind == "c":
        refuse("complex numbers are not sorted in kernels", remedy="Sort x.real, or abs(x).")


def _places(rows):
    _refuse_complex(rows)
    result = np.empty(rows.shape, np.int64)
    spare = np.empty(rows.shape[1], np.int64)
    for i in range(rows.shape[0]):
        places = result[i]
        for j in range(rows.shape[1]):
            places[j] = j
        _sort_places(rows[i], places, spare)
    return result


def partition(a, kth, axis=-1):
    """A copy with the element at `kth` where it is in order; all others are in order too."""
    _check_places(a, kth, axis)
    return sort(a, axis)


def argpartition(a, kth, axis=-1):
    """The places of the elements that `np.partition` gives."""
    _check_places(a, kth, axis)
    return argsort(a, axis)


def _check_places(a, kth, axis):
    length = a.size if static(axis) is None else a.shape[axis_of(a, axis)]
    if a.size == 0:
        return
    if np.ndim(kth) == 0:
        require(-length <= kth < length, ValueError, "kth(={}) out of bounds ({})", kth, length)
    else:
        for each in kth:
            require(-length <= each < length, ValueError, "kth(={}) out of bounds ({})",
                    each, length)  # fmt: skip


def lexsort(keys):
    """The places of the elements in the order of several keys, the last one first."""
    places = np.arange(len(keys[0]))
    spare = np.empty(len(keys[0]), np.int64)
    for key in keys:
        require_ndim(key, 1, "np.lexsort")
        _sort_places(key, places, spare)
    return places


def _place_of(a, v, is_right, has_nan):
    """How many elements of a sorted array are before a number, or not after it."""
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        if is_right:
            is_below = not _is_before(v, a[middle], has_nan)
        else:
            is_below = _is_before(a[middle], v, has_nan)
        if is_below:
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


def searchsorted(a, v, side="left", sorter=None):
    """Where numbers would have to stand in a sorted array."""
    require_ndim(a, 1, "np.searchsorted")
    side = static(side)
    if side not in ("left", "right"):
        refuse("side is 'left' or 'right', not {}", side)
    is_right = side == "right"
    ordered = a if sorter is None else a[sorter]
    has_nan = np.result_type(a, v).kind == "f"
    if np.ndim(v) == 0:
        return _place_of(ordered, v, is_right, has_nan)
    flat = np.ravel(v)
    result = np.empty(flat.size, np.int64)
    for i in range(flat.size):
        result[i] = _place_of(ordered, flat[i], is_right, has_nan)
    return np.reshape(result, v.shape)


def digitize(x, bins, right=False):
    """The number of the bin that each number is in."""
    bins = np.asarray(bins)
    require_ndim(bins, 1, "the bins of np.digitize")
    n = len(bins)
    is_down = n > 1 and bins[0] > bins[n - 1]
    for i in range(1, n):
        is_wrong = bins[i] > bins[i - 1] if is_down else bins[i] < bins[i - 1]
        require(not is_wrong, ValueError, "bins must be monotonically increasing or decreasing")
    # Counted from the other end, the bins that fall are bins that rise.
    rising = bins[::-1] if is_down else bins[::1]
    right = static(right)
    if np.ndim(x) == 0:
        return _bin_of(rising, x, right, is_down)
    flat = np.ravel(x)
    result = np.empty(flat.size, np.int64)
    for i in range(flat.size):
        result[i] = _bin_of(rising, flat[i], right, is_down)
    return np.reshape(result, x.shape)


def _bin_of(bins, x, right, is_down):
    has_nan = np.result_type(bins, x).kind == "f"
    if is_down:
        return len(bins) - _place_of(bins, x, not right, has_nan)
    return _place_of(bins, x, not right, has_nan)


SUBROUTINES: Final = (_sort_run, _sort_places, put_in_place)
_STABLE = "Stable, whatever `kind` says; NumPy's is faster where it has vector instructions."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(sort, limits=_STABLE),
    method_row(sort_in_place, "sort", limits=_STABLE),
    row(argsort, method=True, limits=_STABLE),
    row(partition, limits="All of it is in order, which takes longer than NumPy's."),
    row(
        argpartition, method=True, limits="All of it is in order, which takes longer than NumPy's."
    ),
    row(lexsort, limits="Of a tuple of arrays with one dimension."),
    row(searchsorted, method=True),
    row(digitize),
)
