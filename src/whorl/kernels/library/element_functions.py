"""Functions of numbers that are made of others; they are applied to each element of arrays."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .conditions import refuse
from .library_function import LibraryFunction, method_row, row

__all__ = ["ROWS"]


def round(a, decimals=0):
    """The number with so many decimals; halves go to the even neighbour."""
    kind = np.result_type(a)
    if kind.kind == "c":
        return _rounded(a.real, decimals) + 1j * _rounded(a.imag, decimals)
    return _rounded(a, decimals)


def _rounded(a, decimals):
    kind = np.result_type(a)
    digits = static(decimals)
    if kind.kind != "f":
        if digits >= 0:
            return kind.type(a)
        refuse("integers are rounded to 0 decimals or more", remedy="Write a // 10 * 10.")
    if digits == 0:
        return np.rint(a)
    if digits > 0:
        return np.rint(a * kind.type(10.0**digits)) / kind.type(10.0**digits)
    return np.rint(a / kind.type(10.0**-digits)) * kind.type(10.0**-digits)


def clip(a, a_min=None, a_max=None, *, min=None, max=None):
    """The number, or the bound that it is beyond."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is None and high is None:
        return np.positive(a)
    if high is None:
        return np.maximum(a, low)
    if low is None:
        return np.minimum(a, high)
    return np.minimum(np.maximum(a, low), high)


def clip_method(a, min=None, max=None):
    """The number, or the bound that it is beyond."""
    return clip(a, min, max)


def iscomplex(x):
    """Whether the imaginary part is not zero."""
    return np.imag(x) != 0


def isreal(x):
    """Whether the imaginary part is zero."""
    return np.imag(x) == 0


def fix(x):
    """The whole number next to a number, towards zero."""
    return np.trunc(x)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """The number, or a finite one in the place of NaN and the infinities."""
    kind = np.result_type(x)
    if kind.kind != "f":
        return x
    most = np.finfo(kind).max
    if np.isnan(x):
        return kind.type(nan)
    if np.isinf(x) and x > 0:
        return most if posinf is None else kind.type(posinf)
    if np.isinf(x):
        return -most if neginf is None else kind.type(neginf)
    return kind.type(x)


def heaviside(x1, x2):
    """0 below zero, 1 above, the second number at zero."""
    kind = np.result_type(x1, x2)
    one = kind.type(1) if kind.kind == "f" else np.float64(1)
    if np.isnan(x1):
        return x1 * one
    return one * 0 if x1 < 0 else one if x1 > 0 else x2 * one


def sinc(x):
    """sin(pi x) / (pi x), 1 at zero."""
    y = np.pi * (x if x != 0 else x + 1.0e-20)
    return np.sin(y) / y


def isposinf(x):
    """Whether a number is infinite and above zero."""
    return np.isinf(x) and x > 0


def isneginf(x):
    """Whether a number is infinite and below zero."""
    return np.isinf(x) and x < 0


def signbit(x):
    """Whether a number has a minus sign, as -0.0 has."""
    return np.copysign(1.0, x) < 0


def fmax(x1, x2):
    """The larger of two numbers; NaN only if both are."""
    if np.isnan(x1):
        return np.maximum(x2, x2)
    if np.isnan(x2):
        return np.maximum(x1, x1)
    return np.maximum(x1, x2)


def fmin(x1, x2):
    """The smaller of two numbers; NaN only if both are."""
    if np.isnan(x1):
        return np.minimum(x2, x2)
    if np.isnan(x2):
        return np.minimum(x1, x1)
    return np.minimum(x1, x2)


def logaddexp(x1, x2):
    """The logarithm of the sum of two exponentials."""
    if x1 == x2:
        return x1 + np.log(np.exp(x1 * 0.0) + np.exp(x2 * 0.0))
    difference = x1 - x2
    if difference > 0:
        return x1 + np.log1p(np.exp(-difference))
    if difference <= 0:
        return x2 + np.log1p(np.exp(difference))
    return difference * 1.0


def float_power(x1, x2):
    """A power, computed in double precision."""
    return np.power(np.float64(x1), np.float64(x2))


def gcd(x1, x2):
    """The greatest common divisor of two integers."""
    kind = np.result_type(x1, x2)
    if kind.kind not in "iu":
        refuse("np.gcd is for integers")
    a, b = kind.type(abs(x1)), kind.type(abs(x2))
    while b != 0:
        a, b = b, a % b
    return a


def lcm(x1, x2):
    """The least common multiple of two integers."""
    kind = np.result_type(x1, x2)
    if kind.kind not in "iu":
        refuse("np.lcm is for integers")
    a, b = kind.type(abs(x1)), kind.type(abs(x2))
    while b != 0:
        a, b = b, a % b
    if a == 0:
        return a
    return kind.type(abs(x1)) // a * kind.type(abs(x2))


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(
        round,
        "round",
        "around",
        method=True,
        elementwise=True,
        limits="`decimals` is known at compile time; integers have 0 decimals or more.",
    ),
    row(clip, elementwise=True),
    method_row(clip_method, "clip", elementwise=True),
    row(iscomplex, elementwise=True),
    row(isreal, elementwise=True),
    row(fix, elementwise=True),
    row(nan_to_num, elementwise=True, limits="No `copy`: always a new array."),
    row(heaviside, elementwise=True),
    row(sinc, elementwise=True),
    row(isposinf, elementwise=True),
    row(isneginf, elementwise=True),
    row(signbit, elementwise=True),
    row(fmax, elementwise=True),
    row(fmin, elementwise=True),
    row(logaddexp, elementwise=True),
    row(float_power, elementwise=True),
    row(gcd, elementwise=True),
    row(lcm, elementwise=True),
)
