# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Which arrays a kernel uses by nothing but their address is told, and is right."""

from __future__ import annotations

from typing import Any

import numpy as np

import whorl
from tests.kernels.native_calls import needs_native, warmed


@whorl.kernel
def by_address(x, y):
    y[0] = x[1]


@whorl.kernel
def by_extents(x, y, i):
    y[i] = x.shape[0]


@whorl.kernel
def by_rows(x, y):
    y[0] = x[1, 2]


@whorl.kernel
def by_strides(x, y):
    y[0] = x[1]


def summed(x):
    s = 0.0
    for v in x:
        s += v
    return s


@whorl.kernel
def by_function(x, y):
    y[0] = summed(x)


@whorl.kernel
def by_threads(x, y):
    for i in whorl.prange(x.shape[0]):
        y[i] = x[i] + x.shape[0]


@whorl.kernel(debug=True)
def by_checks(x, y):
    y[0] = x[1]


def lean(kernel: Any, *args: Any) -> list[str]:
    """The arguments of which nothing but the address is used."""
    kernel(*args)
    metadata = kernel.specializations()[-1].artifact.metadata
    return [metadata["slots"][number][1] for number in metadata["lean"]]


def test_arrays_whose_extents_are_not_used_are_told() -> None:
    x, y = np.arange(6.0), np.zeros(6)
    assert sorted(lean(by_address, x, y)) == ["x", "y"]
    assert lean(by_extents, x, y, 1) == []
    assert lean(by_rows, x.reshape(2, 3), y) == ["y"]
    assert lean(by_strides, x[::2], y) == ["y"]
    assert lean(by_function, x, y) == ["y"]
    assert lean(by_threads, x, y) == ["y"]
    assert lean(by_checks, x, y) == []


@needs_native
def test_words_that_are_left_as_they_are_are_not_used() -> None:
    x = np.arange(6.0)
    for kernel, args in (
        (by_address, (x,)), (by_rows, (x.reshape(2, 3),)), (by_strides, (x[::2],)),
        (by_function, (x,)), (by_threads, (x,)), (by_checks, (x,)),
    ):  # fmt: skip
        fresh: Any = whorl.kernel(kernel.function)
        found, wanted = np.zeros(6), np.zeros(6)
        kernel.interpret(*args, wanted)
        for _ in range(3):
            warmed(fresh, *args, found)
            assert found.tolist() == wanted.tolist()
