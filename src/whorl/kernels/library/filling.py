"""Changes of an array in place: elements that are copied, or set where a mask or places say."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import atleast_1d, moveaxis
from .conditions import axis_of, refuse, require
from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def copyto(dst, src, casting="same_kind", where=True):
    """Copy the elements, or those where a test holds."""
    if np.ndim(src) > 0:
        kind, to, how = src.dtype, dst.dtype, static(casting)
        if not static(np.can_cast(kind, to, how)):
            refuse("np.copyto puts no {} into {} by the rule {}", kind, to, how,
                   remedy="Convert with .astype(...) before.")  # fmt: skip
    if isinstance(where, bool):
        if static(where):
            dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


def putmask(a, mask, values):
    """Set the elements where a mask holds: to those at the same places of the values."""
    if np.ndim(values) == 0:
        a[mask] = values
    else:
        flat, chosen, given = np.ravel(a).copy(), np.ravel(mask), np.ravel(values)
        n = given.size
        require(chosen.size == flat.size, ValueError,
                "putmask: mask and data must be the same size")  # fmt: skip
        for i in range(flat.size):
            if chosen[i] and n > 0:
                flat[i] = given[i % n]
        a[...] = np.reshape(flat, a.shape)


def place(arr, mask, vals):
    """Set the elements where a mask holds to the values in turn."""
    flat, chosen, given = np.ravel(arr).copy(), np.ravel(mask), np.ravel(atleast_1d(vals))
    n, count = given.size, 0
    require(chosen.size == flat.size, ValueError,
            "place: mask and data must be the same size")  # fmt: skip
    for i in range(flat.size):
        if chosen[i]:
            require(n > 0, ValueError, "Cannot insert from an empty array!")
            flat[i] = given[count % n]
            count += 1
    arr[...] = np.reshape(flat, arr.shape)


def put_along_axis(arr, indices, values, axis):
    """Set the elements whose places along an axis are given."""
    at = axis_of(arr, axis)
    if arr.ndim != indices.ndim:
        refuse("the array has {} dimensions and the indices have {}", arr.ndim, indices.ndim)
    target, places = moveaxis(arr, at, -1), moveaxis(indices, at, -1)
    given = moveaxis(np.broadcast_to(atleast_1d(values), indices.shape), at, -1)
    length = target.shape[-1]
    for i in np.ndindex(places.shape):
        here = places[i]
        require(-length <= here < length, IndexError,
                "index {} is out of bounds for an axis with size {}", here, length)  # fmt: skip
        if arr.ndim == 1:
            target[here] = given[i]
        elif arr.ndim == 2:
            target[i[0], here] = given[i]
        elif arr.ndim == 3:
            target[i[0], i[1], here] = given[i]
        else:
            refuse("np.put_along_axis is for arrays with up to 3 dimensions")


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(copyto),
    row(putmask),
    row(place),
    row(put_along_axis, limits="Up to 3 dimensions."),
)
