"""The kernel language: plain Python over NumPy arrays in, machine code out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .array import GradArray, array
    from .counter_random import random, random_normal
    from .decompositions import eig, eigh, polar, svd
    from .graph_names import GraphStatus, checkpoint
    from .language import (
        Array,
        atomic_add,
        atomic_max,
        atomic_min,
        bool_,
        distinct,
        f32,
        f64,
        func,
        i8,
        i16,
        i32,
        i64,
        ndrange,
        prange,
        static,
        u8,
        u16,
        u32,
        u64,
    )
    from .numeric_kernel import NumericKernel, kernel
    from .small_vectors import cross, dot, mat, norm, vec, zeros
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "array": "GradArray array",
            "counter_random": "random random_normal",
            "decompositions": "eig eigh polar svd",
            "graph_names": "GraphStatus checkpoint",
            "numeric_kernel": "NumericKernel kernel",
            "language": (
                "Array atomic_add atomic_max atomic_min bool_ distinct f32 f64 func i16 "
                "i32 i64 i8 ndrange prange static u16 u32 u64 u8"
            ),
            "small_vectors": "cross dot mat norm vec zeros",
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
    "eig",
    "eigh",
    "f32",
    "f64",
    "func",
    "i8",
    "i16",
    "i32",
    "i64",
    "kernel",
    "mat",
    "ndrange",
    "norm",
    "polar",
    "prange",
    "random",
    "random_normal",
    "static",
    "svd",
    "u8",
    "u16",
    "u32",
    "u64",
    "vec",
    "zeros",
]
