"""Functions and methods of numbers give what Python and NumPy give for the same source."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whorl
from tests.kernels.array_agreement import agree

floats = st.one_of(
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 2.675, 0.5, 1.5, 2.5, 1e22, 5e-324, 0.125, 1.005]),
)
DIGITS = (3, 1, 4)
small = st.integers(-50, 50)


@whorl.kernel
def of_ints(n: int, m: int, k: int) -> Any:
    return (
        math.gcd(n, m), math.gcd(n, m, k), math.lcm(n, m), math.isqrt(abs(n * m)), n.bit_length(),
        n.bit_count(), pow(abs(n), abs(m), abs(k) + 1), math.comb(abs(n) % 30, abs(m) % 30),
        math.perm(abs(n) % 15, abs(m) % 15), math.factorial(abs(n) % 20), round(n, -1),
        divmod(n, abs(m) + 1), (n, m) < (m, n), (n, k) <= (n, m), (n, m, 1) > (n, m),
        (n, 2.0) >= (m, 1.0), any((n > 0, m > 0, k > 0)), all((n > 0, m > 0)), math.prod((n, m)),
        n.conjugate(), n.real, max(n, m, k), int(True),
        list(DIGITS)[2], tuple(DIGITS)[1], math.gcd(),
    )  # fmt: skip


@settings(max_examples=60)
@given(n=small, m=small, k=small)
def test_functions_of_ints_are_those_of_python(n: int, m: int, k: int) -> None:
    assert of_ints(n, m, k) == of_ints.interpret(n, m, k)


@whorl.kernel
def of_floats(x: float, y: float, d: int) -> Any:
    return (
        round(x, 2), round(x, d), math.isclose(x, y), math.isclose(x, y, rel_tol=0.5, abs_tol=1.0),
        math.remainder(x, 3.5), math.nextafter(x, y), math.ulp(x), math.modf(x), math.frexp(x),
        math.ldexp(x, d), x.is_integer(), math.copysign(x, y), float("inf") > x, float("-inf") < y,
        math.log(abs(x) % 1e300 + 1.0), any((x > 0, y > 0)),
    )  # fmt: skip


@settings(max_examples=150)
@given(x=floats, y=floats, d=st.integers(-6, 6))
def test_functions_of_floats_are_those_of_python(x: float, y: float, d: int) -> None:
    if math.isinf(x):
        return  # where `math.remainder` raises
    try:
        expected = of_floats.interpret(x, y, d)
    except OverflowError:
        return
    assert repr(of_floats(x, y, d)) == repr(expected)


@settings(max_examples=100)
@given(x=st.floats(-1e5, 1e5), y=st.floats(-1e5, 1e5), z=st.floats(-1e5, 1e5))
def test_lengths_and_distances_are_within_a_unit(x: float, y: float, z: float) -> None:
    found, expected = lengths(x, y, z), lengths.interpret(x, y, z)
    np.testing.assert_array_max_ulp(np.array(found), np.array(expected), 4)


@whorl.kernel
def lengths(x: float, y: float, z: float) -> Any:
    return (
        math.hypot(x, y, z), math.hypot(x), math.dist((x, y), (z, x)), math.log(abs(x) + 2, 3),
        math.hypot(x, y),
    )  # fmt: skip


def test_functions_of_numpy_are_applied_to_numbers_and_arrays() -> None:
    def applied(a: Any, i: Any, x: float) -> Any:
        return (
            np.divmod(a, 2.5), np.divmod(i, 3), np.modf(a), np.spacing(a), np.nextafter(a, 0.0),
            np.bitwise_count(i), np.ldexp(a, 3), np.logaddexp2(a, x), np.divmod(7, 2)[0],
            max(a), min(a), any(a > 2), all(a > 2), math.dist(a, a[::-1]), math.prod(a), max(i),
        )  # fmt: skip

    def arguments() -> tuple[Any, ...]:
        return np.array([1.5, -2.25, 0.0, 7.0]), np.array([5, -3, 0, 255], np.int32), 0.5

    agree(applied, arguments, ulps=2)


def test_what_python_raises_is_raised() -> None:
    @whorl.kernel
    def raising(which: int, n: int) -> Any:
        if which == 0:
            return math.factorial(n)
        if which == 1:
            return math.comb(n, 2)
        if which == 2:
            return math.isqrt(n)
        if which == 3:
            return pow(2, 3, n)
        return max(np.zeros(n))

    for which, n, error, words in (
        (0, -1, ValueError, "not defined for negative values"),
        (0, 21, OverflowError, "does not fit into 64 bits"),
        (1, -1, ValueError, "non-negative"),
        (2, -1, ValueError, "nonnegative"),
        (3, 0, ValueError, "cannot be 0"),
        (4, 0, ValueError, "empty sequence"),
    ):
        with pytest.raises(error, match=words):
            raising(which, n)
    with pytest.raises(whorl.KernelError, match="for integers"):
        whorl.kernel(lambda_gcd)(1.5)


def lambda_gcd(x: Any) -> Any:
    return math.gcd(x, 2) + int(cmath.isclose(1j, 1j))
