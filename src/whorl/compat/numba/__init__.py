"""The names of Numba, for programs that exchange one import: `import whorl.compat.numba as numba`.

A function becomes a kernel of whorl: it is found in the cache if nothing that it reads has changed,
and compiled otherwise. docs/guides/numba.md says what differs from Numba on purpose.
"""

from __future__ import annotations

import sys
from typing import Any

from whorl.kernels import prange

from . import extending, numba_errors, number_types
from . import number_types as types
from .c_callable import carray, farray
from .decorators import cfunc, guvectorize, jit, njit, stencil, vectorize
from .missing import NotInWhorl, cuda, experimental, jitclass, objmode, typed
from .numba_config import config
from .numba_errors import (
    NumbaDeprecationWarning,
    NumbaPendingDeprecationWarning,
    NumbaPerformanceWarning,
    TypingError,
)
from .number_types import (
    b1,
    bool_,
    boolean,
    c8,
    c16,
    complex64,
    complex128,
    double,
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
    none,
    optional,
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
from .thread_count import (
    get_num_threads,
    get_parallel_chunksize,
    get_thread_id,
    set_num_threads,
    set_parallel_chunksize,
    threading_layer,
)

__all__ = [
    "NotInWhorl",
    "NumbaDeprecationWarning",
    "NumbaPendingDeprecationWarning",
    "NumbaPerformanceWarning",
    "TypingError",
    "b1",
    "bool_",
    "boolean",
    "c8",
    "c16",
    "carray",
    "cfunc",
    "complex64",
    "complex128",
    "config",
    "cuda",
    "double",
    "errors",
    "experimental",
    "extending",
    "f4",
    "f8",
    "farray",
    "float32",
    "float64",
    "get_num_threads",
    "get_parallel_chunksize",
    "get_thread_id",
    "guvectorize",
    "i1",
    "i2",
    "i4",
    "i8",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "intc",
    "intp",
    "jit",
    "jitclass",
    "literal_unroll",
    "njit",
    "none",
    "objmode",
    "optional",
    "prange",
    "set_num_threads",
    "set_parallel_chunksize",
    "stencil",
    "threading_layer",
    "typed",
    "typeof",
    "types",
    "u1",
    "u2",
    "u4",
    "u8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintp",
    "vectorize",
    "void",
]  # fmt: skip

errors = numba_errors
_MODULES = {
    "config": config, "core": numba_errors, "core.errors": numba_errors, "cuda": cuda,
    "errors": numba_errors, "experimental": experimental, "typed": typed, "types": number_types,
}  # fmt: skip
for _name, _module in _MODULES.items():  # `from whorl.compat.numba.typed import List`
    sys.modules.setdefault(f"{__name__}.{_name}", _module)


def literal_unroll(items: Any) -> Any:
    """The items themselves: whorl unrolls loops over tuples by itself."""
    return items
