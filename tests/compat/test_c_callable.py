"""`cfunc` makes functions that C can call."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.processes.programs import printed, written
from whorl.compat import numba
from whorl.compat.numba import carray, cfunc, njit, types


@cfunc("float64(intc, CPointer(double))")
def weighted(n: Any, x: Any) -> Any:
    return n * x[0] + x[1]


@cfunc(types.void(types.CPointer(types.float32), types.intp, types.intp))
def double_all(pointer: Any, n: Any, m: Any) -> None:
    a = carray(pointer, (n, m))
    for i in range(n):
        for j in range(m):
            a[i, j] *= 2


@cfunc("int8(float32, uint8, bool)")
def product(x: Any, n: Any, is_wanted: Any) -> Any:
    return x * n if is_wanted else -1


def test_numbers_of_all_widths_travel() -> None:
    assert product.ctypes(1.5, 4, True) == 6
    assert product.ctypes(1.5, 4, False) == -1
    assert product.address == ctypes.cast(product.ctypes, ctypes.c_void_p).value


def test_arrays_are_pointers() -> None:
    x = np.array([2.0, 0.5])
    assert weighted.ctypes(3, x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))) == 6.5
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    double_all.ctypes(a.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), 2, 3)
    assert a.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_c_calls_it_back() -> None:
    @cfunc("int32(CPointer(double), CPointer(double))")
    def compare(a: Any, b: Any) -> Any:
        return int(a[0] > b[0]) - int(a[0] < b[0])

    c = ctypes.CDLL(None)
    x = np.random.default_rng(1).random(100)
    c.qsort(x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(100), ctypes.c_size_t(8),
            compare.ctypes)  # fmt: skip
    assert x.tolist() == sorted(x)


def test_kernels_and_python_call_it_too() -> None:
    @njit
    def total(x: Any) -> Any:
        return weighted(3, x)

    x = np.array([2.0, 0.5])
    assert total(x) == weighted(3, x) == 6.5


def test_what_c_cannot_get_is_refused() -> None:
    @cfunc("float64(float64)")
    def checked(x: Any) -> Any:
        if x < 0:
            raise ValueError("below zero")
        return x

    @cfunc("float64(float64)")
    def nothing(x: Any) -> None:
        pass

    with pytest.raises(numba.NotInWhorl, match="raises ValueError"):
        _ = checked.address
    with pytest.raises(TypeError, match="does not return what its signature says"):
        _ = nothing.address
    with pytest.raises(numba.NotInWhorl, match="numbers and pointers"):
        cfunc(types.float64(types.float64[:]))(checked.function)
    with pytest.raises(TypeError, match="no signature of a function of C"):
        cfunc(3)


PROGRAM = """
import json, sys
from whorl.compat.numba import cfunc

@cfunc("float64(float64)")
def half(x):
    return x / 2

print(json.dumps([half.ctypes(3.0), "llvmlite" in sys.modules]))
"""


def test_another_process_needs_no_compiler(tmp_path: Path) -> None:
    program = written(tmp_path, {"program.py": PROGRAM}) / "program.py"
    cache = {"WHORL_CACHE_DIR": str(tmp_path / "cache")}
    assert printed(program, environment=cache) == [1.5, True]
    assert printed(program, environment=cache) == [1.5, False]
