"""Methods of `np.random.Generator`: the numbers that NumPy draws, in its order.

A stream is the address of the state of a bit generator. NumPy exports its distributions; what its
methods do around them (bounds, arrays, orders) is written here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from whorl.kernels.language import static

from .axes import moveaxis
from .calls_of_c import c_call
from .conditions import axis_of, refuse, require, require_ndim
from .ordering import searchsorted

__all__ = ["METHODS"]


def _number(x, name):
    """A parameter of a distribution."""
    if np.ndim(x) != 0:
        refuse("{} is one number in kernels, not an array", name, remedy="Write a loop.")
    return np.float64(x)


def _is_single(dtype):
    """Whether numbers of 32 bits are wanted; all others have 64."""
    if np.dtype(dtype) != np.float32 and np.dtype(dtype) != np.float64:
        refuse("random floats are of float32 or float64")
    return np.dtype(dtype) == np.float32


def _not_negative(x, name) -> None:
    require(not np.signbit(x) or np.isnan(x), ValueError, "{} < 0", name)


def _positive(x, name) -> None:
    require(not x <= 0.0, ValueError, "{} <= 0", name)


def _drawn(stream, size, distribution, *parameters):
    """A number, or an array of them."""
    if size is None:
        return float(c_call(distribution, np.float64, stream, *parameters))
    drawn = np.empty(size, np.float64)
    flat = np.ravel(drawn)
    for i in range(flat.size):
        flat[i] = c_call(distribution, np.float64, stream, *parameters)
    return drawn


def _drawn_single(stream, size, distribution, *parameters):
    """The same with 32 bits."""
    if size is None:
        return float(c_call(distribution, np.float32, stream, *parameters))
    drawn = np.empty(size, np.float32)
    flat = np.ravel(drawn)
    for i in range(flat.size):
        flat[i] = c_call(distribution, np.float32, stream, *parameters)
    return drawn


def _counted(stream, size, distribution, *parameters):
    """A number of a distribution of integers, or an array of them."""
    if size is None:
        return int(c_call(distribution, np.int64, stream, *parameters))
    drawn = np.empty(size, np.int64)
    flat = np.ravel(drawn)
    for i in range(flat.size):
        flat[i] = c_call(distribution, np.int64, stream, *parameters)
    return drawn


# -- floats -----------------------------------------------------------------------------


def random(stream, size=None, dtype=np.float64):
    """From 0 to below 1."""
    if _is_single(dtype):
        return _drawn_single(stream, size, "random_standard_uniform_f")
    return _drawn(stream, size, "random_standard_uniform")


def standard_normal(stream, size=None, dtype=np.float64):
    """Of mean 0 and deviation 1."""
    if _is_single(dtype):
        return _drawn_single(stream, size, "random_standard_normal_f")
    return _drawn(stream, size, "random_standard_normal")


def standard_exponential(stream, size=None, dtype=np.float64):
    """Exponentially distributed, of mean 1."""
    if _is_single(dtype):
        return _drawn_single(stream, size, "random_standard_exponential_f")
    return _drawn(stream, size, "random_standard_exponential")


def standard_gamma(stream, shape, size=None, dtype=np.float64):
    """The gamma distribution of scale 1."""
    alpha = _number(shape, "shape")
    _not_negative(alpha, "shape")
    if _is_single(dtype):
        return _drawn_single(stream, size, "random_standard_gamma_f", np.float32(alpha))
    return _drawn(stream, size, "random_standard_gamma", alpha)


def normal(stream, loc=0.0, scale=1.0, size=None):
    """The normal distribution."""
    mean, deviation = _number(loc, "loc"), _number(scale, "scale")
    _not_negative(deviation, "scale")
    return _drawn(stream, size, "random_normal", mean, deviation)


def uniform(stream, low=0.0, high=1.0, size=None):
    """From one number to below another."""
    begin, end = _number(low, "low"), _number(high, "high")
    width = end - begin
    require(np.isfinite(width), OverflowError, "high - low range exceeds valid bounds")
    require(not np.signbit(width), ValueError, "high - low < 0")
    return _drawn(stream, size, "random_uniform", begin, width)


def exponential(stream, scale=1.0, size=None):
    """Exponentially distributed."""
    mean = _number(scale, "scale")
    _not_negative(mean, "scale")
    return _drawn(stream, size, "random_exponential", mean)


def gamma(stream, shape, scale=1.0, size=None):
    """The gamma distribution."""
    alpha, theta = _number(shape, "shape"), _number(scale, "scale")
    _not_negative(alpha, "shape")
    _not_negative(theta, "scale")
    return _drawn(stream, size, "random_gamma", alpha, theta)


def beta(stream, a, b, size=None):
    """The beta distribution."""
    first, second = _number(a, "a"), _number(b, "b")
    _positive(first, "a")
    _positive(second, "b")
    return _drawn(stream, size, "random_beta", first, second)


def chisquare(stream, df, size=None):
    """The chi-square distribution."""
    degrees = _number(df, "df")
    _positive(degrees, "df")
    return _drawn(stream, size, "random_chisquare", degrees)


def standard_t(stream, df, size=None):
    """Student's distribution."""
    degrees = _number(df, "df")
    _positive(degrees, "df")
    return _drawn(stream, size, "random_standard_t", degrees)


def standard_cauchy(stream, size=None):
    """The Cauchy distribution."""
    return _drawn(stream, size, "random_standard_cauchy")


def lognormal(stream, mean=0.0, sigma=1.0, size=None):
    """Numbers whose logarithm is normal."""
    center, deviation = _number(mean, "mean"), _number(sigma, "sigma")
    _not_negative(deviation, "sigma")
    return _drawn(stream, size, "random_lognormal", center, deviation)


def laplace(stream, loc=0.0, scale=1.0, size=None):
    """The Laplace distribution."""
    mean, width = _number(loc, "loc"), _number(scale, "scale")
    _not_negative(width, "scale")
    return _drawn(stream, size, "random_laplace", mean, width)


def logistic(stream, loc=0.0, scale=1.0, size=None):
    """The logistic distribution."""
    mean, width = _number(loc, "loc"), _number(scale, "scale")
    _not_negative(width, "scale")
    return _drawn(stream, size, "random_logistic", mean, width)


def gumbel(stream, loc=0.0, scale=1.0, size=None):
    """The Gumbel distribution."""
    mode, width = _number(loc, "loc"), _number(scale, "scale")
    _not_negative(width, "scale")
    return _drawn(stream, size, "random_gumbel", mode, width)


def rayleigh(stream, scale=1.0, size=None):
    """The Rayleigh distribution."""
    mode = _number(scale, "scale")
    _not_negative(mode, "scale")
    return _drawn(stream, size, "random_rayleigh", mode)


def weibull(stream, a, size=None):
    """The Weibull distribution."""
    shape = _number(a, "a")
    _not_negative(shape, "a")
    return _drawn(stream, size, "random_weibull", shape)


def pareto(stream, a, size=None):
    """The Pareto distribution."""
    shape = _number(a, "a")
    _positive(shape, "a")
    return _drawn(stream, size, "random_pareto", shape)


# -- integers ---------------------------------------------------------------------------


def poisson(stream, lam=1.0, size=None):
    """How many events there are."""
    mean = _number(lam, "lam")
    require(mean >= 0.0, ValueError, "lam < 0 or lam is NaN")
    require(mean <= 9.223372006484771e18, ValueError, "lam value too large")
    return _counted(stream, size, "random_poisson", mean)


def geometric(stream, p, size=None):
    """How many trials it takes."""
    chance = _number(p, "p")
    require(0.0 < chance <= 1.0, ValueError, "p <= 0, p > 1 or p contains NaNs")
    return _counted(stream, size, "random_geometric", chance)


def _fill(stream, drawn, first, span) -> None:
    """Fill an array with integers from a first one on, up to one that is so much larger."""
    n, masked = drawn.size, np.uint8(0)
    if drawn.dtype.kind == "b":
        c_call("random_bounded_bool_fill", None, stream,
               np.uint8(first), np.uint8(span), n, masked, drawn)  # fmt: skip
    elif drawn.dtype.itemsize == 1:
        c_call("random_bounded_uint8_fill", None, stream,
               np.uint8(first), np.uint8(span), n, masked, drawn)  # fmt: skip
    elif drawn.dtype.itemsize == 2:
        c_call("random_bounded_uint16_fill", None, stream,
               np.uint16(first), np.uint16(span), n, masked, drawn)  # fmt: skip
    elif drawn.dtype.itemsize == 4:
        c_call("random_bounded_uint32_fill", None, stream,
               np.uint32(first), np.uint32(span), n, masked, drawn)  # fmt: skip
    else:
        c_call("random_bounded_uint64_fill", None, stream, first, span, n, masked, drawn)


def _check_bounds(begin, last, a) -> None:
    """See that integers fit into the elements of an array; those of 64 bits always do."""
    if a.dtype.kind == "b":
        require(begin >= 0, ValueError, "low is out of bounds for bool")
        require(last <= 1, ValueError, "high is out of bounds for bool")
    elif a.dtype.kind == "u":
        require(begin >= 0, ValueError, "low is out of bounds for uint{}", 8 * a.dtype.itemsize)
        if a.dtype.itemsize < 8:
            require(last < 1 << (8 * a.dtype.itemsize), ValueError,
                    "high is out of bounds for uint{}", 8 * a.dtype.itemsize)  # fmt: skip
    elif a.dtype.itemsize < 8:
        half = 1 << (8 * a.dtype.itemsize - 1)
        require(begin >= -half, ValueError,
                "low is out of bounds for int{}", 8 * a.dtype.itemsize)  # fmt: skip
        require(last < half, ValueError,
                "high is out of bounds for int{}", 8 * a.dtype.itemsize)  # fmt: skip


def _whole(x, name):
    if np.ndim(x) != 0:
        refuse("{} is one number in kernels, not an array", name, remedy="Write a loop.")
    if np.result_type(x).kind not in "iub":
        refuse("{} is an integer", name, remedy="Write int(x).")
    return x


def _wrapped(x):
    """An integer as 64 bits."""
    return np.uint64(x) if x >= 0 else ~np.uint64(-1 - x)


def _bounded(stream, drawn, low, high, endpoint) -> None:
    """Fill an array with integers from one up to another, which is one of them or not."""
    begin = 0 if high is None else int(_whole(low, "low"))
    end = int(_whole(low, "high")) if high is None else int(_whole(high, "high"))
    if endpoint:
        require(begin <= end, ValueError, "low > high")
    else:
        require(begin < end, ValueError, "low >= high" if high is not None else "high <= 0")
        end -= 1
    _check_bounds(begin, end, drawn)
    first = _wrapped(begin)
    _fill(stream, drawn, first, _wrapped(end) - first)


def integers(stream, low, high=None, size=None, dtype=np.int64, endpoint=False):
    """Integers from one to below another, or up to it."""
    if np.dtype(dtype).kind not in "iub":
        refuse("random integers are of a type of integers")
    if size is None:
        one = np.empty(1, dtype)
        _bounded(stream, one, low, high, endpoint)
        return one[0]
    drawn = np.empty(size, dtype)
    _bounded(stream, drawn, low, high, endpoint)
    return drawn


# -- orders -----------------------------------------------------------------------------


def _below(stream, n):
    """An integer from 0 up to n, as `choice` draws it."""
    zero = np.uint64(0)
    return int(c_call("random_bounded_uint64", np.uint64, stream,
                      zero, np.uint64(n), zero, np.uint8(0)))  # fmt: skip


def _swap(a, i, j) -> None:
    x = a[i]
    a[i] = a[j]
    a[j] = x


def _shuffle_chosen(stream, a, first) -> None:
    """Put the elements from a place on into an order, as `choice` does it."""
    n = a.shape[0]
    for k in range(n - first):
        _swap(a, n - 1 - k, _below(stream, n - 1 - k))


def _up_to(stream, n):
    """An integer from 0 up to n, as `shuffle` draws it."""
    return int(c_call("random_interval", np.uint64, stream, np.uint64(n)))


def _shuffle_all(stream, a) -> None:
    n = a.shape[0]
    for k in range(n - 1):
        _swap(a, n - 1 - k, _up_to(stream, n - 1 - k))


def shuffle(stream, x, axis=0) -> None:
    """Put the elements of an array, or its parts along an axis, into an order."""
    if np.ndim(x) == 0:
        refuse("shuffle is for arrays")
    if x.ndim == 1:
        _ = axis_of(x, axis)
        _shuffle_all(stream, x)
    elif x.size > 0:
        rows = moveaxis(x, axis_of(x, axis), 0)
        n = rows.shape[0]
        for k in range(n - 1):
            i = n - 1 - k
            j = _up_to(stream, i)
            if i != j:
                row = rows[i].copy()
                rows[i] = rows[j]
                rows[j] = row


def permutation(stream, x, axis=0):
    """The integers below a number, or a copy of an array, in another order."""
    if np.ndim(x) == 0:
        order = np.arange(int(_whole(x, "x")), dtype=np.int64)
        _shuffle_all(stream, order)
        return order
    if x.ndim == 1:
        copied = x.copy()
        shuffle(stream, copied, axis)
        return copied
    places = np.arange(x.shape[axis_of(x, axis)], dtype=np.int64)
    _shuffle_all(stream, places)
    return np.take(x, places, axis_of(x, axis))


def _first_free(table, key):
    """Where a key is in a table of a power of 2 places, or the free place for it."""
    mask = table.size - 1
    place = key & mask
    while table[place] != -1 and table[place] != key:
        place = (place + 1) & mask
    return place


def _chosen_once(stream, n, count, is_shuffled):
    """So many of the first integers, each once."""
    require(count <= n, ValueError,
            "Cannot take a larger sample than population when replace is False")  # fmt: skip
    cutoff = 50 if is_shuffled else 20
    if n > 10000 and count > n // cutoff:
        order = np.arange(n, dtype=np.int64)
        _shuffle_chosen(stream, order, max(n - count, 1))
        return order[n - count :].copy()
    size = 1
    while size <= int(1.2 * count):
        size *= 2
    table = np.full(size, -1, np.int64)
    chosen = np.empty(count, np.int64)
    for j in range(n - count, n):
        value = _below(stream, j)
        place = _first_free(table, value)
        if table[place] == value:
            value = j
            place = _first_free(table, value)
        table[place] = value
        chosen[j - n + count] = value
    if is_shuffled:
        _shuffle_chosen(stream, chosen, 1)
    return chosen


def _by_chance(stream, size, p):
    """Places, each with a chance of its own."""
    require_ndim(p, 1, "p of choice")
    total = 0.0
    for i in range(p.size):
        require(p[i] >= 0, ValueError, "Probabilities are not non-negative")
        total += p[i]
    require(abs(total - 1.0) <= 1.4901161193847656e-08, ValueError,
            "Probabilities do not sum to 1")  # fmt: skip
    bounds = np.cumsum(p)
    bounds /= bounds[-1]
    return searchsorted(bounds, random(stream, size), "right")


def choice(stream, a, size=None, replace=True, p=None, axis=0, shuffle=True):
    """Elements of an array, or integers below a number, chosen at random."""
    n = int(_whole(a, "a")) if np.ndim(a) == 0 else a.shape[axis_of(a, axis)]
    require(n > 0, ValueError, "a must be a positive integer unless no samples are taken")
    if p is not None:
        if not static(replace):
            refuse("choice with p and without replacement is not for kernels")
        require(p.size == n, ValueError, "a and p must have same size")
        places = _by_chance(stream, size, p)
    elif static(replace):
        places = integers(stream, 0, n, size)
    elif size is None:
        places = _chosen_once(stream, n, 1, static(shuffle))[0]
    else:
        places = np.reshape(_chosen_once(stream, n, np.prod(size), static(shuffle)), size)
    if np.ndim(a) == 0:
        return places
    if np.ndim(places) == 0:
        return a[places] if a.ndim == 1 else moveaxis(a, axis_of(a, axis), 0)[places].copy()
    return np.take(a, places, axis_of(a, axis))


METHODS: Final[dict[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (
        random, standard_normal, standard_exponential, standard_gamma, normal, uniform,
        exponential, gamma, beta, chisquare, standard_t, standard_cauchy, lognormal, laplace,
        logistic, gumbel, rayleigh, weibull, pareto, poisson, geometric, integers, shuffle,
        permutation, choice,
    )
}  # fmt: skip
"""The methods that kernels have, by their names."""
