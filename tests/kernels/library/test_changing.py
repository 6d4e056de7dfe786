# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Functions and methods of the library that change an array leave what NumPy leaves."""

from __future__ import annotations

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree


def sorted_in_place(a, m):
    a.sort()
    m.sort(axis=0)
    m[0].sort()


def put_in_place(a, m):
    np.put(a, [0, -1], [7.0, 8.0])
    a.put(1, 9.0)
    np.put(m, np.array([1, 5]), 3.0)


def filled_diagonals(a, m):
    np.fill_diagonal(m, 4.0)
    np.fill_diagonal(m[:, 1:], a)
    a.fill(2)


def results_in_arrays(a, m):
    np.multiply(m, m, m)
    np.add(a, 1.0, out=a)
    np.clip(a, -1.0, 1.0, out=a)
    np.exp(m, m)
    np.round(m, 1, out=m)


def copied_and_set_by_masks(a, m):
    np.copyto(m, a[:5])
    np.copyto(m, 0.0, where=m > 1)
    np.putmask(a, a > 0.5, np.arange(3.0))
    np.putmask(m, m < -1, 0.25)
    np.place(a, a < 0, [7.0, 8.0])
    np.put_along_axis(m, np.argmax(m, axis=1)[:, None], 9.0, axis=1)
    np.put_along_axis(m, np.array([[0, 1, 2, 3, -1]]), m[:1] * 2, 0)
    m.flat[3:5] = 1.5
    part = m.flat[3:8]
    part[:] = 0.0


def reductions_in_arrays(a, m):
    np.rint(m * 4, out=m)
    np.sum(m, axis=0, out=a[:5])
    m.max(axis=1, out=m[:, 0])
    np.cumsum(m, axis=1, out=m)
    m.mean(axis=1, out=a[5:9])
    np.matmul(m, a[:5], out=a[10:14])
    np.dot(m[:, :4], m[:, 1:], out=m)
    np.outer(a[:4], a[4:9], out=m)


def results_where_a_test_holds(a, m):
    np.divide(1.0, m, out=m, where=m > 0)
    np.add(m, a[:5], out=m, where=a[:5] > 0)
    np.sqrt(a, out=a, where=a > 0)
    np.log(a, out=np.zeros_like(a), where=a > 0)


def written_into_a_selection(a, m):
    part = a[np.array([3, 1, 2])]
    part[0] = 100
    rows = m[m[:, 0] > -9]
    rows[0] += 5
    a[:3] = part + rows[0, :3]


def changed_at_places(a, m):
    places = np.array([0, 3, 3, -1, 0])
    np.add.at(a, places, 1.0)
    np.subtract.at(a, places, a[:5].copy())
    np.multiply.at(a, [2, 2], 3)
    np.negative.at(a, places)
    np.add.at(m, (np.array([0, 0, 1]), np.array([1, 1, 2])), 2.5)
    np.maximum.at(m, np.array([1, 1]), m[2:4].copy())
    np.add.at(a, 5, 4.0)
    np.add.at(a, a > 1, 0.5)


@pytest.mark.parametrize(
    "function",
    [
        sorted_in_place,
        put_in_place,
        filled_diagonals,
        changed_at_places,
        results_in_arrays,
        reductions_in_arrays,
        results_where_a_test_holds,
        copied_and_set_by_masks,
        written_into_a_selection,
    ],
)
def test_changes_are_numpys(function) -> None:
    def make():
        random = np.random.default_rng(5)
        return random.standard_normal(40), random.standard_normal((4, 5))

    agree(function, make)


def in_order(a):
    return np.sort(a), np.argsort(a, kind="stable"), np.median(a), np.quantile(a, 0.37)


def killer(n):
    """An order in which medians of three split badly."""
    half = n // 2
    result = np.zeros(n)
    for i in range(1, half + 1):
        if i % 2:
            result[i - 1], result[i] = i, half + i
        result[half + i - 1] = 2 * i
    return result


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("size", [1, 2, 16, 17, 18, 1000, 20_000])
def test_sorting_and_selecting_are_numpys_whatever_the_order_was(size) -> None:
    random, count = np.random.default_rng(size), np.arange(float(size))
    pipes = np.concatenate((count[: size // 2], count[: size - size // 2][::-1]))
    kernel = whorl.kernel(in_order)
    some_nan = random.random(size)
    some_nan[::5] = np.nan
    few = random.integers(0, 4, size).astype(float)
    for a in (random.random(size), count, count[::-1], pipes, few, some_nan, killer(size)):
        for value, expected in zip(kernel(a), in_order(a), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-13)


def sum_of_rows(m, out):
    return np.sum(m, axis=0, out=out)


def test_an_array_that_a_result_does_not_fit_is_an_error_before_it_is_written() -> None:
    m, out = np.ones((3, 4)), np.full(5, 7.0)
    with pytest.raises(ValueError, match=r"shape \(4,?\).*shape \(5,?\).*np\.sum\(m, axis=0"):
        whorl.kernel(sum_of_rows)(m, out)
    assert (out == 7.0).all()
    with pytest.raises(whorl.KernelError, match="the result has 1 dimensions"):
        whorl.kernel(sum_of_rows)(m, np.ones((3, 4)))
    with pytest.raises(whorl.KernelError, match="takes no f64"):
        whorl.kernel(sum_of_rows)(m, np.ones(4, int))
