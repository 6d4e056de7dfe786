"""What the launcher needs of CPython: some objects, and functions of the C API, in one table.

The table of addresses is made in every process. The launcher is given where it is, and calls a
function as `PyErr_Clear(api)`.
"""

from __future__ import annotations

import ctypes
from types import NoneType
from typing import Any, Final, TypeVar

import numpy as np

from whorl.systems import CFunction, Float, Word, f64, i32, i64, u64

_OBJECTS: Final[tuple[object, ...]] = (
    np.ndarray, int, float, True, False, None, Exception, RecursionError,
)  # fmt: skip
NDARRAY, INT, FLOAT, TRUE, FALSE, NONE, EXCEPTION, RECURSION = range(8)

_functions: Final[list[str]] = []
Result = TypeVar("Result", bound=Word | Float | None)


def _of_c(name: str, result: type[Result], *parameters: type[Word | Float]) -> CFunction[Result]:
    _functions.append(name)
    return CFunction(name, result, *parameters, word=len(_OBJECTS) + len(_functions) - 1)


PyLong_AsLongLongAndOverflow: Final = _of_c("PyLong_AsLongLongAndOverflow", i64, u64, u64)
PyLong_FromLongLong: Final = _of_c("PyLong_FromLongLong", u64, i64)
PyLong_FromUnsignedLongLong: Final = _of_c("PyLong_FromUnsignedLongLong", u64, u64)
PyFloat_FromDouble: Final = _of_c("PyFloat_FromDouble", u64, f64)
PyComplex_FromDoubles: Final = _of_c("PyComplex_FromDoubles", u64, f64, f64)
PyBool_FromLong: Final = _of_c("PyBool_FromLong", u64, i64)
PyBytes_FromStringAndSize: Final = _of_c("PyBytes_FromStringAndSize", u64, u64, u64)
PyTuple_New: Final = _of_c("PyTuple_New", u64, u64)
PyTuple_SetItem: Final = _of_c("PyTuple_SetItem", i32, u64, u64, u64)
PyDict_GetItemWithError: Final = _of_c("PyDict_GetItemWithError", u64, u64, u64)
PyObject_GetAttr: Final = _of_c("PyObject_GetAttr", u64, u64, u64)
PyObject_GetItem: Final = _of_c("PyObject_GetItem", u64, u64, u64)
PyObject_CallOneArg: Final = _of_c("PyObject_CallOneArg", u64, u64, u64)
PyObject_Vectorcall: Final = _of_c("PyObject_Vectorcall", u64, u64, u64, u64, u64)
Py_IncRef: Final = _of_c("Py_IncRef", NoneType, u64)
Py_DecRef: Final = _of_c("Py_DecRef", NoneType, u64)
PyErr_Occurred: Final = _of_c("PyErr_Occurred", u64)
PyErr_Clear: Final = _of_c("PyErr_Clear", NoneType)
PyErr_Fetch: Final = _of_c("PyErr_Fetch", NoneType, u64, u64, u64)
PyErr_NormalizeException: Final = _of_c("PyErr_NormalizeException", NoneType, u64, u64, u64)
PyErr_GivenExceptionMatches: Final = _of_c("PyErr_GivenExceptionMatches", i32, u64, u64)
PyException_SetTraceback: Final = _of_c("PyException_SetTraceback", i32, u64, u64)
PyEval_SaveThread: Final = _of_c("PyEval_SaveThread", u64)
PyEval_RestoreThread: Final = _of_c("PyEval_RestoreThread", NoneType, u64)


def api_table() -> Any:
    """The addresses of the objects and of the functions."""
    addresses = [id(each) for each in _OBJECTS]
    for name in _functions:
        found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
        addresses.append(found.value or 0)
    return (ctypes.c_uint64 * len(addresses))(*addresses)
