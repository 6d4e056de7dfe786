# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Launches that make, return and raise arrays, and the memory that they leave: a program.

    python tests/processes/launch_memory.py 1000000

It prints how many objects only the garbage collector could free, and by how many bytes the process
and by how many blocks the interpreter has grown, after a tenth of the launches and at the end.
"""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import whorl


class Refused(Exception):
    """An exception of the user's. Its arguments are more than the launch record has words for."""


@whorl.kernel
def makes_and_returns(a):
    b = np.zeros(len(a))
    b[1:] = a[:-1] * 2
    return b, a[::-1], a, b[a > 3], np.sort(a)


@whorl.kernel
def raises_after_it_has_made(a, n):
    b = np.ones(n)
    c = a * b[0]
    if c[0] >= 0:
        raise ValueError("not below zero", c[0])
    return b, c


def _checked(x):
    if x >= 0:
        raise Refused(x, 1, 2.5, x)
    return x


@whorl.kernel
def raises_deeper(a):
    b = a + 1
    return b, _checked(b[0])


@whorl.kernel
def raises_in_parallel(a):
    b = np.empty(len(a))
    for i in whorl.prange(len(a)):
        if a[i] > 1:
            raise KeyError(i)
        b[i] = a[i]
    return b


@whorl.kernel
def does_not_fit(a, b):
    c = a * 2
    b[:] = c
    return c


@whorl.kernel
def is_out_of_bounds(a, n):
    return np.take(a * 2, n)


@whorl.kernel
def asks_for_too_much(n):
    return np.zeros(3), np.ones(n)


@whorl.kernel
def solves(m, a):
    return np.linalg.solve(m, a)


@whorl.kernel(debug=True)
def is_out_of_bounds_and_checked(a, n):
    b = a + 1
    return b[n]


_A: Final = np.arange(64.0)
_CUBE: Final = np.zeros((2, 3, 4, 5))
LAUNCHES: Final[tuple[Callable[[], Any], ...]] = (
    lambda: makes_and_returns(_A),
    lambda: raises_after_it_has_made(-_A - 1, 64),
    lambda: raises_after_it_has_made(_A, 64),
    lambda: raises_deeper(_A),
    lambda: raises_in_parallel(_A),
    lambda: does_not_fit(_A, np.zeros(63)),
    lambda: does_not_fit(_CUBE, _CUBE[:1, :2]),
    lambda: is_out_of_bounds(_A, 64),
    lambda: asks_for_too_much(1 << 60),
    lambda: solves(np.zeros((3, 3)), _A[:3]),
    lambda: is_out_of_bounds_and_checked(_A, 99),
)


def resident() -> int:
    """The memory that this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def launch(count: int) -> None:
    """Make so many launches, all kinds in turns."""
    for i in range(count):
        with contextlib.suppress(ValueError, IndexError, KeyError, MemoryError, Refused):
            LAUNCHES[i % len(LAUNCHES)]()


def main(count: int) -> dict[str, int]:
    """What so many launches leave behind."""
    launch(2_000)  # all launches are native, and memory has the size that it needs
    gc.collect()
    gc.disable()
    launch(count // 10)
    begin, blocks = resident(), sys.getallocatedblocks()
    launch(count - count // 10)
    growth, more = resident() - begin, sys.getallocatedblocks() - blocks
    return {"cyclic": gc.collect(), "bytes": growth, "blocks": more}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
