"""A name of an expression that is used once is stored only where that is needed."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree


def in_a_row(a, b):
    t = a + b
    u = t * 2
    return u - 1


def beside_new_memory(a, b):
    x = a * 3
    z = np.zeros(len(a))
    z[:] = 3
    z += b
    return x + z


def reduced(a, b):
    t = a - b
    u = t * t
    return u.sum()


def changed_between(a, b):
    t = a + b
    a[0] = 100
    return t * 1


def changed_by_itself(a, b):
    t = a[::-1] * 2
    a[:] = t


def changed_in_a_function(a, b):
    t = a + b
    emptied(a)
    return t * 1


def emptied(x):
    x[:] = 0


def used_in_a_loop(a, b):
    t = a * b
    s = 0.0
    for i in range(len(a)):
        s += t[i]
    return s


def used_in_a_branch(a, b):
    t = a * b
    if a[0] > 0:
        a[:] = 0
        return t + 1
    return a


def made_in_a_loop(a, b):
    s = 0.0
    for i in range(3):
        t = a + i
        u = t * b
        a[i] = s
        s += u[1]
    return s


def carried_to_a_later_statement(a, b):
    t = a + 1
    n = 0
    while n < 3:
        b[n] = n
        n += 1
    return t + b


def of_a_new_array(a, b):
    z = a.copy()
    t = z * 2
    z[0] = 50
    return t + 0


def stretched(a, b):
    w = np.sqrt(a)
    return b[:, None] * w


@pytest.mark.parametrize(
    "function",
    [
        in_a_row, beside_new_memory, reduced, changed_between, changed_by_itself,
        changed_in_a_function, used_in_a_loop, used_in_a_branch, made_in_a_loop,
        carried_to_a_later_statement, of_a_new_array, stretched,
    ],
)  # fmt: skip
def test_names_mean_what_they_mean_in_numpy(function: Any) -> None:
    agree(function, lambda: (np.arange(1.0, 6.0), np.arange(5.0) * 3), ulps=1)


def allocations(function: Any) -> int:
    kernel = whorl.kernel(function)
    kernel(np.arange(1.0, 6.0), np.arange(5.0))
    text: str = kernel.inspect()
    return text.count("= allocate") - text.count("for array")


def test_what_is_used_once_is_not_stored() -> None:
    assert allocations(in_a_row) == 0
    assert allocations(reduced) == 1  # the difference, which is used twice
    assert allocations(beside_new_memory) == 1


def test_what_would_be_evaluated_again_and_again_is_stored() -> None:
    assert allocations(used_in_a_loop) == 1
    assert allocations(stretched) == 1
