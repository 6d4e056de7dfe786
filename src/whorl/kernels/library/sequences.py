"""Arrays that follow from a rule: polynomials, windows, padded arrays."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import moveaxis
from .conditions import refuse, require, require_ndim
from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def polyval(p, x):
    """The value of a polynomial, its highest coefficient first."""
    require_ndim(p, 1, "the coefficients of np.polyval")
    if np.ndim(x) == 0:
        value = np.result_type(p, x).type(0)
        for i in range(len(p)):
            value = value * x + p[i]
        return value
    result = np.zeros(x.shape, np.result_type(p, x))
    for i in range(len(p)):
        result = result * x + p[i]
    return result


def polyfit(x, y, deg):
    """The polynomial of a degree with the least squares from points, its highest power first."""
    left = np.vander(np.asarray(x, np.float64), deg + 1)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    limit = len(x) * np.finfo(np.float64).eps
    solution = np.linalg.lstsq(left, np.asarray(y, np.float64), limit)[0]
    return solution / scale if np.ndim(y) == 1 else solution / scale[:, np.newaxis]


def logspace(start, stop, num=50, endpoint=True, base=10.0):
    """Powers whose exponents are equally far apart."""
    return np.power(base, np.linspace(start, stop, num, endpoint))


def geomspace(start, stop, num=50, endpoint=True):
    """Numbers of which each is the one before times a factor."""
    require(start != 0 and stop != 0, ValueError, "Geometric sequence cannot include zero")
    sign = -1.0 if start < 0 and stop < 0 else 1.0
    first, last = np.log10(start * sign), np.log10(stop * sign)
    result = sign * np.power(10.0, np.linspace(first, last, num, endpoint))
    if num > 0:
        result[0] = start
        if num > 1 and static(endpoint):
            result[-1] = stop
    return result


def hanning(M):
    """The Hann window."""
    n = np.arange(1 - M, M, 2)
    return np.ones(M) if M == 1 else 0.5 + 0.5 * np.cos(np.pi * n / (M - 1))


def hamming(M):
    """The Hamming window."""
    n = np.arange(1 - M, M, 2)
    return np.ones(M) if M == 1 else 0.54 + 0.46 * np.cos(np.pi * n / (M - 1))


def blackman(M):
    """The Blackman window."""
    n = np.arange(1 - M, M, 2)
    if M == 1:
        return np.ones(M)
    return 0.42 + 0.5 * np.cos(np.pi * n / (M - 1)) + 0.08 * np.cos(2.0 * np.pi * n / (M - 1))


def bartlett(M):
    """The Bartlett window."""
    n = np.arange(1 - M, M, 2)
    if M == 1:
        return np.ones(M)
    return np.where(n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))


def diag_indices(n, ndim=2):
    """The indices of a diagonal."""
    places = np.arange(n)
    results = ()
    for _ in static(range(ndim)):
        results = (*results, places)
    return results


def ravel_multi_index(multi_index, dims):
    """The place in the order of all elements, from an index for each axis."""
    if len(multi_index) != len(dims):
        refuse("{} indices for {} dimensions", len(multi_index), len(dims))
    n = len(dims)
    place = multi_index[0] * 1
    for axis in static(range(1, n)):
        place = place * dims[axis] + multi_index[axis]
    return place


def _widths(pad_width, ndim):
    """How much is added before and after each axis."""
    if isinstance(pad_width, int):
        return ((pad_width, pad_width),) * ndim
    if isinstance(pad_width[0], int):
        return (tuple(pad_width) if len(pad_width) == 2 else tuple(pad_width) * 2,) * ndim
    return tuple(pad_width) * ndim if len(pad_width) == 1 else tuple(pad_width)


def pad(array, pad_width, mode="constant", *, constant_values=0):
    """The array with more elements at its edges."""
    mode, ndim = static(mode), array.ndim
    if mode not in ("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp"):
        refuse("np.pad has no mode {} in kernels", mode)
    widths = static(_widths(pad_width, ndim))
    if len(widths) != ndim:
        refuse("{} widths for {} dimensions", len(widths), ndim)
    for axis in static(range(ndim)):
        array = _padded(array, axis, widths[axis][0], widths[axis][1], mode, constant_values)
    return array


def _padded(array, axis, before, after, mode, value):
    source = moveaxis(array, axis, 0)
    n = source.shape[0]
    shape = (*array.shape[:axis], before + n + after, *array.shape[axis + 1 :])
    result = np.empty(shape, array.dtype)
    target = moveaxis(result, axis, 0)
    target[before : before + n] = source
    if mode == "constant":
        target[:before] = value
        target[before + n :] = value
        return result
    require(n > 0 or before + after == 0, ValueError, "can't extend empty axis {}", axis)
    if mode == "linear_ramp":
        _ramp(target[:before], source[0])
        _ramp(target[before + n :][::-1], source[n - 1])
        return result
    for i in range(before):
        target[before - 1 - i] = source[_outside(-1 - i, n, mode)]
    for i in range(after):
        target[before + n + i] = source[_outside(n + i, n, mode)]
    return result


def _ramp(target, edge):
    """Rise from 0 to an edge."""
    steps = target.shape[0]
    for i in range(steps):
        target[i] = (edge / steps * i).astype(target.dtype) if np.ndim(edge) else edge / steps * i


def _outside(place, n, mode):
    """Where the element is that stands for one outside of an array."""
    if mode == "edge":
        return min(max(place, 0), n - 1)
    if mode == "wrap":
        return place % n
    if mode == "symmetric":
        turn = place % (2 * n)
        return turn if turn < n else 2 * n - 1 - turn
    if n == 1:
        return 0
    turn = place % (2 * (n - 1))
    return turn if turn < n else 2 * (n - 1) - turn


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(polyval, limits="Numbers and arrays for `x`."),
    row(polyfit, limits="No `rcond`, `full`, `w` and `cov`."),
    row(logspace, limits="No `dtype` and `axis`."),
    row(geomspace, limits="Of numbers that are not complex; no `dtype` and `axis`."),
    row(hanning),
    row(hamming),
    row(blackman),
    row(bartlett),
    row(diag_indices),
    row(ravel_multi_index, limits="No `mode` and `order`; indices are not checked."),
    row(
        pad,
        limits="Modes 'constant', 'edge', 'wrap', 'reflect', 'symmetric', and 'linear_ramp' to 0; "
        "widths are known at compile time; one number for `constant_values`.",
    ),
)
