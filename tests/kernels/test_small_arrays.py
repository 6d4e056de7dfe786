"""Small arrays of known shape: arrays as all others, on the stack, in registers, with one name."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree

X = np.arange(1.0, 11.0)


def filled_from_a_part(x, n):
    y = np.zeros(3)
    y[:] = x[:3]
    y[n - 1 : n + 1] += 1
    return y


def of_numbers(x, n):
    v = np.array([x[0], 2, n])
    w = np.array(((1, 2), (3, n)))
    u = np.array([True, False])
    return v, w, u, np.array((1, 2), np.float32), np.array([v, v * 2]), np.array([], np.int64)


def taken_apart(x, n):
    a, b, c = np.array([x[0], x[1], 3.0])
    (d, e), f = np.array([[1.0, 2.0], [3.0, 4.0]])
    g, h = x[:2]
    return a + b * c, d - e, f, g * h


def carried_on(x, n):
    v = np.array([x[0], 2.0, 3.0])
    for i in range(n):
        v = v + x[i]
        if x[i] > 2:
            v = v * 2
    return v


def carried_on_under_two_names(x, n):
    v = np.array([x[0], 2.0, 3.0])
    w = np.zeros(3)
    for i in range(n):
        w = v
        v = v + x[i]
        w[0] = 7
    return v, w


def exchanged(x, n):
    a = np.array([x[0], 2.0, 3.0])
    b = np.zeros(3)
    for i in range(n):
        a, b = b, a
        b[1] += a[1] + x[i]
    return a, b


def shared_until_a_branch(x, n):
    a = np.array([x[0], 2.0, 3.0])
    b = a
    for i in range(n):
        if x[i] > 3:
            a = np.ones(3)
        a[0] += 1
    return a, b


def a_view_sees_the_change(x, n):
    a = np.zeros(4)
    part = a[1:3]
    for i in range(n):
        a[1] += x[i]
    part[1] = 5.0
    return a, part.sum()


def kept_from_an_iteration(x, n):
    best = np.zeros(2)
    for i in range(n):
        now = np.array([x[i], i])
        if i == 1:
            best = now
        now[1] += 10
    return best


def left_by_a_break(x, n):
    v = np.zeros(2)
    for i in range(10):
        v = np.array([x[i], i])
        if i == n:
            break
    return v


def step(v, dt):
    v = v + dt
    v[0] = -v[0]
    return v


def through_functions(x, n):
    v = np.ones(3)
    for i in range(n):
        v = step(v, x[i])
    return v, step(v, 1.0)


def in_nested_loops(x, n):
    total = np.zeros(3)
    for i in range(n):
        row = np.zeros(3)
        for j in range(i):
            row = row + x[j]
        total += row
    return total


def no_elements(x, n):
    v = np.zeros(0)
    w = np.ones((0, 3))
    return v, w, v.sum(), np.full(2, n), np.empty(3).shape


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "function",
    [
        filled_from_a_part, of_numbers, taken_apart, carried_on, carried_on_under_two_names,
        exchanged, shared_until_a_branch, a_view_sees_the_change, kept_from_an_iteration,
        left_by_a_break, through_functions, in_nested_loops, no_elements,
    ],
)  # fmt: skip
def test_small_arrays_are_numpys(function: Any, n: int) -> None:
    agree(function, lambda: (X.copy(), n))


def test_small_arrays_of_a_loop_need_no_memory() -> None:
    kernel = whorl.kernel(carried_on)
    kernel(X, 3)
    text = kernel.inspect("ir")
    assert "on the stack" in text
    assert "bytes" not in text.replace("bytes for array", "")


def test_an_array_that_outlives_its_iteration_is_not_on_the_stack() -> None:
    kernel = whorl.kernel(carried_on_under_two_names)
    kernel(X, 3)
    assert "allocate 24 bytes" in kernel.inspect("ir")


def test_a_wrong_number_of_names_is_an_error_of_the_run() -> None:
    @whorl.kernel
    def pair(x):
        a, b = x
        return a + b

    assert pair(X[:2]) == 3.0
    with pytest.raises(ValueError, match="3 values for 2 names"):
        pair(X[:3])


def parallel(x, out):
    for i in whorl.prange(len(x)):
        v = np.zeros(3)
        v[0] = x[i]
        v[1:] = v[0] * 2
        for _ in range(3):
            v = v + 1
        out[i] = v


def test_each_iteration_of_prange_has_its_own() -> None:
    agree(parallel, lambda: (np.arange(1000.0), np.zeros((1000, 3))))
