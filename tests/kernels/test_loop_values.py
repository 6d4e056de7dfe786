"""Numbers that a loop sets first are there after it, or raise what Python raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl


@whorl.kernel
def left_over(a: Any, n: int, limit: float) -> Any:
    for i in range(n):
        p = a[i] * 2
        if p > limit:
            q = i
            break
    else:
        q = -1
    k = 0
    while k < n:
        k += 1
        for j in range(k):
            last = j + 0.5
    return p, i, last, q


@whorl.kernel
def hit_of(a: Any, n: int, limit: float) -> Any:
    total = 0.0
    for i in range(n):
        if a[i] > limit:
            hit = i
            for j in range(2):
                total += j
    if limit < 0:
        hit = 7
    return hit, total


def test_a_name_keeps_its_last_value_after_the_loop() -> None:
    a = np.arange(6.0)
    for n, limit in ((4, 3.0), (4, 300.0), (1, 0.0), (6, 7.5)):
        assert left_over(a, n, limit) == left_over.interpret(a, n, limit)
    for n, limit in ((6, 2.0), (3, 1.0), (1, -1.0), (0, -1.0)):
        assert hit_of(a, n, limit) == hit_of.interpret(a, n, limit)


def test_a_loop_without_an_iteration_leaves_the_error_of_python() -> None:
    a = np.arange(6.0)
    for _ in range(5):
        with pytest.raises(UnboundLocalError, match="local variable 'p' where it is not"):
            left_over(a, 0, 1.0)
        with pytest.raises(UnboundLocalError, match="local variable 'hit' where it is not"):
            hit_of(a, 3, 9.0)


def test_arrays_that_a_loop_makes_first_are_refused_as_before() -> None:
    @whorl.kernel
    def made(n: int) -> Any:
        for i in range(n):
            row = np.zeros(3) + i
        return row

    with pytest.raises(whorl.KernelError, match="'row' has a value only if the loop before"):
        made(3)
