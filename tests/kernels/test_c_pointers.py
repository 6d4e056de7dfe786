"""Kernels call functions of C: objects of ctypes, cffi and SciPy, and what says its address."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.processes.programs import printed, written

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))


def function_of(name: str, result: Any, *parameters: Any) -> Any:
    prototype = ctypes.CFUNCTYPE(result, *parameters)
    return prototype((name, LIBM))


sin = function_of("sin", ctypes.c_double, ctypes.c_double)
hypotf = function_of("hypotf", ctypes.c_float, ctypes.c_float, ctypes.c_float)
frexp = function_of(
    "frexp", ctypes.c_double, ctypes.c_double, ctypes.POINTER(ctypes.c_int)
)  # fmt: skip
ldexp = function_of("ldexp", ctypes.c_double, ctypes.c_double, ctypes.c_int)


@whorl.kernel
def of_ctypes(x: float) -> Any:
    exponent = np.zeros(1, np.int32)
    fraction = frexp(x, exponent)
    return sin(x), hypotf(3 * x, 4 * x), fraction, exponent[0], ldexp(fraction, exponent[0])


def test_functions_of_ctypes_are_called_with_numbers_and_arrays() -> None:
    fraction, exponent = math.frexp(2.5)
    wanted = (math.sin(2.5), np.hypot(np.float32(7.5), np.float32(10)), fraction, exponent, 2.5)
    for _ in range(5):
        assert of_ctypes(2.5) == wanted


@whorl.kernel
def applied(function: Any, x: float) -> Any:
    return function(x)


def test_the_signature_is_a_fact_and_the_address_travels() -> None:
    cos = function_of("cos", ctypes.c_double, ctypes.c_double)
    llround = function_of("llround", ctypes.c_longlong, ctypes.c_double)
    assert [applied(each, 1.0) for each in (sin, cos)] == [math.sin(1.0), math.cos(1.0)]
    assert len(applied.specializations()) == 1
    assert applied(llround, 2.6) == 3
    assert applied(cos, 1.0) == math.cos(1.0)
    assert len(applied.specializations()) == 2


def test_a_declaration_that_is_changed_is_noticed() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.floor.argtypes, library.floor.restype = [ctypes.c_double], ctypes.c_double
    assert applied(library.floor, 2.5) == 2.0
    library.floor.argtypes = [ctypes.c_double, ctypes.c_double]
    with pytest.raises(whorl.KernelError, match="called with 1 arguments"):
        applied(library.floor, 2.5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (ctypes.CDLL(None).labs, "set .argtypes and .restype"),
        (ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(abs), "calls back into Python"),
        (ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(("abs", ctypes.CDLL(None))), r"int\(x\)"),
        (ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(("abs", LIBM)), "Python's C API"),
    ],
)
def test_what_cannot_be_called_says_why(function: Any, message: str) -> None:
    with pytest.raises(whorl.KernelError, match=message):
        applied(function, 2.5)


def test_arrays_that_c_would_misread_are_refused() -> None:
    @whorl.kernel
    def split(function: Any, out: Any) -> Any:
        return function(8.0, out)

    with pytest.raises(whorl.KernelError, match="one of int32"):
        split(frexp, np.zeros(1))
    with pytest.raises(whorl.KernelError, match="ascontiguousarray"):
        split(frexp, np.zeros((4, 4), np.int32)[:, 0])


def test_functions_of_cffi_are_called() -> None:
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("double cosh(double); double frexp(double, int *);")
    library = ffi.dlopen(ctypes.util.find_library("m"))
    assert applied(library.cosh, 1.0) == math.cosh(1.0)


def test_functions_of_scipy_are_called() -> None:
    scipy = pytest.importorskip("scipy")
    special = pytest.importorskip("scipy.special")
    function = scipy.LowLevelCallable.from_cython(special.cython_special, "j0")
    assert applied(function, 1.0) == special.j0(1.0)


class _Sine:
    def __wrapper_address__(self) -> int:
        return int(ctypes.cast(sin, ctypes.c_void_p).value or 0)

    def signature(self) -> str:
        return "float64(float64)"


def test_an_object_may_say_its_address_itself() -> None:
    assert applied(_Sine(), 0.5) == math.sin(0.5)


PROGRAM = """
import ctypes, ctypes.util, json, whorl
libm = ctypes.CDLL(ctypes.util.find_library("m"))
libm.floor.argtypes, libm.floor.restype = [ctypes.c_double], ctypes.c_double
floor = libm.floor

@whorl.kernel
def root(x):
    return floor(x)

print(json.dumps([root(3.5), root.stats().get("compiled", 0)]))
"""


def test_another_process_finds_the_kernel_and_has_the_address_of_its_own(tmp_path: Path) -> None:
    program = written(tmp_path, {"program.py": PROGRAM}) / "program.py"
    cache = {"WHORL_CACHE_DIR": str(tmp_path / "cache")}
    assert printed(program, environment=cache) == [3.0, 1]
    assert printed(program, environment=cache) == [3.0, 0]
