"""Reductions that leave NaN out."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import as_rows, moveaxis
from .conditions import axis_of, refuse_complex, require
from .distributions import quantile_of
from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def _with(a, value):
    """The array with another number in the place of NaN."""
    refuse_complex(a, "this function")
    if a.dtype.kind != "f":
        return a
    return np.where(np.isnan(a), a.dtype.type(value), a)


def _is_number(a):
    return a == a


def nansum(a, axis=None, dtype=None, keepdims=False):
    """The sum of all numbers that are not NaN."""
    return np.sum(_with(a, 0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(a, axis=None, dtype=None, keepdims=False):
    """The product of all numbers that are not NaN."""
    return np.prod(_with(a, 1), axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(a, axis=None, dtype=None):
    """The sums so far of the numbers that are not NaN."""
    return np.cumsum(_with(a, 0), axis=axis, dtype=dtype)


def nancumprod(a, axis=None, dtype=None):
    """The products so far of the numbers that are not NaN."""
    return np.cumprod(_with(a, 1), axis=axis, dtype=dtype)


def nanmin(a, axis=None, keepdims=False):
    """The least number that is not NaN; NaN if there is none."""
    refuse_complex(a, "this function")
    if a.dtype.kind != "f":
        return np.min(a, axis=axis, keepdims=keepdims)
    least = np.min(_with(a, np.inf), axis=axis, keepdims=keepdims)
    is_empty = np.all(np.isnan(a), axis=axis, keepdims=keepdims)
    return np.where(is_empty, a.dtype.type(np.nan), least)


def nanmax(a, axis=None, keepdims=False):
    """The largest number that is not NaN; NaN if there is none."""
    refuse_complex(a, "this function")
    if a.dtype.kind != "f":
        return np.max(a, axis=axis, keepdims=keepdims)
    most = np.max(_with(a, -np.inf), axis=axis, keepdims=keepdims)
    is_empty = np.all(np.isnan(a), axis=axis, keepdims=keepdims)
    return np.where(is_empty, a.dtype.type(np.nan), most)


def nanargmin(a, axis=None):
    """The place of the least number that is not NaN."""
    _require_numbers(a, axis)
    return np.argmin(_with(a, np.inf), axis=axis)


def nanargmax(a, axis=None):
    """The place of the largest number that is not NaN."""
    _require_numbers(a, axis)
    return np.argmax(_with(a, -np.inf), axis=axis)


def _require_numbers(a, axis):
    if a.dtype.kind == "f":
        is_empty = np.all(np.isnan(a), axis=axis)
        require(not np.any(is_empty), ValueError, "All-NaN slice encountered")


def nanmean(a, axis=None, dtype=None, keepdims=False):
    """The mean of all numbers that are not NaN."""
    refuse_complex(a, "this function")
    if a.dtype.kind != "f":
        return np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)
    kind = a.dtype if dtype is None else dtype
    count = np.sum(_is_number(a), axis=axis, keepdims=keepdims)
    total = np.sum(_with(a, 0), axis=axis, dtype=kind, keepdims=keepdims)
    return _quotient(total, count, kind)


def _quotient(total, count, kind):
    """A sum over a count, in the type of the sum."""
    if np.ndim(total) == 0:
        return total / np.dtype(kind).type(count)
    return total / count.astype(kind)


def nanvar(a, axis=None, dtype=None, ddof=0, keepdims=False):
    """The variance of all numbers that are not NaN."""
    refuse_complex(a, "this function")
    if a.dtype.kind != "f":
        return np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
    kind = a.dtype if dtype is None else dtype
    mean = nanmean(a, axis, kind, True)
    apart = np.where(np.isnan(a), a.dtype.type(0), a - mean)
    squares = np.sum(apart * apart, axis=axis, dtype=kind, keepdims=keepdims)
    count = np.sum(_is_number(a), axis=axis, keepdims=keepdims) - ddof
    result = _quotient(squares, count, kind)
    return np.where(count <= 0, np.dtype(kind).type(np.nan), result)


def nanstd(a, axis=None, dtype=None, ddof=0, keepdims=False):
    """The standard deviation of all numbers that are not NaN."""
    return np.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


def nanquantile(a, q, axis=None):
    """The number below which a part of all numbers is, those that are NaN aside."""
    if np.ndim(q) == 1:
        for i in range(len(q)):
            require(0 <= q[i] <= 1, ValueError, "Quantiles must be in the range [0, 1]")
        return _several(a, q, axis)
    return _one_quantile(a, q, static(axis))


def _one_quantile(a, q, axis):
    require(0 <= q <= 1, ValueError, "Quantiles must be in the range [0, 1]")
    if axis is None:
        return _quantile_of(np.ravel(a), q)
    place = axis_of(a, axis)
    rows = as_rows(np.ascontiguousarray(moveaxis(a, place, -1)))
    result = np.empty(rows.shape[0], a.dtype if a.dtype.kind == "f" else np.float64)
    for i in range(rows.shape[0]):
        result[i] = _quantile_of(rows[i], q)
    return np.reshape(result, moveaxis(a, place, -1).shape[:-1])


def _several(a, q, axis):
    """The same for several quantiles, along a new first axis."""
    first = _one_quantile(a, 0.5, static(axis))
    shape = () if np.ndim(first) == 0 else first.shape
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)
    result = np.empty((len(q), *shape), kind)
    for i in range(len(q)):
        result[i] = _one_quantile(a, q[i], static(axis))
    return result


def _quantile_of(a, q):
    numbers = a[a == a]
    if len(numbers) == 0:
        return np.nan
    return float(quantile_of(numbers, q))


def nanpercentile(a, q, axis=None):
    """The number below which a percentage of all numbers is, those that are NaN aside."""
    if np.ndim(q) == 0:
        require(0 <= q <= 100, ValueError, "Percentiles must be in the range [0, 100]")
    return nanquantile(a, q / 100, axis)


def nanmedian(a, axis=None):
    """The number in the middle of all that are not NaN."""
    return nanquantile(a, 0.5, axis)


_ONE = "One axis or all; no `keepdims` and `method`."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(nansum),
    row(nanprod),
    row(nancumsum),
    row(nancumprod),
    row(nanmin),
    row(nanmax),
    row(nanargmin),
    row(nanargmax),
    row(nanmean),
    row(nanvar),
    row(nanstd),
    row(nanquantile, limits=_ONE),
    row(nanpercentile, limits=_ONE),
    row(nanmedian, limits="One axis or all; no `keepdims`."),
)
