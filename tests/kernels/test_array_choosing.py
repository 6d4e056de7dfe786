# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Elements that masks and arrays of integers choose are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from tests.kernels.test_array_expressions import numbers
from whorl.errors import KernelError


def masked(a, b):
    a[a > 1] = 0
    a[(b < 0) & (a != 0)] += 2
    b[b < a.T] *= 3
    return a[b > 1], (a + b)[a < 0], b[np.isnan(b)]


@pytest.mark.parametrize("size", [0, 1, 2, 9])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_elements_under_a_mask_are_read_and_set_as_numpys(size: int, dtype: str) -> None:
    agree(masked, lambda: (numbers(dtype, size, size), numbers(dtype, size, size, seed=1)))
    agree(masked, lambda: (numbers(dtype, size, size).T, numbers(dtype, size, size, seed=1)))


def gathered(a, places, out):
    out[:] = a[places] * 2
    b = a[places]
    b[0] = 7
    a[places] = out + 1
    a[places] += 10
    a[:] = a[::-1][np.arange(len(a)) % 3]
    return b, a[[0, -1]]


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u8"])
def test_elements_at_places_are_read_and_set_as_numpys(dtype: str) -> None:
    def make() -> tuple[Any, ...]:
        return numbers("f8", 9), np.array([3, 1, 3, 0, 8], dtype), np.zeros(5)

    agree(gathered, make)


def rows(a, places):
    a[places] = a[places] + 1
    return a[places], a[places[1:]]


def test_places_choose_rows_of_a_matrix() -> None:
    agree(rows, lambda: (numbers("f8", 6, 4), np.array([5, 0, -1])))


def test_a_mask_of_another_shape_is_an_error() -> None:
    def set_there(a, mask):
        a[mask] = 1

    with pytest.raises(IndexError, match=r"a mask of shape \(4,\) for an array of shape \(5,\)"):
        whorl.kernel(set_there)(np.zeros(5), np.zeros(4, "?"))


def compacted(a, b, mask):
    a[mask] = b[mask]


def test_what_is_not_there_yet_says_what_to_write() -> None:
    with pytest.raises(KernelError, match=r"np.where\(mask, values, x\)"):
        whorl.kernel(compacted)(np.zeros(3), np.zeros(3), np.zeros(3, "?"))


def counted(a, out):
    for i in whorl.prange(len(a)):
        out[out >= 0] += a[i]


def test_parallel_iterations_lose_no_update_under_a_mask() -> None:
    whorl.configure(threads=2)
    agree(counted, lambda: (np.ones(20_000, "i8"), np.zeros(4, "i8")))
