"""The decorator `whorl.jit`: functions become kernels of a compiler."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from .choices import AnyStore, CacheMode, Choices, OnDrift, check_choices, copied_options
from .compiler import Compiler, check_compiler
from .kernel import Kernel

__all__ = ["jit"]


def jit(
    compiler: Compiler,
    *,
    options: Mapping[str, Any] | None = None,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    strict: bool = False,
    store: AnyStore | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Let a compiler compile a function when it is called, and keep what it makes.

    `options` are what the compiler reads with `inputs.option`, as they are now. `on_drift`
    says what happens when a global, a closed-over variable or an environment variable that was
    read has changed: "recompile" (find or make what fits), "raise" or "ignore". `cache` is
    "disk", "process" (also for what cannot be recorded), or "call" (what cannot be recorded is
    compiled for every call). `strict` raises when a result is good for this process only. `store`
    is a directory, a `whorl.store.Cache` or a store, instead of the cache that settings describe.

    >>> import whorl
    >>> class Doubling:
    ...     name, version = "doubling", "1"
    ...     def compile(self, program, inputs):
    ...         return whorl.Artifact({}, {"type": inputs.arg("x").type()})
    ...     def load(self, artifact, device):
    ...         return lambda x: 2 * x
    >>> @whorl.jit(Doubling(), cache="process")
    ... def double(x): ...
    >>> double(2), double(3), double(1.5), double.stats()["compiled"]
    (4, 6, 3.0, 2)
    """
    check_compiler(compiler)
    own_cache = check_choices(on_drift, cache, store)
    choices = Choices(copied_options(options or {}), on_drift, cache, strict)

    def decorate(function: Any) -> Any:
        if isinstance(function, staticmethod | classmethod):
            return type(function)(decorate(function.__func__))
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.jit compiles functions, not {type(function).__name__}")
        return Kernel(function, compiler, choices, own_cache)

    return decorate
