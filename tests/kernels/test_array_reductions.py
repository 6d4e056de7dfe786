# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Reductions of arrays are NumPy's: exact for integers, within its own error for floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from tests.kernels.test_array_expressions import numbers


def totals(a):
    return a.sum(), np.sum(a), a.prod(), a.min(), a.max(), np.amin(a), np.amax(a)


def checked(a):
    return a.any(), np.all(a > 0), np.any(a > 5), a.all(), np.count_nonzero(a), np.ptp(a)


def places(a):
    return a.argmin(), np.argmax(a), np.argmin(a * 2 + 1)


SHAPES = [(1,), (7,), (300,), (3, 4), (5, 1), (17, 40), (2, 3, 4)]


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "i8"])
@pytest.mark.parametrize("shape", [(7,), (17, 40)])
def test_reductions_of_integers_are_numpys(dtype: str, shape: tuple[int, ...]) -> None:
    agree(totals, lambda: (numbers(dtype, *shape),))
    agree(places, lambda: (numbers(dtype, *shape),))
    if dtype != "?":
        agree(checked, lambda: (numbers(dtype, *shape),))


def extremes(a):
    return a.min(), a.max(), a.argmin(), a.argmax(), a.any(), a.all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turn", [lambda a: a, lambda a: a.T, lambda a: a[::-1]])
def test_extremes_of_floats_are_numpys(shape: tuple[int, ...], turn: Callable[[Any], Any]) -> None:
    agree(extremes, lambda: (turn(numbers("f8", *shape)),))


@pytest.mark.parametrize("where", [0, 3, 9])
def test_not_a_number_wins(where: int) -> None:
    def make() -> tuple[Any, ...]:
        a = numbers("f8", 10)
        a[where] = np.nan
        return (a,)

    agree(extremes, make)


def sums(a, b):
    return a.sum(), (a * b).sum(), a.mean(), a.var(), a.std(), np.linalg.norm(a), a.std(ddof=1)


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_floats_are_within_numpys_error(dtype: str, shape: tuple[int, ...]) -> None:
    a, b = numbers(dtype, *shape), numbers(dtype, *shape, seed=1)
    for one, other in (a, b), (a.T, b.T), (a[::-1], b):
        with np.errstate(all="ignore"):
            expected = sums(one, other)
        result = whorl.kernel(sums)(one, other)
        tolerance = 1e-12 if dtype == "f8" else 2e-5
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("size", [10**3, 10**6])
def test_a_sum_is_as_exact_as_numpys_pairwise_one(size: int) -> None:
    a = np.random.default_rng(0).random(size).astype("f4")
    exact = math.fsum(a.astype("f8").tolist())
    error = abs(whorl.kernel(lambda_sum)(a) - exact)
    assert error <= max(2 * abs(float(np.sum(a)) - exact), 4e-7 * exact)


def lambda_sum(a):
    return a.sum()


def along(a, n):
    return (
        a.sum(axis=0),
        a.sum(axis=1),
        np.sum(a, axis=-1, keepdims=True),
        a.min(axis=0),
        np.max(a, axis=1, keepdims=True),
        a.argmin(axis=1),
        a.argmax(axis=0),
        a.any(axis=0),
        a.all(axis=1),
        np.cumsum(a, axis=1),
        a.cumsum(axis=0),
        a.prod(axis=0),
        a.sum(axis=(0, 1)),
    )


@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (20, 30)])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_reductions_along_axes_are_numpys(shape: tuple[int, int], dtype: str) -> None:
    agree(along, lambda: (numbers(dtype, *shape), 0))
    agree(along, lambda: (numbers(dtype, *shape).T, 0))


def of_floats(a):
    return a.sum(axis=0), a.mean(axis=1), a.std(axis=0), a - a.mean(axis=1, keepdims=True)


def test_reductions_of_floats_along_axes_are_within_numpys_error() -> None:
    a = numbers("f8", 30, 50)
    for result, expected in zip(whorl.kernel(of_floats)(a), of_floats(a), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


def of_nothing(a):
    return a.sum(), a.prod(), a.any(), a.all(), a.sum(axis=0)


def least(a):
    return a.min()


def first(a):
    return a.argmax()


def test_reductions_of_nothing_are_numpys() -> None:
    agree(of_nothing, lambda: (np.zeros((0, 3)),))
    agree(of_nothing, lambda: (np.zeros((3, 0), "i4"),))
    agree(least, lambda: (np.zeros(0),))
    agree(first, lambda: (np.zeros((2, 0)),))


def products(a, b, x, y):
    return a @ b, a @ x, y @ a, x @ x, np.dot(a, b), a.dot(x), np.outer(x, y), np.trace(a)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 4, 5), (20, 7, 30)])
def test_products_of_integers_are_numpys(dtype: str, sizes: tuple[int, int, int]) -> None:
    n, m, k = sizes

    def make() -> tuple[Any, ...]:
        return (
            numbers(dtype, n, m),
            numbers(dtype, m, k, seed=1),
            numbers(dtype, m, seed=2),
            numbers(dtype, n, seed=3),
        )

    agree(products, make)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_floats_are_within_numpys_error(dtype: str) -> None:
    a, b = numbers(dtype, 20, 30), numbers(dtype, 30, 40, seed=1)
    x, y = numbers(dtype, 30, seed=2), numbers("f8", 20, seed=3)
    tolerance = 1e-12 if dtype == "f8" else 1e-4
    for turn in (np.ascontiguousarray, np.asfortranarray):
        given = turn(a), turn(b), x, y
        for result, expected in zip(whorl.kernel(products)(*given), products(*given), strict=True):
            assert np.asarray(result).dtype == np.asarray(expected).dtype or np.ndim(result) == 0
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_products_that_do_not_fit_are_an_error() -> None:
    given = np.zeros((3, 4)), np.zeros((5, 2)), np.zeros(4), np.zeros(3)
    with pytest.raises(
        ValueError, match=r"the shapes \(3, 4\) and \(5, 2\) do not fit together in"
    ):
        whorl.kernel(products)(*given)


def builtin(a):
    return sum(a), sum(a * 2, 5)


def test_pythons_sum_goes_from_left_to_right() -> None:
    agree(builtin, lambda: (numbers("f8", 100),))
    agree(builtin, lambda: (numbers("i8", 100),))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_a_softmax_is_numpys() -> None:
    x = numbers("f8", 30, 40)
    np.testing.assert_allclose(whorl.kernel(softmax)(x), softmax(x), rtol=1e-13)
