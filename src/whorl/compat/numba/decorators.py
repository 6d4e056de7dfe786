"""The decorators of Numba, as decorators of whorl."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NoReturn, overload

import numpy as np

from whorl.kernels import NumericKernel, kernel
from whorl.launch.slot_types import Scalar
from whorl.ufuncs import GrowingUfunc
from whorl.ufuncs import guvectorize as _guvectorize
from whorl.ufuncs import vectorize as _vectorize

from .c_callable import CCallable, c_callable
from .call_signature import CallSignature, signature_of_c, signatures_in, with_long_names
from .missing import NotInWhorl
from .parts_in_place import PartsInPlace

__all__ = ["cfunc", "guvectorize", "jit", "njit", "stencil", "vectorize"]

_WITHOUT_MEANING: Final = frozenset(
    (
        "cache", "debug", "inline", "looplift", "nopython", "no_cfunc_wrapper",
        "no_cpython_wrapper", "no_rewrites", "target", "writable_args", "forceinline",
    )
)  # fmt: skip
"""Options that cannot change a result: everything is cached, compiled and inlined anyway."""

_REFUSED: Final = {
    "forceobj": "Functions are compiled or refused; leave the decorator out for Python.",
    "locals": "Convert the values where they are assigned: x = np.float32(...).",
    "pipeline_class": "whorl has no pipelines to exchange.",
    "target_backend": "whorl compiles for processors only.",
    "device": "whorl compiles for processors only.",
}


_Function = Callable[..., Any]


@overload
def jit(function: _Function, /, **options: Any) -> NumericKernel: ...
@overload
def jit(signature: Any = None, /, **options: Any) -> Callable[[_Function], NumericKernel]: ...
def jit(signature_or_function: Any = None, /, **options: Any) -> Any:
    """`numba.jit`: compile a function when it is called, or at once for its signatures.

    >>> import whorl.compat.numba as numba
    >>> @numba.jit(nopython=True, cache=True)
    ... def triangle(n):
    ...     s = 0
    ...     for i in range(n):
    ...         s += i
    ...     return s
    >>> triangle(5)
    10
    """
    chosen = _kernel_options(options)
    if isinstance(signature_or_function, FunctionType):
        return kernel(**chosen)(signature_or_function)
    signatures = signatures_in(signature_or_function)

    def decorate(function: _Function) -> NumericKernel:
        compiled = kernel(**chosen)(function)
        for signature in signatures:
            _compile_ahead(compiled, signature)
        return compiled

    return decorate


njit = jit
"""`numba.njit`: the same as `jit`."""


@overload
def vectorize(function: _Function, /, **options: Any) -> GrowingUfunc: ...
@overload
def vectorize(signatures: Any = None, /, **options: Any) -> Callable[[_Function], np.ufunc]: ...
def vectorize(signatures_or_function: Any = None, /, **options: Any) -> Any:
    """`numba.vectorize`, as `whorl.vectorize`."""
    return _vectorize(with_long_names(signatures_or_function), **_ufunc_options(options))


def guvectorize(signatures: Any, layout: str, /, **options: Any) -> Callable[[_Function], Any]:
    """`numba.guvectorize`, as `whorl.guvectorize`."""
    plain = "".join(layout.split())
    chosen = _ufunc_options(options)
    if "->" not in plain:
        fastmath = chosen.get("fastmath", False)
        return lambda function: PartsInPlace(function, f"{plain}->", fastmath)
    return _guvectorize(with_long_names(signatures), plain, **chosen)


def cfunc(signature: Any, /, **options: Any) -> Callable[[_Function], CCallable]:
    """`numba.cfunc`: a function of C, with `.address` and `.ctypes`.

    >>> import whorl.compat.numba as numba
    >>> @numba.cfunc("float64(float64, int32)")
    ... def scaled(x, n):
    ...     return x * n
    >>> scaled.ctypes(1.5, 3)
    4.5
    """
    wanted = signature_of_c(signature)
    fastmath = _kernel_options(options).get("fastmath", False)
    return lambda function: c_callable(function, wanted, fastmath)


def stencil(*args: Any, **options: Any) -> NoReturn:
    """`numba.stencil` is missing."""
    raise NotInWhorl(
        "whorl has no stencil. Write slices, which are one loop too: "
        "b[1:-1] = (a[:-2] + a[2:]) / 2."
    )


def _kernel_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of Numba as options of `whorl.kernel`."""
    chosen: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("parallel", "nogil"):
            chosen[name] = bool(value)
        elif name == "fastmath":
            chosen[name] = value
        elif name == "boundscheck":
            chosen["debug"] = True if value else None
        elif name == "error_model":
            if value not in ("python", "numpy"):
                raise ValueError(f"error_model is 'python' or 'numpy', not {value!r}")
        elif name == "nopython" and not value:
            raise NotInWhorl(f"nopython=False: {_REFUSED['forceobj']}")
        elif name in _REFUSED and value:
            raise NotInWhorl(f"{name}: {_REFUSED[name]}")
        elif name not in _WITHOUT_MEANING and name not in _REFUSED:
            raise TypeError(f"jit has no option {name!r}")
    return chosen


def _ufunc_options(options: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        name: options[name] for name in ("identity", "fastmath") if name in options
    }
    target = options.get("target", "cpu")
    if target not in ("cpu", "parallel"):
        raise NotInWhorl(f"target={target!r}: whorl compiles for processors: 'cpu' or 'parallel'.")
    _kernel_options({name: options[name] for name in options.keys() - {"identity", "target"}})
    return {**chosen, "parallel": target == "parallel"}


def _compile_ahead(compiled: NumericKernel, signature: CallSignature) -> None:
    """Compile for one signature, and check that the function returns what it says."""
    specialization = compiled.compile(*signature.parameters)
    wanted, result = signature.result, specialization.artifact.metadata["result"]
    if wanted is None or result is None or result[0] != "number":
        return
    actual: np.dtype[Any] = Scalar(result[1], result[2]).dtype
    if actual != wanted:
        raise TypeError(
            f"{compiled.function.__name__}: its signature says that it returns {wanted}, and it "
            f"returns {actual}. Convert the result, or leave the type of the result out."
        )
