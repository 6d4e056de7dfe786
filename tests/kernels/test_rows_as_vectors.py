"""Rows of an argument that are used as vectors in a loop: their length is a fact, and is small."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from tests.kernels.native_calls import needs_native, warmed


def forces(x, f):
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                r = x[i] - x[j]
                d = np.dot(r, r) + 0.5
                f[i] += r / d
                f[j] -= r[::-1] * 0.25


def turned(x, f):
    m = np.zeros((len(f), x.shape[1], x.shape[1]))
    for i in range(len(x)):
        m[i] = np.outer(x[i], x[i])
        f[i] = m[i] @ x[i]
    return m


def elements(x, f):
    for i in range(len(x)):
        for j in range(x.shape[1]):
            f[i, j] += x[i, j]


@pytest.mark.parametrize("function", [forces, turned])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 9, 20])
def test_rows_of_any_length_are_numpys(function: Any, size: int) -> None:
    x = np.random.default_rng(1).random((6, size))
    agree(function, lambda: (x.copy(), np.zeros((6, size))), ulps=64)
    agree(function, lambda: (np.asfortranarray(x), np.zeros((6, size))), ulps=64)


def test_rows_of_three_need_no_memory() -> None:
    kernel = whorl.kernel(forces)
    kernel(np.ones((4, 3)), np.zeros((4, 3)))
    assert "= allocate" not in kernel.inspect()


def test_only_what_uses_rows_as_vectors_is_compiled_for_their_length() -> None:
    of_rows, of_elements = whorl.kernel(forces), whorl.kernel(elements)
    for size in (2, 3, 2):
        of_rows(np.ones((4, size)), np.zeros((4, size)))
        of_elements(np.ones((4, size)), np.zeros((4, size)))
    assert of_rows.stats()["compiled"] == 2
    assert of_elements.stats()["compiled"] == 1


@needs_native
def test_launches_stay_native() -> None:
    kernel = whorl.kernel(forces)
    for size in (3, 2):
        x, f, expected = np.random.rand(4, size), np.zeros((4, size)), np.zeros((4, size))
        warmed(kernel, x, f)
        for _ in range(5):
            forces(x, expected)
        np.testing.assert_allclose(f, expected, rtol=1e-12)
