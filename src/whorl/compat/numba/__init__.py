"""The names of Numba, for programs that exchange one import: `import whorl.compat.numba as numba`.

A function becomes a kernel of whorl: it is found in the cache if nothing that it reads has changed,
and compiled otherwise. docs/guides/numba.md says what differs from Numba on purpose.
"""

from __future__ import annotations

from typing import Any

from whorl.kernels import prange

from . import number_types as types
from .decorators import cfunc, guvectorize, jit, njit, stencil, vectorize
from .missing import NotInWhorl, experimental, jitclass, objmode, typed
from .number_types import (
    b1,
    bool_,
    boolean,
    c8,
    c16,
    complex64,
    complex128,
    f4,
    f8,
    float32,
    float64,
    i1,
    i2,
    i4,
    i8,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    intp,
    typeof,
    u1,
    u2,
    u4,
    u8,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
    void,
)
from .thread_count import get_num_threads, set_num_threads

__all__ = [
    "NotInWhorl", "b1", "bool_", "boolean", "c8", "c16", "cfunc", "complex64", "complex128",
    "experimental", "f4", "f8", "float32", "float64", "get_num_threads", "guvectorize", "i1", "i2",
    "i4", "i8", "int8", "int16", "int32", "int64", "int_", "intc", "intp", "jit", "jitclass",
    "literal_unroll", "njit", "objmode", "prange", "set_num_threads", "stencil", "typed", "typeof",
    "types", "u1", "u2", "u4", "u8", "uint8", "uint16", "uint32", "uint64", "uintp", "vectorize",
    "void",
]  # fmt: skip


def literal_unroll(items: Any) -> Any:
    """The items themselves: whorl unrolls loops over tuples by itself."""
    return items
