"""The public names of whorl: kernels, caches with exact keys, and fingerprints of values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach
from whorl.version import __version__ as __version__

if TYPE_CHECKING:
    from whorl import graph
    from whorl.artifacts import Artifact, Manifest
    from whorl.errors import (
        BadSetting,
        CompilerFailed,
        Drifted,
        KernelError,
        NoCheckpoints,
        NoCompiler,
        NotStatic,
        RequiredHit,
        UnknownCheckpoint,
        UnsafeDirectory,
        UnsupportedFunction,
        UnsupportedRead,
        UnsupportedValue,
        WhorlError,
    )
    from whorl.fingerprint import (
        NOTHING,
        Boundary,
        Difference,
        Digest,
        FieldRule,
        Fingerprinter,
        Marker,
        ProcessDigest,
        StableDigest,
        by_identity,
        by_type,
        diff,
        exclude,
        fields,
        fingerprint,
        ordered,
    )
    from whorl.fleet import WarmResult, warm
    from whorl.jit import Compiler, Explanation, Kernel, Program, Target, jit
    from whorl.kernels import (
        Array,
        GradArray,
        GraphStatus,
        NumericKernel,
        array,
        atomic_add,
        atomic_max,
        atomic_min,
        bool_,
        checkpoint,
        cross,
        distinct,
        dot,
        eig,
        eigh,
        f32,
        f64,
        func,
        i8,
        i16,
        i32,
        i64,
        kernel,
        mat,
        ndrange,
        norm,
        polar,
        prange,
        random,
        random_normal,
        static,
        svd,
        u8,
        u16,
        u32,
        u64,
        vec,
        zeros,
    )
    from whorl.reads import Inputs, register_signature
    from whorl.settings import Setting, Settings, configure
    from whorl.steps import CachedFunction, CachedStep, Chain, ProcessStore, Step, cached, chain
    from whorl.ufuncs import GrowingUfunc, guvectorize, vectorize
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "artifacts": "Artifact Manifest",
            "errors": (
                "BadSetting CompilerFailed Drifted KernelError NoCheckpoints NoCompiler NotStatic "
                "RequiredHit UnknownCheckpoint UnsafeDirectory UnsupportedFunction "
                "UnsupportedRead UnsupportedValue WhorlError"
            ),
            "fingerprint": (
                "Boundary Difference Digest FieldRule Fingerprinter Marker NOTHING "
                "ProcessDigest StableDigest by_identity by_type diff exclude fields "
                "fingerprint ordered"
            ),
            "fleet": "WarmResult warm",
            "jit": "Compiler Explanation Kernel Program Target jit",
            "kernels": (
                "Array GradArray GraphStatus NumericKernel array atomic_add atomic_max "
                "atomic_min bool_ checkpoint cross distinct dot eig eigh f32 f64 func i16 i32 i64 "
                "i8 kernel mat ndrange norm polar prange random random_normal static svd u16 u32 "
                "u64 u8 vec zeros"
            ),
            "adapters": "",
            "launch": "",
            "reads": "Inputs register_signature",
            "rules": "",
            "settings": "Setting Settings configure",
            "steps": "CachedFunction CachedStep Chain ProcessStore Step cached chain",
            "store": "",
            "testing": "",
            "ufuncs": "GrowingUfunc guvectorize vectorize",
            "graph": "",
        },
    )

__all__ = [
    "NOTHING",
    "Array",
    "Artifact",
    "BadSetting",
    "Boundary",
    "CachedFunction",
    "CachedStep",
    "Chain",
    "Compiler",
    "CompilerFailed",
    "Difference",
    "Digest",
    "Drifted",
    "Explanation",
    "FieldRule",
    "Fingerprinter",
    "GradArray",
    "GraphStatus",
    "GrowingUfunc",
    "Inputs",
    "Kernel",
    "KernelError",
    "Manifest",
    "Marker",
    "NoCheckpoints",
    "NoCompiler",
    "NotStatic",
    "NumericKernel",
    "ProcessDigest",
    "ProcessStore",
    "Program",
    "RequiredHit",
    "Setting",
    "Settings",
    "StableDigest",
    "Step",
    "Target",
    "UnknownCheckpoint",
    "UnsafeDirectory",
    "UnsupportedFunction",
    "UnsupportedRead",
    "UnsupportedValue",
    "WarmResult",
    "WhorlError",
    "array",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "bool_",
    "by_identity",
    "by_type",
    "cached",
    "chain",
    "checkpoint",
    "configure",
    "cross",
    "diff",
    "distinct",
    "dot",
    "eig",
    "eigh",
    "exclude",
    "f32",
    "f64",
    "fields",
    "fingerprint",
    "func",
    "graph",
    "guvectorize",
    "i8",
    "i16",
    "i32",
    "i64",
    "jit",
    "kernel",
    "mat",
    "ndrange",
    "norm",
    "ordered",
    "polar",
    "prange",
    "random",
    "random_normal",
    "register_signature",
    "static",
    "svd",
    "u8",
    "u16",
    "u32",
    "u64",
    "vec",
    "vectorize",
    "warm",
    "zeros",
]
