"""How numbers are distributed: counts in bins, medians and quantiles, averages and covariances."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import atleast_2d, every_axis, moveaxis
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
    edges = histogram_bin_edges(a, bins, range) if is_equal else np.asarray(bins)
    if not is_equal:
        require_ndim(edges, 1, "the bins of np.histogram")
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


def quantile_of(a, q, method="linear"):
    """A quantile of numbers, between two of them in proportion; their order is changed."""
    n = len(a)
    place = q * (n - 1)
    low = int(np.floor(place))
    if method != "linear":
        place = _place_by(method, place, low)
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


def _place_by(method, place, low):
    """Where a quantile is among the numbers in order, by the name of a method."""
    high = low if place == low else low + 1
    if method == "lower":
        return float(low)
    if method == "higher":
        return float(high)
    if method == "midpoint":
        return 0.5 * (low + high)
    return np.rint(place)


def quantile(a, q, axis=None, keepdims=False, *, method="linear"):
    """The numbers below which given parts of all numbers are."""
    axis, ndim, method = static(axis), a.ndim, static(method)
    if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
        refuse("np.quantile has no method {} in kernels", method)
    if np.ndim(q) > 1:
        refuse("the quantiles that are asked for are a number, or an array with one dimension")
    if axis is None:
        flat = np.ravel(a).copy()
        result = _quantiles(np.reshape(flat, (1, flat.size)), q, method)
        if np.ndim(q) == 0:
            return np.reshape(result, static((1,) * ndim)) if static(keepdims) else result[0, 0]
        if static(keepdims):
            return np.reshape(result, (result.size, *static((1,) * ndim)))
        return result[:, 0]
    result = _quantiles(_rows(a, axis), q, method)
    rest = _shape_without(a, axis, static(keepdims))
    if np.ndim(q) > 0:
        return np.reshape(result, (result.shape[0], *rest))
    return result[0, 0] if len(rest) == 0 else np.reshape(result, rest)


def _rows(a, axis):
    """A copy whose rows are the array along an axis, or along several together."""
    ndim = a.ndim
    axes = static(every_axis(axis, ndim))
    count = len(axes)
    source = moveaxis(a, axes, static(tuple(range(ndim - count, ndim))))
    result = np.empty(source.shape, a.dtype)
    result[...] = source
    length = 1
    for each in source.shape[ndim - count :]:
        length = length * each
    rows = 1
    for each in source.shape[: ndim - count]:
        rows = rows * each
    return np.reshape(result, (rows, length))


def _shape_without(a, axis, keepdims):
    """The shape without some axes, or with the length 1 there."""
    ndim = a.ndim
    axes = static(every_axis(axis, ndim))
    shape = ()
    for i in static(range(ndim)):
        if i not in axes:
            shape = (*shape, a.shape[i])
        elif keepdims:
            shape = (*shape, 1)
    return shape


def _quantiles(rows, q, method):
    kind = np.result_type(rows, q)
    wanted = np.full(1, q) if np.ndim(q) == 0 else np.array(q)
    require(rows.shape[1] > 0, IndexError, "an array without elements has no quantiles")
    shape = (len(wanted), rows.shape[0])
    result = np.empty(shape, kind if kind.kind == "f" else np.float64)
    for i in range(len(wanted)):
        require(0 <= wanted[i] <= 1, ValueError, "Quantiles must be in the range [0, 1]")
        for j in range(rows.shape[0]):
            result[i, j] = np.nan if has_nan(rows[j]) else quantile_of(rows[j], wanted[i], method)
    return result


def percentile(a, q, axis=None, keepdims=False, *, method="linear"):
    """The numbers below which given percentages of all numbers are."""
    if np.ndim(q) == 0:
        require(0 <= q <= 100, ValueError, "Percentiles must be in the range [0, 100]")
        return quantile(a, q / 100, axis, keepdims, method=method)
    wanted = np.array(q) / 100
    for i in range(len(wanted)):
        require(0 <= wanted[i] <= 1, ValueError, "Percentiles must be in the range [0, 100]")
    return quantile(a, wanted, axis, keepdims, method=method)


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
    rows = _rows(a, axis)
    result = np.empty(rows.shape[0], kind)
    for i in range(rows.shape[0]):
        result[i] = _median_of(rows[i])
    rest = _shape_without(a, axis, static(keepdims))
    return result[0] if len(rest) == 0 else np.reshape(result, rest)


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean, or the mean by weights; with `returned`, and the sums of the weights."""
    if weights is None:
        if static(returned):
            sums = np.sum(np.ones(a.shape), axis=axis, keepdims=keepdims)
            return np.mean(a, axis=axis, keepdims=keepdims), sums
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
    result = np.sum(products, axis=axis, keepdims=keepdims) / sums
    if static(returned):
        return result, sums
    return result


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """How many points are in each cell of a grid, and the edges along both axes."""
    require(len(x) == len(y), ValueError, "x and y must have the same length.")
    x_edges = _edges_along(x, bins, range, 0)
    y_edges = _edges_along(y, bins, range, 1)
    counts = np.zeros((len(x_edges) - 1, len(y_edges) - 1))
    for i in np.arange(len(x)):
        row, column = _bin_between(x[i], x_edges), _bin_between(y[i], y_edges)
        if row >= 0 and column >= 0:
            counts[row, column] += 1.0 if weights is None else weights[i]
    if static(density):
        areas = np.diff(x_edges)[:, np.newaxis] * np.diff(y_edges)
        return counts / areas / np.sum(counts), x_edges, y_edges
    return counts, x_edges, y_edges


def _edges_along(x, bins, range, axis):
    """The edges of the bins along one of two axes."""
    if isinstance(bins, (tuple, list)) and len(bins) == 2:
        own = bins[axis]
    else:
        own = bins
    limits = None if range is None else range[axis]
    if np.ndim(own) == 0:
        return histogram_bin_edges(x, own, limits)
    return np.asarray(own, np.float64)


def _bin_between(x, edges):
    """The number of the bin between edges that a number is in; -1 if it is in none."""
    last = len(edges) - 1
    if not edges[0] <= x <= edges[last]:
        return -1
    return min(int(np.searchsorted(edges, x, "right")) - 1, last - 1)


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


_LINEAR = "`method` by its name: linear, lower, higher, midpoint or nearest. Weights are not known."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(bincount),
    row(histogram_bin_edges, limits="A number of bins."),
    row(histogram, limits="A number of bins, or their edges; no names of rules."),
    row(quantile, limits=_LINEAR),
    row(percentile, limits=_LINEAR),
    row(median),
    row(average),
    row(histogram2d, limits="Bins as an int, as edges, or as two of these in a tuple."),
    row(cov, limits="No `fweights`, `aweights` and `dtype`; of a matrix with one row, a matrix."),
    row(corrcoef, limits="No `dtype`."),
)
