"""Views of arrays are NumPy's: they share memory where NumPy's do, and are copies elsewhere."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from whorl.errors import KernelError


def sliced(a, i):
    everywhere = slice(1, 3)
    return (
        a[::-1, 1::2], a[-2:0:-1], a[i:, :i], a[..., 1], a[1, ...], a[None, :, 2], a[:, np.newaxis],
        a[i], a[i, 1:3], a[::i], a[5:2], a[10:], a[:, ::-i], a[everywhere], a[:, everywhere],
    )  # fmt: skip


def turned(a, i):
    b = a.reshape(2, 2, 6)
    return (
        a.T, a.T[1], a.transpose(), a.transpose(1, 0), np.transpose(a), np.swapaxes(a, 0, 1),
        b.transpose(2, 0, 1), b[..., 0].T, np.moveaxis(b, 0, -1), np.expand_dims(a, 0),
    )  # fmt: skip


def reshaped(a, i):
    return (
        a.reshape(-1), a.reshape(6, 4), a.reshape((2, -1)), a.ravel(), a.flatten(), a.T.ravel(),
        a[::2].reshape(-1), np.reshape(a, (3, 8)), a.reshape(len(a), -1), a.reshape(a.shape),
    )  # fmt: skip


def broadcast(a, i):
    wide = np.broadcast_to(a[0], (3, 6))
    return wide, np.broadcast_to(2.0, (2, 2)), wide.sum(), np.atleast_2d(a[0]), a.view()


def written_through(a, i):
    v = a[1:3]
    v[:, 0] = -1
    w = v.T
    w[1] = 5
    a[::2] += 1
    a.T[0] *= 2
    row = a[i]
    row += 10
    row[:] = row[::-1]
    flat = a.ravel()
    flat[0] = 99
    copy = a.flatten()
    copy[1] = 98
    other = a.T.reshape(-1)
    other[2] = 97
    return a.flat[3], a.item(2), a[0].item(1), a.item((1, 2)), a.nbytes, a.strides


def set_flat(a, i):
    b = a.copy()
    b.flat[3] = 7.0
    b.flat[i:] += 1
    c = a.copy()
    c.flat = i
    return b, c


def in_other_orders(a, i):
    return np.asfortranarray(a), np.ascontiguousarray(a.T), np.asfortranarray(a[0])


@pytest.mark.parametrize(
    "function",
    [sliced, turned, reshaped, broadcast, written_through, set_flat, in_other_orders],
)
def test_views_are_numpys(function: Any) -> None:
    agree(function, lambda: (np.arange(24.0).reshape(4, 6) + 1, 2))


def reshaped_and_written(a):
    z = a.reshape(-1)
    z[...] = z * 3
    y = a.ravel()
    y[0] = 100
    return z, y


@pytest.mark.parametrize("step", [1, 2, -1])
def test_what_has_equal_steps_is_reshaped_without_a_copy_and_ravelled_with_one(step: int) -> None:
    agree(reshaped_and_written, lambda: (np.arange(24.0).reshape(2, 12)[:, ::step],))
    agree(reshaped_and_written, lambda: (np.arange(24.0)[::step],))
    agree(reshaped_and_written, lambda: (np.arange(24.0).reshape(4, 6)[1:3, 1:4][:, ::step],))


def in_two(a):
    z = a.reshape(2, -1)
    z[:, 1:] += z[:, :-1] + 1
    return z


def in_three(a):
    z = a.reshape(2, 1, len(a), -1)
    z[1, 0] *= 3
    z[:, 0, 0] = z[:, 0, -1] + 7
    return z


def as_it_is(a):
    z = a.reshape(a.shape)
    z[0] = a[-1] * 2
    a[1] += 5
    return z


def in_one(a):
    z = a.reshape(-1)
    z[::2] = 100
    y = a.ravel()
    y[1] = 200
    return z, y


ORIGINS = {
    "every element": lambda: np.arange(96.0).reshape(2, 4, 12),
    "every second of the last axis": lambda: np.arange(192.0).reshape(2, 4, 24)[..., ::2],
    "part of the middle": lambda: np.arange(192.0).reshape(2, 8, 12)[:, 2:6],
    "part of the last axis": lambda: np.arange(192.0).reshape(2, 4, 24)[..., 5:17],
    "every second of the first axis": lambda: np.arange(192.0).reshape(4, 4, 12)[::2],
    "backwards": lambda: np.arange(96.0).reshape(2, 4, 12)[::-1, :, ::-1],
    "all backwards": lambda: np.arange(96.0).reshape(2, 4, 12)[::-1, ::-1, ::-1],
    "Fortran": lambda: np.asfortranarray(np.arange(96.0).reshape(2, 4, 12)),
    "Fortran matrix": lambda: np.asfortranarray(np.arange(8.0).reshape(2, 4)),
    "turned": lambda: np.arange(96.0).reshape(4, 2, 12).transpose(1, 0, 2),
    "turned behind": lambda: np.arange(96).reshape(2, 12, 4).swapaxes(1, 2),
    "axes of length 1": lambda: np.arange(96.0).reshape(2, 1, 48)[:, :, ::2].swapaxes(1, 0)[0, :],
    "an axis of length 1 between": lambda: np.arange(192.0).reshape(2, 4, 1, 24)[:, :, :, ::2],
    "two lines": lambda: np.arange(96, dtype=np.float32).reshape(4, 24)[::2],
}


@pytest.mark.parametrize("function", [in_two, in_three, as_it_is, in_one])
@pytest.mark.parametrize("origin", ORIGINS)
def test_another_shape_is_a_view_where_numpy_has_one(function: Any, origin: str) -> None:
    make = ORIGINS[origin]
    agree(function, lambda: (make(),))


def with_rows(a, n):
    return a.reshape(n, -1)


def with_both(a, n):
    return a.reshape(n, 3 * n)


@pytest.mark.parametrize(
    ("function", "n"), [(with_rows, 0), (with_rows, -3), (with_rows, 5), (with_both, -2)]
)
@pytest.mark.parametrize("shape", [(3, 4), (0, 3)])
def test_there_is_no_shape_with_fewer_than_no_rows_or_with_any_number_of_columns(
    function: Any, n: int, shape: tuple[int, int]
) -> None:
    agree(function, lambda: (np.zeros(shape), n))
    agree(function, lambda: (np.zeros(shape).T, n))


def test_a_view_that_has_to_be_a_copy_is_refused_where_it_would_be_written() -> None:
    def through_flat(a):
        a.flat[0] = 1

    with pytest.raises(KernelError, match="does not lie in order"):
        whorl.kernel(through_flat)(np.zeros((3, 4))[:, ::2])


def test_what_was_broadcast_may_not_be_written_to() -> None:
    def into_many(a):
        np.broadcast_to(a, (3, 4))[0] = 1

    with pytest.raises(KernelError, match="read-only"):
        whorl.kernel(into_many)(np.zeros(4))


def test_shapes_that_do_not_fit_are_an_error_of_the_run() -> None:
    def wide(a):
        return np.broadcast_to(a, (3, 4))

    with pytest.raises(ValueError, match=r"shape \(5,\) does not fit into shape \(3, 4\)"):
        whorl.kernel(wide)(np.zeros(5))


def test_a_deleted_name_is_gone() -> None:
    def gone(a):
        b = a * 2
        total = b.sum()
        del b
        return total

    agree(gone, lambda: (np.arange(5.0),))

    def used(a):
        b = a * 2
        del b
        return b.sum()  # type: ignore[misc]  # noqa: F821  # it is deleted, which is tested

    with pytest.raises(KernelError, match="'b' is deleted before"):
        whorl.kernel(used)(np.zeros(4))
