"""The kernel language: plain Python over NumPy arrays in, machine code out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .array import GradArray, array
    from .counter_random import random, random_normal
    from .graph_names import GraphStatus, checkpoint
    from .language import (
        Array,
        atomic_add,
        atomic_max,
        atomic_min,
        bool_,
        cross,
        distinct,
        dot,
        f32,
        f64,
        func,
        i8,
        i16,
        i32,
        i64,
        norm,
        prange,
        static,
        u8,
        u16,
        u32,
        u64,
        vec,
        zeros,
    )
    from .numeric_kernel import NumericKernel, kernel
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "array": "GradArray array",
            "counter_random": "random random_normal",
            "graph_names": "GraphStatus checkpoint",
            "numeric_kernel": "NumericKernel kernel",
            "language": (
                "Array atomic_add atomic_max atomic_min bool_ cross distinct dot f32 f64 func i16 "
                "i32 i64 i8 norm prange static u16 u32 u64 u8 vec zeros"
            ),
        },
    )

__all__ = [
    "Array",
    "GradArray",
    "GraphStatus",
    "NumericKernel",
    "array",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "bool_",
    "checkpoint",
    "cross",
    "distinct",
    "dot",
    "f32",
    "f64",
    "func",
    "i8",
    "i16",
    "i32",
    "i64",
    "kernel",
    "norm",
    "prange",
    "random",
    "random_normal",
    "static",
    "u8",
    "u16",
    "u32",
    "u64",
    "vec",
    "zeros",
]
