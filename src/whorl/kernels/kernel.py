"""The decorator of the kernel language, and what a kernel offers beside being called."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Literal, cast, overload

import numpy as np

from whorl.jit import Kernel, Target
from whorl.jit.kernel import CacheMode, Choices, OnDrift
from whorl.jit.specialization import Specialization
from whorl.settings import current
from whorl.store import Cache

from .compiler import KernelCompiler
from .machine import assembly, optimised_text

__all__ = ["NumericKernel", "kernel"]

Form = Literal["ir", "llvm", "optimised", "asm"]


class NumericKernel(Kernel):
    """A kernel of whorl's own language. Made by `whorl.kernel`."""

    compiler: KernelCompiler

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile if need be, and run."""
        if current().interpret.value:
            return self.interpret(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def interpret(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function as plain Python, with the same results: for pdb, and for tests.

        >>> import whorl
        >>> @whorl.kernel
        ... def double(n: int):
        ...     return 2 * n
        >>> double.interpret(21)
        42
        """
        with np.errstate(all="ignore"):
            return _as_python(self.function(*args, **kwargs))

    def inspect(self, form: Form = "ir", which: int = -1) -> str:
        """The program of a specialization: as "ir", "llvm", "optimised" LLVM, or "asm".

        `which` counts the specializations that are in memory, the last one by default.
        """
        if form not in ("ir", "llvm", "optimised", "asm"):
            raise ValueError(f"the forms are ir, llvm, optimised and asm, not {form!r}")
        made = self.specializations()
        if not made:
            raise LookupError(f"{self._name} has not been called yet: nothing is compiled")
        artifact = made[which].artifact
        if form in ("ir", "llvm"):
            return bytes(artifact.payloads[form]).decode()
        show = assembly if form == "asm" else optimised_text
        return show(bytes(artifact.payloads["llvm"]).decode(), artifact.metadata["level"])

    def _load(self, specialization: Specialization, target: Target) -> Callable[..., Any]:
        with self._lock:
            launch = specialization.loaded.get(target.device)
        if launch is None:
            launch = self.compiler.load_for(specialization.artifact, self.function)
            with self._lock:
                launch = specialization.loaded.setdefault(target.device, launch)
        return launch


def _as_python(value: Any) -> Any:
    """Numbers as Python has them, as compiled kernels return them."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(_as_python, value))
    return value


@overload
def kernel(function: Callable[..., Any], /) -> NumericKernel: ...
@overload
def kernel(
    *,
    debug: bool | None = None,
    target: str | None = None,
    nogil: bool = False,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    store: Cache | None = None,
) -> Callable[[Callable[..., Any]], NumericKernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    debug: bool | None = None,
    target: str | None = None,
    nogil: bool = False,
    on_drift: OnDrift = "recompile",
    cache: CacheMode = "disk",
    store: Cache | None = None,
) -> NumericKernel | Callable[[Callable[..., Any]], NumericKernel]:
    """Compile a function over NumPy arrays and numbers when it is called, and keep the result.

    `debug` checks indices and integer divisors; `target` is a level such as "x86-64-v3";
    `nogil` lets other threads run meanwhile. `on_drift`, `cache` and `store` are as for
    `whorl.jit`.

    >>> import numpy as np, whorl
    >>> @whorl.kernel
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.size):
    ...         s += x[i]
    ...     return s
    >>> total(np.arange(4.0))
    6.0
    """
    if target is not None:
        from .machine import check_level

        check_level(target)

    def decorate(function: Callable[..., Any]) -> NumericKernel:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"whorl.kernel compiles functions, not {type(function).__name__}")
        compiler = KernelCompiler(target, debug, nogil)
        choices = Choices({}, on_drift, cache, False)
        return NumericKernel(function, cast("Any", compiler), choices, store)

    return decorate if function is None else decorate(function)
