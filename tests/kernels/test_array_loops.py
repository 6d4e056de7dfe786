"""Loops over arrays, their rows, elements and indices take the items that Python's take."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from whorl.errors import KernelError


def over_rows(a, n):
    s = 0.0
    for k, row in enumerate(a):
        s += k * row[1]
    for row in a:
        row[0] = 5.0
        for v in row:
            s = s * 0.5 + v
    for v in a[0] * 2:
        s += v
    return s


def side_by_side(a, n):
    s = 0.0
    for u, v in zip(a[0], a[1], strict=False):
        s += u * v
    for u, v, w in zip(a[0], a[1], range(3, n, 2), strict=False):
        s += u * v * w
    for k, (u, v) in enumerate(zip(a[0], a[1], strict=False), 2):
        s += u * v * k
    for u, x in zip(a[1], (1.0, 2.0, 3.0), strict=False):
        s += u * x
    for k, u in enumerate(range(n)):
        s += k * u
    return s


def backwards(a, n):
    s = 0.0
    for v in reversed(a[0]):
        s = s * 2 + v
    for k in reversed(range(1, n, 2)):
        s = s * 2 + k
    for k, v in enumerate(reversed(a[1])):
        s = s * 2 + k * v
    return s


def by_indices(a, n):
    s = 0.0
    for p in np.ndindex(a.shape):
        s += a[p] * p[0]
    for p, q in np.ndindex(2, 3):
        s += a[p, q]
    for p, q in np.ndindex((2, n - 1)):
        if q == 1:
            continue
        if p == 1 and q == 3:
            break
        s += a[p, q]
    else:
        s = -1.0
    for p, v in np.ndenumerate(a):
        s += v * p[1]
    for (p, _), v in np.ndenumerate(a.T):
        s += v * p
    return s


def flat(a, n):
    s = 0.0
    for v in a.flat:
        s = s * 0.5 + v
    for v in a.T.flat:
        s = s * 0.5 + v
    for v in a[::2, ::-1].flat:
        s = s * 0.5 + v
        if v > 20:
            break
    return s


def small_and_changed(a, n):
    v = np.zeros(3)
    s = 0.0
    for x in v:
        s += x
        v += 1
    for i, x in enumerate(v):
        s += i * x
    return s


@pytest.mark.parametrize(
    "function", [over_rows, side_by_side, backwards, by_indices, flat, small_and_changed]
)
@pytest.mark.parametrize("n", [3, 6])
def test_loops_are_pythons(function: Any, n: int) -> None:
    agree(function, lambda: (np.arange(24.0).reshape(4, 6) + 1, n))
    agree(function, lambda: (np.asfortranarray(np.arange(24.0).reshape(4, 6)), n))


def test_loops_over_nothing_have_no_iteration() -> None:
    def counted(a, n):
        s = 0
        for _ in a.flat:
            s += 1
        for _ in np.ndindex(n, 3):
            s += 1
        for _ in zip(a, range(n), strict=False):
            s += 1
        return s

    agree(counted, lambda: (np.zeros((0, 3)), 0))
    agree(counted, lambda: (np.zeros((3, 0)), 2))


def rows_at_once(a, out):
    for i in whorl.prange(len(a)):
        for j, v in enumerate(a[i]):
            out[i] += j * v
        for p, q in np.ndindex(2, 2):
            out[i] += a[p, q]


def test_loops_in_prange_are_pythons() -> None:
    agree(rows_at_once, lambda: (np.arange(24.0).reshape(4, 6), np.zeros(4)))


def test_several_axes_beside_others_are_refused() -> None:
    def mixed(a):
        for p, v in zip(np.ndindex(2, 2), a, strict=False):
            a[0] = v + p[0]

    with pytest.raises(KernelError, match="several axes at once"):
        whorl.kernel(mixed)(np.zeros(4))
