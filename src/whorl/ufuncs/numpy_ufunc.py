"""Makes ufuncs of NumPy from addresses of loops, through NumPy's C interface."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass
from whorl.lazy import load

__all__ = ["IDENTITIES", "NativeLoop", "make_ufunc"]

IDENTITIES: Final[dict[Any, int]] = {0: 0, 1: 1, None: -1, "reorderable": -2}
"""What a reduction begins with, and NumPy's number for it."""

_FROM_LOOPS: Final = 31  # the place of PyUFunc_FromFuncAndDataAndSignature in NumPy's table

_immortal: Final[list[object]] = []  # NumPy keeps addresses, not references


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """One loop of a ufunc."""

    address: int
    block: Any  # what it is called with
    lives: object  # what has to live as long as the ufunc
    dtypes: tuple[np.dtype[Any], ...]


def make_ufunc(
    loops: Sequence[NativeLoop],
    inputs: int,
    name: str,
    doc: str | None,
    identity: Any = None,
    layout: str | None = None,
) -> np.ufunc:
    """A ufunc with these loops. NumPy takes the first one that its operands can be cast to."""
    count = len(loops)
    operands = len(loops[0].dtypes)
    functions = (ctypes.c_void_p * count)(*[loop.address for loop in loops])
    blocks = (ctypes.c_void_p * count)(*[ctypes.addressof(loop.block) for loop in loops])
    types = bytes(dtype.num for loop in loops for dtype in loop.dtypes)
    types_buffer = ctypes.create_string_buffer(types, len(types))
    names = ctypes.create_string_buffer(name.encode())
    docs = ctypes.create_string_buffer((doc or "").encode())
    signature = None if layout is None else ctypes.create_string_buffer(layout.encode())
    _immortal.append((functions, blocks, types_buffer, names, docs, signature, tuple(loops)))
    ufunc: np.ufunc = _constructor()(
        functions, blocks, types_buffer, count, inputs, operands - inputs, IDENTITIES[identity],
        names, docs, 0, signature,
    )  # fmt: skip
    return ufunc


@cache
def _constructor() -> Any:
    pointer, number = ctypes.c_void_p, ctypes.c_int
    get = ctypes.pythonapi["PyCapsule_GetPointer"]
    get.restype, get.argtypes = pointer, [ctypes.py_object, ctypes.c_char_p]
    capsule = load("numpy._core._multiarray_umath")._UFUNC_API
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(pointer))
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, number, number, number, number, pointer,
        pointer, number, pointer,
    )  # fmt: skip
    return prototype(table[_FROM_LOOPS])
