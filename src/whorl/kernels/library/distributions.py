"""How numbers are distributed: counts in bins, medians and quantiles, averages and covariances."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import as_rows, atleast_2d, moveaxis
from .conditions import axis_of, refuse, refuse_complex, require, require_ndim
from .library_function import LibraryFunction, row
from .ordering import put_in_place

__all__ = ["ROWS", "has_nan", "quantile_of"]


def bincount(x, weights=None, minlength=0):
    """How often each number occurs, or the sum of the weights there."""
    require_ndim(x, 1, "np.bincount")
    if x.dtype.kind == "f":
        refuse("np.bincount counts integers, not floats")
    require(minlength >= 0, ValueError, "'minlength' must not be negative")
    size = minlength
    for i in range(len(x)):
        require(x[i] >= 0, ValueError, "'list' argument must have no negative elements")
        size = max(size, int(x[i]) + 1)
    if weights is None:
        counts = np.zeros(size, np.int64)
        for i in range(len(x)):
            counts[x[i]] += 1
        return counts
    require(len(weights) == len(x), ValueError,
            "The weights and list don't have the same length.")  # fmt: skip
    sums = np.zeros(size, np.float64)
    for i in range(len(x)):
        sums[x[i]] += weights[i]
    return sums


def histogram_bin_edges(a, bins=10, range=None):
    """The edges of equal bins from the least number to the largest, or of a range."""
    flat = np.ravel(a)
    if range is not None:
        first, last = float(range[0]), float(range[1])
        require(first <= last, ValueError, "max must be larger than min in range parameter.")
    elif flat.size == 0:
        first, last = 0.0, 1.0
    else:
        first, last = float(np.min(flat)), float(np.max(flat))
    require(np.isfinite(first) and np.isfinite(last), ValueError,
            "the range of the numbers is not finite")  # fmt: skip
    if first == last:
        first, last = first - 0.5, last + 0.5
    require(bins >= 1, ValueError, "`bins` must be positive, when an integer")
    edges = np.linspace(first, last, bins + 1)
    if a.dtype == np.float32:
        return edges.astype(np.float32)
    return edges


def _equal_bin(x, edges, first, last):
    """The number of the bin, of equal ones, that a number is in."""
    n = len(edges) - 1
    place = int((x - first) / (last - first) * n)
    if place == n:
        place -= 1
    if x < edges[place]:
        place -= 1
    elif place != n - 1 and x >= edges[place + 1]:
        place += 1
    return place


def histogram(a, bins=10, range=None, density=None, weights=None):
    """How many numbers are in each bin, and the edges of the bins."""
    flat = np.ravel(a)
    is_equal = np.ndim(bins) == 0
    edges = histogram_bin_edges(a, bins, range) if is_equal else bins
    if not is_equal:
        require_ndim(bins, 1, "the bins of np.histogram")
    n = len(edges) - 1
    if not is_equal:
        for i in np.arange(n):
            require(edges[i] <= edges[i + 1], ValueError,
                    "`bins` must increase monotonically, when an array")  # fmt: skip
    first, last = edges[0], edges[n]
    if weights is None:
        counts = np.zeros(n, np.int64)
    else:
        counts = np.zeros(n, weights.dtype)
        flat_weights = np.ravel(weights)
        require(flat_weights.size == flat.size, ValueError,
                "weights should have the same shape as a.")  # fmt: skip
    for i in np.arange(flat.size):
        x = flat[i]
        if first <= x <= last:
            if is_equal:
                place = _equal_bin(x, edges, first, last)
            else:
                place = min(int(np.searchsorted(edges, x, "right")) - 1, n - 1)
            if weights is None:
                counts[place] += 1
            else:
                counts[place] += flat_weights[i]
    if static(density):
        widths = np.diff(edges)
        return counts / widths / np.sum(counts), edges
    return counts, edges


def has_nan(a):
    """Whether there is NaN in an array with one dimension."""
    if a.dtype.kind == "f":
        for i in range(len(a)):
            if a[i] != a[i]:
                return True
    return False


def quantile_of(a, q):
    """A quantile of numbers, between two of them in proportion; their order is changed."""
    n = len(a)
    place = q * (n - 1)
    low = int(np.floor(place))
    put_in_place(a, low)
    part = place - low
    first, second = a[low], a[low]
    if low + 1 < n:
        second = np.min(a[low + 1 :])
    difference = second - first
    if part >= 0.5:
        return second - difference * (1 - part)
    return first + difference * part


def quantile(a, q, axis=None, keepdims=False):
    """The numbers below which given parts of all numbers are."""
    axis, ndim = static(axis), a.ndim
    if np.ndim(q) > 1:
        refuse("the quantiles that are asked for are a number, or an array with one dimension")
    if axis is None:
        flat = np.ravel(a).copy()
        result = _quantiles(np.reshape(flat, (1, flat.size)), q)
        if np.ndim(q) == 0:
            return np.reshape(result, static((1,) * ndim)) if static(keepdims) else result[0, 0]
        if static(keepdims):
            return np.reshape(result, (result.size, *static((1,) * ndim)))
        return result[:, 0]
    place = axis_of(a, axis)
    result = _quantiles(_rows(a, place), q)
    rest = moveaxis(a, place, -1).shape[:-1]
    if static(keepdims):
        rest = (*a.shape[:place], 1, *a.shape[place + 1 :])
    if np.ndim(q) == 0:
        return np.reshape(result, rest)
    return np.reshape(result, (result.shape[0], *rest))


def _rows(a, axis):
    """A copy whose rows are the array along an axis."""
    source = moveaxis(a, axis, -1)
    result = np.empty(source.shape, a.dtype)
    result[...] = source
    return as_rows(result)


def _quantiles(rows, q):
    kind = np.result_type(rows, q)
    wanted = np.full(1, q) if np.ndim(q) == 0 else np.array(q)
    require(rows.shape[1] > 0, IndexError, "an array without elements has no quantiles")
    shape = (len(wanted), rows.shape[0])
    result = np.empty(shape, kind if kind.kind == "f" else np.float64)
    for i in range(len(wanted)):
        require(0 <= wanted[i] <= 1, ValueError, "Quantiles must be in the range [0, 1]")
        for j in range(rows.shape[0]):
            result[i, j] = np.nan if has_nan(rows[j]) else quantile_of(rows[j], wanted[i])
    return result


def percentile(a, q, axis=None, keepdims=False):
    """The numbers below which given percentages of all numbers are."""
    if np.ndim(q) == 0:
        require(0 <= q <= 100, ValueError, "Percentiles must be in the range [0, 100]")
        return quantile(a, q / 100, axis, keepdims)
    wanted = np.array(q) / 100
    for i in range(len(wanted)):
        require(0 <= wanted[i] <= 1, ValueError, "Percentiles must be in the range [0, 100]")
    return quantile(a, wanted, axis, keepdims)


def _median_of(a):
    """The median of numbers, whose order is changed."""
    n = len(a)
    if n == 0 or has_nan(a):
        return np.nan
    middle = n // 2
    put_in_place(a, middle)
    if n % 2 == 1:
        return float(a[middle])
    below = np.max(a[:middle])
    if a.dtype.kind == "f":
        return float((below + a[middle]) / 2)
    return (float(below) + float(a[middle])) / 2


def median(a, axis=None, keepdims=False):
    """The number in the middle, or the mean of the two there."""
    axis = static(axis)
    kind = a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)
    ndim = a.ndim
    if axis is None:
        result = _median_of(np.ravel(a).copy())
        if static(keepdims):
            return np.full(static((1,) * ndim), result, kind)
        return np.float32(result) if kind == np.float32 else np.float64(result)
    place = axis_of(a, axis)
    rows = _rows(a, place)
    result = np.empty(rows.shape[0], kind)
    for i in range(rows.shape[0]):
        result[i] = _median_of(rows[i])
    rest = moveaxis(a, place, -1).shape[:-1]
    if static(keepdims):
        rest = (*a.shape[:place], 1, *a.shape[place + 1 :])
    return np.reshape(result, rest)


def average(a, axis=None, weights=None, keepdims=False):
    """The mean, or the mean by weights."""
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.ndim(weights) == a.ndim:
        factors = weights
    else:
        if static(axis) is None or np.ndim(weights) != 1:
            refuse("the weights have {} dimensions, and the array {}", np.ndim(weights), a.ndim)
        place = axis_of(a, axis)
        require(len(weights) == a.shape[place], ValueError,
                "Length of weights not compatible with specified axis.")  # fmt: skip
        after = a.ndim - place - 1
        factors = np.reshape(weights, (*static((1,) * place), len(weights), *static((1,) * after)))
    products = a * factors
    sums = np.sum(factors + np.zeros(a.shape, factors.dtype), axis=axis, keepdims=keepdims)
    require(np.all(sums != 0), ZeroDivisionError, "Weights sum to zero, can't be normalized")
    return np.sum(products, axis=axis, keepdims=keepdims) / sums


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """The covariances of the rows, or of the columns, of a matrix."""
    refuse_complex(m, "np.cov")
    if np.ndim(m) > 2:
        refuse("np.cov is for one or two dimensions")
    x = np.asarray(atleast_2d(m), np.result_type(m, np.float64))
    if not static(rowvar) and m.ndim == 2:
        x = x.T
    if y is not None:
        other = atleast_2d(y)
        if not static(rowvar) and y.ndim == 2:
            other = other.T
        x = np.concatenate((x, other), 0)
    less = (0 if static(bias) else 1) if ddof is None else ddof
    n = x.shape[1]
    centred = x - np.mean(x, axis=1, keepdims=True)
    result = centred @ centred.T
    result = result * (1 / (n - less)) if n > less else result / 0.0
    if y is None and m.ndim == 1:
        return result[0, 0]
    return result


def corrcoef(x, y=None, rowvar=True):
    """The correlations of the rows, or of the columns, of a matrix."""
    c = cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    d = np.sqrt(np.diag(c))
    result = c / d[:, np.newaxis] / d[np.newaxis, :]
    return np.clip(result, -1, 1)


_LINEAR = "Linear interpolation: no `method`. One axis or all."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(bincount),
    row(histogram_bin_edges, limits="A number of bins."),
    row(histogram, limits="A number of bins, or their edges; no names of rules."),
    row(quantile, limits=_LINEAR),
    row(percentile, limits=_LINEAR),
    row(median, limits="One axis or all."),
    row(average, limits="No `returned`."),
    row(cov, limits="No `fweights`, `aweights` and `dtype`; of a matrix with one row, a matrix."),
    row(corrcoef, limits="No `dtype`."),
)
