"""Loops over all indices: `whorl.ndrange`, `np.ndindex`, serial and parallel."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, arg-type"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl


@whorl.kernel
def of_a_shape(x):
    for i, j in whorl.ndrange(*x.shape):
        x[i, j] += 10 * i + j
    for index in np.ndindex(x.shape):
        x[index] *= 2
    for i, j in np.ndindex(*x.shape):
        x[i, j] -= 1


@whorl.kernel
def with_starts(x):
    order = 0
    for i, j, k in whorl.ndrange(3, (2, 4), (-1, 2)):
        if k == 0:
            continue
        if i == 2:
            break
        order = order * 3 + i + 5 * j - k
    else:
        order = -1
    return order, i, j, k


@whorl.kernel
def in_parallel(x, y):
    total, most = 0, 0
    for i, j in whorl.prange(whorl.ndrange((1, x.shape[0]), (0, x.shape[1] - 1))):
        if j == 1:
            continue
        x[i, j] += 10 * i + j
        y[0, j] += i
        total += i * j
        most = max(most, i + j)
    for index in whorl.prange(np.ndindex(x.shape)):
        x[index] += 0.5
    for i, j in whorl.prange(np.ndindex(*x.shape)):
        for k, m in whorl.prange(whorl.ndrange(2, 2)):
            y[1, j] += i * k + m
    return total, most


@whorl.kernel
def empty(x):
    count = 0
    for _ in whorl.ndrange(3, 0):
        count += 1
    for _, _ in whorl.prange(whorl.ndrange(0, 3)):
        count += 1
    for _, _ in whorl.prange(whorl.ndrange(3, (2, 1))):
        count += 1
    for index in whorl.prange(np.ndindex(x.shape)):
        x[index] += 1
    return count


@whorl.kernel
def with_a_name(x):
    total = 0
    every = whorl.ndrange(2, 3)
    for i, j in every:
        total += i - 2 * j
    for (i,) in whorl.ndrange(4):
        total += i
    for index in whorl.prange(whorl.ndrange(2, 3)):
        x[index] = index[0] - index[1]
    return total


@pytest.mark.parametrize("kernel", [of_a_shape, with_starts, empty, with_a_name])
def test_loops_over_all_indices_are_those_of_plain_python(kernel: Any) -> None:
    one, other = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
    assert kernel(one) == kernel.interpret(other)
    assert np.array_equal(one, other)
    kernel(np.zeros((2, 3)))


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (200, 70), (0, 3)])
def test_parallel_loops_over_all_indices_reach_each_once(shape: Any) -> None:
    results = []
    for run in (in_parallel, in_parallel.interpret):
        x, y = np.zeros(shape), np.zeros((2, shape[1]))
        results.append((run(x, y), x.tolist(), y.tolist()))
    assert results[0] == results[1]


def test_arrays_without_dimensions_have_one_index() -> None:
    x = np.zeros(())
    empty(x)
    assert x == 1


def test_elements_that_belong_to_the_first_index_are_changed_without_atomics() -> None:
    in_parallel(np.zeros((3, 4)), np.zeros((2, 4)))
    text = in_parallel.inspect()
    assert "update own $0[i, i~2]" in text
    assert "update shared $1[0, i~2]" in text


@whorl.kernel
def left_early(x):
    for i, _ in whorl.prange(whorl.ndrange(3, 2)):
        if i == 1:
            break


@whorl.kernel
def three_bounds(x):
    for _ in whorl.ndrange(3, (2, 3, 4)):
        pass


@whorl.kernel
def of_floats(x):
    for _ in whorl.prange(whorl.ndrange(3, 2.5)):
        pass


@whorl.kernel
def nothing(x):
    for _ in whorl.ndrange():
        pass


@whorl.kernel
def of_a_name(x):
    every = whorl.ndrange(2, 2)
    for _ in whorl.prange(every):
        pass


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (left_early, "break inside of prange"),
        (three_bounds, "a range of whorl.ndrange is a length, or a start and a stop"),
        (of_floats, "an index is an int, not float"),
        (nothing, "takes at least one range"),
        (of_a_name, "Write whorl.ndrange(...) or np.ndindex(...) inside of whorl.prange(...)"),
    ],
)
def test_what_is_no_range_of_indices_is_refused(kernel: Any, words: str) -> None:
    with pytest.raises(whorl.KernelError) as caught:
        kernel(np.zeros(3))
    assert words in str(caught.value)


def test_plain_python_refuses_the_same() -> None:
    with pytest.raises(TypeError, match="at least one range"):
        whorl.ndrange()
    with pytest.raises(TypeError, match="a start and a stop"):
        whorl.ndrange((1, 2, 3))
    with pytest.raises(TypeError):
        whorl.ndrange(2.5)
