"""The systems dialect as plain Python: machine words, memory, C functions.

whorl writes its own hot paths in it. A function of the dialect is an ordinary function over the
names of this package. It runs in two ways: here, in plain Python, where memory is read through
`ctypes` (the twin); and compiled, by the compiler of kernels (`kernels.systems_compiler`), which
knows these names as it knows `range`. Nothing here imports that compiler.

    u8 ... u64, i8 ... i64, f32, f64   numbers of one type; integers wrap, and never mix unasked
    load, store, stack                 memory at an address, and a few words of it on the stack
    upto                               `for i in upto(n)`: a count of type u64
    CFunction                          a function of C by its address and its signature
    Constants                          numbers that are known when the code is compiled: offsets
    routine, inlined, cold             functions that are compiled as functions of their own
"""

from __future__ import annotations

from .c_functions import CFunction, Twin
from .constants import Constants
from .inlining import cold, inlined, inlining_of, routine
from .raw_memory import load, stack, store, upto
from .words import Float, Word, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

__all__ = [
    "CFunction", "Constants", "Float", "Twin", "Word", "cold", "f32", "f64", "i8", "i16", "i32",
    "i64", "inlined", "inlining_of", "load", "routine", "stack", "store", "u8", "u16", "u32", "u64",
    "upto",
]  # fmt: skip
