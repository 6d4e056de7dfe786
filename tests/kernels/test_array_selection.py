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

    with pytest.raises(IndexError, match=r"a mask of shape \(4,\) for axes of shape \(5,\)"):
        whorl.kernel(set_there)(np.zeros(5), np.zeros(4, "?"))


def under_masks(a, m):
    a[a > 10] = a[a > 10] * 2
    a[m] = np.arange(m.sum())
    row = m[:, 0]
    before = a[row]
    a[row] = 1.0
    a[row, 1] = 2.0
    a[:, m[0]] = 7
    a[0][m[0]] = 9
    a[row, 1:3] -= 1
    return before, a[row, 1:3], a[:, m[0]], a[1, m[0]], a[m].sum(), a[..., m[1]], a[m[:, 1], None]


def beside_slices(a, m):
    k, j = np.array([2, 0, 3]), np.array([1, -1, 5])
    return (
        a[k], a[k, 1], a[:, k], a[k, j], a[k][:, j], a[k[:, None], j], a[1, k], a[k, ::2],
        a[[0, 2]], a[[0, -1], [1, 2]], a[..., k], a[k, None], a[::-1][k, j], a[k, j][1],
    )  # fmt: skip


def with_three_axes(a, m):
    b = a.reshape(2, 2, 6)
    k = np.array([[1, 0], [0, 1]])
    return b[k], b[:, k], b[k, :, 2], b[0, :, k], b[k, k], b[:, k, k], b[k, 1:, 0], b[:, :, k[0]]


def set_beside_slices(a, m):
    k, j = np.array([2, 0, 2]), np.array([1, 1, 1])
    a[k] = 0.5
    a[k, j] += 1.0
    a[:, k] = a[:, j] * 2
    a[k, 1:3] = 9
    a[k, j] = np.arange(3.0)
    a[1, k] -= np.array([1.0, 2.0, 3.0])
    a[::2, [0, 1]] = a[1::2, [1, 0]]
    h = np.zeros(5, np.int64)
    h[k] += 1
    return h


@pytest.mark.parametrize(
    "function", [under_masks, beside_slices, with_three_axes, set_beside_slices]
)
def test_masks_and_places_beside_other_indices_are_numpys(function: Any) -> None:
    def make() -> tuple[Any, ...]:
        return np.arange(24.0).reshape(4, 6), np.arange(24).reshape(4, 6) % 3 == 0

    agree(function, make)
    agree(function, lambda: (np.asfortranarray(make()[0]), make()[1]))


def turned_into_itself(a):
    a[:] = (a * 2).T
    a[:] = a[np.arange(len(a))[::-1]]


def test_an_array_is_read_at_other_places_before_it_is_set() -> None:
    agree(turned_into_itself, lambda: (np.arange(9.0).reshape(3, 3),))


def test_shapes_that_do_not_fit_are_errors_before_anything_is_set() -> None:
    def compacted(a, b, mask):
        a[mask] = b

    a = np.zeros(5)
    with pytest.raises(ValueError, match=r"shape \(2,\) does not fit into shape \(3,\)"):
        whorl.kernel(compacted)(a, np.ones(2), np.arange(5) < 3)
    assert not a.any()


def test_an_index_that_is_a_float_is_refused() -> None:
    def at_floats(a, places):
        return a[places]

    with pytest.raises(KernelError, match="an index is an int or a mask"):
        whorl.kernel(at_floats)(np.zeros(5), np.zeros(2))


def counted(a, out):
    for i in whorl.prange(len(a)):
        out[out >= 0] += a[i]


def test_parallel_iterations_lose_no_update_under_a_mask() -> None:
    whorl.configure(threads=2)
    agree(counted, lambda: (np.ones(20_000, "i8"), np.zeros(4, "i8")))
