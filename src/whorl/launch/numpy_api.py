"""Functions of NumPy's C API that machine code calls: they make the arrays that a kernel returns.

NumPy exports no names, but a table of addresses, in which each function has had its place since
the first release of the table.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Final

__all__ = ["NUMPY", "numpy_address"]

_PLACES: Final = {
    "PyArray_Type": 2,
    "PyArray_DescrFromType": 45,
    "PyArray_New": 93,
    "PyArray_GetPtr": 160,
    "PyArray_Zeros": 183,
}
NUMPY: Final = frozenset(_PLACES)
"""The names that code may have for them."""


def numpy_address(name: str) -> int:
    """The address of a function, or of the class of arrays.

    >>> import numpy as np
    >>> numpy_address("PyArray_Type") == id(np.ndarray)
    True
    """
    return int(_table()[_PLACES[name]])


@cache
def _table() -> Any:
    name = "numpy._core._multiarray_umath"
    if name not in sys.modules:  # before NumPy 2
        name = "numpy.core._multiarray_umath"
    capsule = sys.modules[name]._ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ctypes.cast(pointer, ctypes.c_void_p).value or 0
    )
    return ctypes.cast(address(capsule, None), ctypes.POINTER(ctypes.c_uint64))
