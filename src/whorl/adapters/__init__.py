"""Exact keys for other people's compilers: one module for each, nothing imported until used.

    numba   `whorl.adapters.numba`: functions with `cache=True`
    jax     `whorl.adapters.jax`: the compilation cache, and `jit` that notices changed globals
    flydsl  `whorl.adapters.flydsl`: the keys of compiled kernels
    cuda    `whorl.adapters.cuda_core`: what `Program.compile` takes as `cache=`
    triton  `whorl.adapters.triton`: the files of compiled kernels
    gt4py   `whorl.adapters.gt4py`: what the steps of its backends have made
    quadrants   `whorl.adapters.quadrants`: kernels with `fastcache=True`

An adapter of one's own needs `describe`, which says what a function is made of, `key_of`, and the
methods `find`, `keep` and `begin` of `whorl.store.Cache`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .code_description import CodeDescription, describe, key_of
else:
    __getattr__, __dir__ = attach(__name__, {"code_description": "CodeDescription describe key_of"})

__all__ = ["CodeDescription", "describe", "key_of"]
