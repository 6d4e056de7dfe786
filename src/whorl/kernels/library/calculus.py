"""Differences, integrals, interpolation and convolution along an axis."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import every_axis, moveaxis
from .conditions import axis_of, refuse, refuse_complex, require, require_ndim
from .joining import concatenate
from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    if a.ndim == 0:
        refuse("np.diff needs an array with a dimension or more")
    place = axis_of(a, axis)
    times = static(n)
    if times < 0:
        refuse("the order of a difference is 0 or more, not {}", times)
    if prepend is not None:
        a = concatenate((_edge(a, prepend, place), a), place)
    if append is not None:
        a = concatenate((a, _edge(a, append, place)), place)
    a = moveaxis(a, place, -1)
    for _ in static(range(times)):
        if a.dtype == np.bool_:
            a = a[..., 1:] != a[..., :-1]
        else:
            a = a[..., 1:] - a[..., :-1]
    return moveaxis(a, -1, place)


def _edge(a, more, axis):
    """What is put before or after an array: a number stands for one element along the axis."""
    if np.ndim(more) > 0:
        return more
    return np.full((*a.shape[:axis], 1, *a.shape[axis + 1 :]), more)


def ediff1d(ary):
    """The differences of neighbours, in the order of all elements."""
    flat = np.ravel(ary)
    return flat[1:] - flat[:-1]


def gradient(f, *varargs, axis=None, edge_order=1):
    """The slopes along an axis, or along each: central differences, one-sided at the ends."""
    ndim = f.ndim
    axes = static(every_axis(axis, ndim))
    if len(varargs) > 1 and len(varargs) != len(axes):
        refuse("np.gradient takes one distance for all axes, or one for each")
    results = ()
    for i in static(range(len(axes))):
        spacing = 1.0 if len(varargs) == 0 else varargs[0] if len(varargs) == 1 else varargs[i]
        results = (*results, _slopes(f, spacing, axis_of(f, axes[i]), static(edge_order)))
    return results[0] if len(results) == 1 else results


def _slopes(f, spacing, axis, edge_order):
    if edge_order not in (1, 2):
        refuse("edge_order is 1 or 2, not {}", edge_order)
    numbers = f if f.dtype.kind in "fc" else f.astype(np.float64)
    y = moveaxis(numbers, axis, 0)
    n = y.shape[0]
    require(n > edge_order, ValueError,
            "Shape of array too small to calculate a numerical gradient")  # fmt: skip
    result = np.empty(f.shape, numbers.dtype)
    out = moveaxis(result, axis, 0)
    if np.ndim(spacing) == 0:
        h = spacing
        out[1:-1] = (y[2:] - y[:-2]) / (2.0 * h)
        if edge_order == 1:
            out[0] = (y[1] - y[0]) / h
            out[-1] = (y[-1] - y[-2]) / h
        else:
            out[0] = -1.5 / h * y[0] + 2.0 / h * y[1] + -0.5 / h * y[2]
            out[-1] = 0.5 / h * y[-3] + -2.0 / h * y[-2] + 1.5 / h * y[-1]
        return result
    require(len(spacing) == n, ValueError,
            "when 1d, distances must match the length of the corresponding dimension")  # fmt: skip
    d = np.diff(spacing)
    for i in range(1, n - 1):
        before, after = d[i - 1], d[i]
        a = -after / (before * (before + after))
        b = (after - before) / (before * after)
        c = before / (after * (before + after))
        out[i] = a * y[i - 1] + b * y[i] + c * y[i + 1]
    if edge_order == 1:
        out[0] = (y[1] - y[0]) / d[0]
        out[-1] = (y[-1] - y[-2]) / d[-1]
    else:
        a, b = d[0], d[1]
        out[0] = -(2.0 * a + b) / (a * (a + b)) * y[0] + (a + b) / (a * b) * y[1]
        out[0] = out[0] + -a / (b * (a + b)) * y[2]
        a, b = d[-2], d[-1]
        out[-1] = b / (a * (a + b)) * y[-3] + -(b + a) / (a * b) * y[-2]
        out[-1] = out[-1] + (2.0 * b + a) / (b * (a + b)) * y[-1]
    return result


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis, by trapezoids."""
    place = axis_of(y, axis)
    values = moveaxis(y, place, -1)
    if x is None:
        return np.sum(dx * (values[..., 1:] + values[..., :-1]) / 2.0, axis=-1)
    points = x if x.ndim == 1 else moveaxis(x, place, -1)
    d = points[..., 1:] - points[..., :-1]
    return np.sum(d * (values[..., 1:] + values[..., :-1]) / 2.0, axis=-1)


def interp(x, xp, fp, left=None, right=None, period=None):
    """The value at points, between given ones in proportion."""
    if period is None:
        return _interpolate(x, xp, fp, left, right)
    require(period != 0, ValueError, "period must be a non-zero value")
    length = abs(period)
    inside = xp % length
    order = np.argsort(inside)
    xs, ys = inside[order], fp[order]
    points = concatenate((xs[-1:] - length, xs, xs[:1] + length))
    return _interpolate(x % length, points, concatenate((ys[-1:], ys, ys[:1])), None, None)


def _interpolate(x, xp, fp, left, right):
    require_ndim(xp, 1, "np.interp")
    require_ndim(fp, 1, "np.interp")
    require(len(xp) == len(fp), ValueError, "fp and xp are not of the same length.")
    require(len(xp) > 0, ValueError, "array of sample points is empty")
    below = float(fp[0]) if left is None else float(left)
    above = float(fp[-1]) if right is None else float(right)
    if np.ndim(x) == 0:
        return np.float64(_interpolated(float(x), xp, fp, below, above))
    flat = np.ravel(x)
    result = np.empty(flat.size, np.float64)
    for i in range(flat.size):
        result[i] = _interpolated(float(flat[i]), xp, fp, below, above)
    return np.reshape(result, x.shape)


def _interpolated(x, xp, fp, below, above):
    n = len(xp)
    if x != x:
        return x
    if x > xp[n - 1]:
        return above
    if x < xp[0]:
        return below
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if x >= xp[middle]:
            low = middle + 1
        else:
            high = middle
    i = low - 1
    if i == n - 1 or xp[i] == x:
        return float(fp[i])
    slope = (float(fp[i + 1]) - float(fp[i])) / (float(xp[i + 1]) - float(xp[i]))
    value = slope * (x - float(xp[i])) + float(fp[i])
    if value != value:
        value = slope * (x - float(xp[i + 1])) + float(fp[i + 1])
        if value != value and fp[i] == fp[i + 1]:
            value = float(fp[i])
    return value


def correlate(a, v, mode="valid"):
    """The sums of products of one array and a shifted one."""
    refuse_complex(a, "np.correlate")
    refuse_complex(v, "np.correlate")
    return _correlated(a, v, static(mode), "np.correlate", False)


def convolve(a, v, mode="full"):
    """The sums of products of one array and a shifted and reversed one."""
    return _correlated(a, v, static(mode), "np.convolve", True)


def _correlated(a, v, mode, name, is_turned):
    require_ndim(a, 1, name)
    require_ndim(v, 1, name)
    if mode not in ("full", "same", "valid"):
        refuse("mode is 'full', 'same' or 'valid', not {}", mode)
    require(len(a) > 0, ValueError, "first argument cannot be empty")
    require(len(v) > 0, ValueError, "second argument cannot be empty")
    result = np.zeros(_correlated_length(len(a), len(v), mode), np.result_type(a, v))
    if len(a) >= len(v):
        _correlate_into(result, a, v[::-1] if is_turned else v[::1], mode, len(v))
        return result
    _correlate_into(result, v, a[::-1] if is_turned else a[::1], mode, len(a))
    return result if is_turned else result[::-1].copy()


def _correlated_length(n, m, mode):
    if mode == "full":
        return n + m - 1
    if mode == "same":
        return max(n, m)
    return max(n, m) - min(n, m) + 1


def _correlate_into(result, a, v, mode, m):
    """Add up the products; `v` is the shorter one."""
    begin = m - 1 if mode == "full" else m // 2 if mode == "same" else 0
    n = len(a)
    for i in range(len(result)):
        shift = i - begin
        total = result[i]
        for j in range(max(0, -shift), min(m, n - shift)):
            total = total + a[shift + j] * v[j]
        result[i] = total


def unwrap(p, discont=None, axis=-1, period=6.283185307179586):
    """Angles without jumps by more than half of a period."""
    place = axis_of(p, axis)
    source = moveaxis(p, place, 0)
    kind = np.result_type(p, period)
    result = np.empty(p.shape, kind)
    out = moveaxis(result, place, 0)
    half = period / 2
    least = half if discont is None else max(discont, half)
    out[...] = source
    for i in range(1, source.shape[0]):
        step = source[i] - source[i - 1]
        wrapped = (step + half) % period - half
        wrapped = np.where((wrapped == -half) & (step > 0), half, wrapped)
        correction = np.where(np.abs(step) < least, 0.0, wrapped - step)
        out[i] = out[i - 1] + step + correction
    return result


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(diff, limits="`n` is known at compile time."),
    row(ediff1d, limits="No `to_end` and `to_begin`."),
    row(gradient, limits="Several axes give a tuple."),
    row(trapezoid),
    row(interp),
    row(correlate),
    row(convolve),
    row(unwrap),
)
