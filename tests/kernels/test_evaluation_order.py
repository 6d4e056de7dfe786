"""Names have the values that Python gives them: in calls, in expressions, in and after loops."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import same


def set_first(x, value):
    x[0] = 5.0
    return value


@whorl.kernel
def held(x):
    v = whorl.vec(1.0, 2.0)
    pair = set_first(x, (x[0], x[1]))
    return set_first(x, x[1]), set_first(v, v[0]), pair, v[0]


@whorl.kernel
def held_in_targets(x):
    x[int(set_first(x, 1.0))] = x[0]
    for a in (x[0], x[1]):
        x[1] = 9.0
        x[2] += a


def test_arguments_are_what_they_are_at_the_call() -> None:
    same(held, np.array([1.0, 2.0]))
    same(held_in_targets, np.array([1.0, 2.0, 3.0]))


@whorl.kernel
def walrus(x):
    y = z = w = 1
    first = x > 0 and (y := x * 2) > 1
    second = (z := x) if x > 0 else 7
    third = x > 0 or bool(w := 5)
    return y, z, w, first, second, third


def test_names_set_in_an_expression_are_set_only_where_it_is_evaluated() -> None:
    same(walrus, -3)
    same(walrus, 3)


@whorl.kernel
def left_by_else(x, n):
    total = 0.5
    for i in range(n):
        total += x[i]
        for _j in range(n, 0):
            break
        else:
            total += 100.0
            break
        total = 7.0
    return total


@whorl.kernel
def left_by_rounds(x):
    s = 0.25
    for k in whorl.static(range(4)):
        s += x[k]
        if x[k] > 1.5:
            break
    else:
        s = -1.0
    for k in (1, 2):
        s *= 2
        return s + k
    return s


def test_ways_out_of_else_and_of_written_out_rounds_keep_what_was_set() -> None:
    same(left_by_else, np.arange(4.0), 3)
    same(left_by_rounds, np.arange(4.0))
    same(left_by_rounds, np.zeros(4))


@whorl.kernel
def counted(x, n):
    s = 0.0
    for i, a in enumerate(x, start=n):
        s += i * a
    for i, a in enumerate((1.0, 2.0), start=3):
        s += i * a
    return s


def test_enumerate_takes_its_start_by_name() -> None:
    same(counted, np.arange(4.0), 10)


FAR = 2**62


@whorl.kernel
def far(start, stop, step, size, seen):
    for i in whorl.prange(start, stop, step):
        seen[i // size + 2] = i


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (0, 2**63 - 1, FAR),
        (-(2**63), 2**63 - 1, FAR),
        (-(2**63), 2**63 - 1, 2**63 - 1),
        (2**63 - 1, -(2**63), -FAR),
        (5, 5, FAR), (5, 4, FAR), (4, 5, -FAR), (0, 10, 3), (10, 0, -3), (1, 10, 9), (1, 10, 11),
    ],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_loops_with_far_steps_have_the_rounds_of_a_range(
    start: int, stop: int, step: int, threads: int
) -> None:
    before = whorl.configure(threads=threads)
    try:
        seen = np.full(16, 77, np.int64)
        size = FAR if abs(step) > 100 else 1
        far(start, stop, step, size, seen)
    finally:
        whorl.configure(threads=before.threads.value)
    expected = np.full(16, 77, np.int64)
    for i in range(start, stop, step):
        expected[i // size + 2] = i
    assert seen.tolist() == expected.tolist()


@whorl.kernel
def halved_until(n):
    while (y := n * 2) > 2:
        n -= 1
    return y


@whorl.kernel
def halved_with_breaks(n):
    steps = 0
    while (y := n * 2) > 2 and n + steps > 0:
        n -= 1
        if n == 5:
            break
        y = 100.5
        steps += 1
    else:
        y += 1000
    return y, steps


@whorl.kernel
def known_by_half(n):
    while n > 2 and (y := n * 2) > 6:
        n -= 1
    return y


@pytest.mark.parametrize("kernel", [halved_until, halved_with_breaks])
def test_what_the_test_of_a_while_names_has_a_value_after_it(kernel: Any) -> None:
    for n in (0, 3, 9):
        assert kernel(n) == kernel.interpret(n)


OFF = False


@whorl.kernel
def never(n):
    while OFF:
        n += 1
    return n


@whorl.kernel
def never_but_else(n):
    m = n
    while y := whorl.static(not True):
        m += 1.5
    m += 10
    return m, y


@pytest.mark.parametrize("kernel", [never, never_but_else])
def test_a_while_whose_test_is_known_to_be_false_has_no_round(kernel: Any) -> None:
    assert kernel(3) == kernel.interpret(3)


def test_what_only_part_of_a_test_names_has_a_value_if_that_part_was_reached() -> None:
    assert known_by_half(5) == known_by_half.interpret(5) == 6
    assert known_by_half(3) == known_by_half.interpret(3) == 6
    for run in (known_by_half, known_by_half.interpret):
        with pytest.raises(UnboundLocalError, match="'y'"):
            run(2)
