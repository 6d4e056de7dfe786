"""Functions of `math` and of Python's numbers that are made of others.

Integers are those of 64 bits: what does not fit raises OverflowError.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from .conditions import require
from .library_function import LibraryFunction, named_row, row

__all__ = ["ROWS"]

_MOST: Final = 2**63 - 1
_LARGEST_ROOT: Final = 3037000499
_SPLIT: Final = 134217729.0  # 2**27 + 1
_WHOLE: Final = 4503599627370496.0  # 2**52: from here on floats are whole


def gcd_of_two(a, b):
    """The greatest common divisor of two ints.

    >>> gcd_of_two(12, -18)
    6
    """
    a, b = abs(int(a | 0)), abs(int(b | 0))  # which refuses floats
    while b != 0:
        a, b = b, a % b
    return a


def gcd(*integers):
    """The greatest common divisor.

    >>> gcd(12, 18, 27)
    3
    """
    result = 0
    for each in integers:
        result = gcd_of_two(result, each)
    return result


def lcm(*integers):
    """The least common multiple.

    >>> lcm(4, 6)
    12
    """
    result = 1
    for each in integers:
        divisor = gcd_of_two(result, each)
        result = 0 if divisor == 0 else abs(result // divisor * int(each))
    return result


def factorial(n):
    """The product of the numbers up to n.

    >>> factorial(5)
    120
    """
    count = int(n | 0)
    require(count >= 0, ValueError, "factorial() not defined for negative values")
    require(count <= 20, OverflowError, "the factorial of {} does not fit into 64 bits", count)
    result = 1
    for i in range(2, count + 1):
        result *= i
    return result


def comb(n, k):
    """In how many ways k of n can be chosen.

    >>> comb(5, 2)
    10
    """
    count, chosen = int(n | 0), int(k | 0)
    require(count >= 0, ValueError, "n must be a non-negative integer")
    require(chosen >= 0, ValueError, "k must be a non-negative integer")
    chosen = min(chosen, count - chosen)
    result = 1 if chosen >= 0 else 0
    for i in range(1, chosen + 1):
        divisor = gcd_of_two(result, i)
        factor = (count - chosen + i) // (i // divisor)
        result //= divisor
        require(result <= _MOST // factor, OverflowError, "the result does not fit into 64 bits")
        result *= factor
    return result


def perm(n, k=None):
    """In how many ways k of n can be put in order.

    >>> perm(5, 2)
    20
    """
    if k is None:
        return factorial(n)
    count, chosen = int(n | 0), int(k | 0)
    require(count >= 0, ValueError, "n must be a non-negative integer")
    require(chosen >= 0, ValueError, "k must be a non-negative integer")
    result = 1 if chosen <= count else 0
    for i in range(min(chosen, count) if chosen <= count else 0):
        require(result <= _MOST // (count - i), OverflowError, "the result does not fit")
        result *= count - i
    return result


def isqrt(n):
    """The whole root of an int.

    >>> isqrt(17)
    4
    """
    number = int(n | 0)
    require(number >= 0, ValueError, "isqrt() argument must be nonnegative")
    root = min(int(math.sqrt(number)), _LARGEST_ROOT)
    if root * root > number:
        root -= 1
    if root < _LARGEST_ROOT and (root + 1) * (root + 1) <= number:
        root += 1
    return root


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    """Whether two numbers are nearly the same.

    >>> isclose(1.0, 1.0 + 1e-12)
    True
    """
    require(rel_tol >= 0 and abs_tol >= 0, ValueError, "tolerances must be non-negative")
    if a == b:
        return True
    if np.isinf(a) or np.isinf(b):
        return False
    apart = abs(b - a)
    is_near = apart <= abs(rel_tol * abs(b)) or apart <= abs(rel_tol * abs(a))
    return bool(is_near or apart <= abs_tol)


def norm_of(numbers):
    """The root of the sum of squares, without overflow.

    >>> norm_of((3.0, 4.0))
    5.0
    """
    largest = 0.0
    has_nan = False
    for each in numbers:
        size = abs(float(each))
        largest = max(largest, size)
        has_nan = has_nan or math.isnan(size)
    if largest == 0.0 or math.isinf(largest):
        return math.nan if has_nan and not math.isinf(largest) else largest
    total = 0.0
    for each in numbers:
        total += (float(each) / largest) * (float(each) / largest)
    return largest * math.sqrt(total)


def dist(p, q):
    """How far two points are apart.

    >>> dist((1.0, 1.0), (4.0, 5.0))
    5.0
    """
    require(len(p) == len(q), ValueError, "both points must have the same number of dimensions")
    largest = 0.0
    for a, b in zip(p, q, strict=False):
        largest = max(largest, abs(float(a) - float(b)))
    if largest == 0.0 or math.isinf(largest):
        return largest
    total = 0.0
    for a, b in zip(p, q, strict=False):
        part = (float(a) - float(b)) / largest
        total += part * part
    return largest * math.sqrt(total)


def greatest(values):
    """The first of the largest numbers, as Python's `max` compares them.

    >>> greatest(np.array([1, 3, 2]))
    np.int64(3)
    """
    require(len(values) > 0, ValueError, "max() arg is an empty sequence")
    result = values[0]
    for each in values:
        result = max(result, each)
    return result


def least(values):
    """The first of the smallest numbers, as Python's `min` compares them.

    >>> least(np.array([2, 1, 3]))
    np.int64(1)
    """
    require(len(values) > 0, ValueError, "min() arg is an empty sequence")
    result = values[0]
    for each in values:
        result = min(result, each)
    return result


def ulp(x):
    """How far the next larger float is.

    >>> ulp(1.0) == 2**-52
    True
    """
    size = abs(float(x))
    if not math.isfinite(size):
        return size
    above = math.nextafter(size, math.inf)
    return size - math.nextafter(size, 0.0) if math.isinf(above) else above - size


def modf(x):
    """The parts after and before the point.

    >>> modf(-1.25)
    (-0.25, -1.0)
    """
    number = float(x)
    whole = float(np.trunc(number))
    part = 0.0 if math.isinf(number) else number - whole
    return math.copysign(part, number), whole


def frexp(x):
    """A part from 0.5 up to 1, and the power of two that it is multiplied by.

    >>> frexp(6.0)
    (0.75, 3)
    """
    number = float(x)
    if number == 0.0 or not math.isfinite(number):
        return number, 0
    power = math.floor(math.log2(abs(number))) + 1
    part = math.ldexp(number, -power)
    if abs(part) >= 1.0:
        return part / 2, power + 1
    if abs(part) < 0.5:
        return part * 2, power - 1
    return part, power


def prod(iterable, *, start=1):
    """The product of numbers.

    >>> prod((2, 3.0))
    6.0
    """
    result = start
    for each in iterable:
        result = result * each
    return result


def logarithm(x, base):
    """A logarithm to any base.

    >>> logarithm(8.0, 2)
    3.0
    """
    return math.log(x) / math.log(base)


def power_modulo(base, exponent, modulus):
    """`pow` with three numbers: what a power leaves by a division.

    >>> power_modulo(3, 4, 7)
    4
    """
    number, left, divisor = int(base | 0), int(exponent | 0), int(modulus | 0)
    require(divisor != 0, ValueError, "pow() 3rd argument cannot be 0")
    require(left >= 0, ValueError, "a negative power with a modulus is not known in kernels")
    require(abs(divisor) <= _LARGEST_ROOT, OverflowError, "the modulus {} is too large", divisor)
    result, number = 1 % divisor, number % divisor
    while left > 0:
        if left & 1:
            result = result * number % divisor
        number = number * number % divisor
        left >>= 1
    return result


def error_of_product(a, b, product):
    """What the product of two floats loses by rounding.

    >>> error_of_product(0.1, 10.0, 1.0) > 0
    True
    """
    high = a * _SPLIT
    high = high - (high - a)
    other = b * _SPLIT
    other = other - (other - b)
    low, rest = a - high, b - other
    return ((high * other - product) + high * rest + low * other) + low * rest


def rounded(x, ndigits):
    """A number with so many digits after the point, as Python rounds it: by its exact value.

    >>> rounded(2.675, 2), rounded(1234, -2)
    (2.67, 1200)
    """
    digits = int(ndigits | 0)
    if np.result_type(x).kind not in "fc":
        if digits >= 0:
            return x
        require(digits > -19, OverflowError, "{} digits", digits)
        unit = 10**-digits
        rest = x % unit
        below = x - rest
        is_up = 2 * rest > unit or (2 * rest == unit and below // unit % 2 != 0)
        return below + unit if is_up else below
    if not math.isfinite(x) or digits > 22 or digits < -22:
        return x if digits > 0 or not math.isfinite(x) else x * 0.0
    unit = 1.0
    for _ in range(abs(digits)):
        unit *= 10.0
    if digits >= 0:
        scaled = x * unit
        if abs(scaled) >= _WHOLE:
            return x
        lost = error_of_product(x, unit, scaled)
    else:
        scaled = x / unit
        if abs(scaled) >= 2 * _WHOLE:  # the float nearest to any rounding of it is itself
            return x
        lost = (x - scaled * unit) - error_of_product(scaled, unit, scaled * unit)
    below = float(np.floor(scaled))
    half = scaled - below
    is_up = half > 0.5 or (half == 0.5 and (lost > 0 or (lost == 0 and below % 2 != 0)))
    whole = below + 1.0 if is_up else below
    result = whole / unit if digits >= 0 else whole * unit
    return math.copysign(result, x)


def is_integer(x):
    """Whether a float is a whole number.

    >>> is_integer(2.0)
    True
    """
    return bool(np.isfinite(x) and np.floor(x) == x)


# -- functions of NumPy ------------------------------------------------------------------


def np_divmod(x1, x2):
    """Quotient and remainder.

    >>> np_divmod(7, 2)
    (np.int64(3), np.int64(1))
    """
    return np.floor_divide(x1, x2), np.remainder(x1, x2)


def np_modf(x):
    """The parts after and before the point.

    >>> np_modf(1.5)
    (np.float64(0.5), np.float64(1.0))
    """
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), whole * 0, x - whole), x), whole


def spacing(x):
    """How far the next float away from zero is.

    >>> spacing(1.0) == np.finfo(float).eps
    np.True_
    """
    if np.isinf(x):
        return x - x
    return np.nextafter(x, np.copysign(np.inf, x)) - x


def logaddexp2(x1, x2):
    """The binary logarithm of the sum of two powers of two.

    >>> float(logaddexp2(1.0, 1.0))
    2.0
    """
    if x1 == x2:
        return x1 + np.log2(np.exp2(x1 * 0.0) + np.exp2(x2 * 0.0))
    difference = x1 - x2
    if difference > 0:
        return x1 + np.log1p(np.exp2(-difference)) * 1.4426950408889634
    if difference <= 0:
        return x2 + np.log1p(np.exp2(difference)) * 1.4426950408889634
    return difference * 1.0


ROWS: Final[tuple[LibraryFunction, ...]] = (
    named_row(gcd, "math.gcd"),
    named_row(lcm, "math.lcm"),
    named_row(factorial, "math.factorial", limits="Up to 20."),
    named_row(comb, "math.comb", limits="Results of 64 bits."),
    named_row(perm, "math.perm", limits="Results of 64 bits."),
    named_row(isqrt, "math.isqrt"),
    named_row(isclose, "math.isclose", "cmath.isclose"),
    named_row(dist, "math.dist"),
    named_row(ulp, "math.ulp"),
    named_row(modf, "math.modf"),
    named_row(frexp, "math.frexp"),
    named_row(prod, "math.prod"),
    row(np_divmod, "divmod"),
    row(np_modf, "modf"),
    row(spacing, elementwise=True),
    row(logaddexp2, elementwise=True),
)
