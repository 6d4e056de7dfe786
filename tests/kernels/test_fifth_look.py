"""Where compiled kernels were not what plain Python is: reductions, names, vectors, messages."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl

INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


# -- reductions of bools, and of the ends of integer types ------------------------------


@whorl.kernel
def greatest(start, x):
    s = start
    for i in whorl.prange(x.size):
        s = max(s, x[i])
    return s


@whorl.kernel
def least(start, x):
    s = start
    for i in whorl.prange(x.size):
        s = min(s, x[i])
    return s


@whorl.kernel
def added(start, x):
    s = start
    for i in whorl.prange(x.size):
        s += x[i]
    return s


@whorl.kernel
def multiplied(start, x):
    s = start
    for i in whorl.prange(x.size):
        s *= x[i]
    return s


REDUCTIONS = [greatest, least, added, multiplied]


def several_bools() -> list[Any]:
    rows = [np.zeros(200, bool), np.ones(200, bool), np.arange(200) % 2 == 0]
    rows += [np.arange(200) == place for place in (0, 77, 199)]
    return [each for row in rows for each in (row, ~row)] + [np.zeros(0, bool), np.ones(3, bool)]


@pytest.mark.parametrize("kernel", REDUCTIONS)
@pytest.mark.parametrize("kind", [bool, np.bool_])
@pytest.mark.parametrize("threads", [1, 2])
def test_bools_are_reduced_as_python_does_it(kernel: Any, kind: Any, threads: int) -> None:
    whorl.configure(threads=threads)
    for start in (kind(False), kind(True)):
        for x in several_bools():
            assert kernel(start, x) == kernel.interpret(start, x), (start, x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_ends_of_integer_types_are_found_by_reductions(dtype: Any) -> None:
    info = np.iinfo(dtype)
    for value in (info.min, info.min + 1, 0, info.max - 1, info.max):
        x = np.full(100, value, dtype)
        for start in (dtype.type(info.min), dtype.type(info.max)):
            assert greatest(start, x) == max(int(start), value)
            assert least(start, x) == min(int(start), value)
