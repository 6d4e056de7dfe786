"""`numba.cfunc`: a function of C from a function of the kernel language, with an address."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, Final

import numpy as np

from whorl.fingerprint.digest import hash_hex
from whorl.kernels import NumericKernel, kernel
from whorl.launch.stored_routine import StoredRoutine
from whorl.store import default_cache
from whorl.store.installed_bundles import unused_bundles

from .c_entry_text import C_ENTRY, entry_text
from .missing import NotInWhorl
from .number_types import Number, PointerTo, SignatureOf

__all__ = ["CCallable", "carray", "farray"]

_C_TYPES: Final[dict[str, Any]] = {
    "bool": ctypes.c_bool, "int8": ctypes.c_int8, "int16": ctypes.c_int16,
    "int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


class CCallable:
    """A compiled function with one signature, which C can call: `address`, `ctypes`.

    Kernels can call it too, and Python calls the function itself. Where NumPy would raise, the
    function ends and returns 0: C has no errors.
    """

    def __init__(self, function: FunctionType, signature: SignatureOf, fastmath: Any) -> None:
        self.function = function
        self.c_signature = signature
        self._result = _result_dtype(signature)
        self._parameters = tuple(map(_parameter_dtype, signature.parameters))
        self._kernel: NumericKernel = kernel(fastmath=fastmath)(function)
        update_wrapper(self, function)

    @property
    def __whorl_function__(self) -> FunctionType:
        """The function itself, for kernels that call it."""
        return self.function

    def __call__(self, *args: Any) -> Any:
        """Call the function in Python, for tests."""
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<function of C {self.function.__qualname__}: {self.c_signature}>"

    @property
    def native_name(self) -> str:
        """The name of the function."""
        return self.function.__qualname__

    @cached_property
    def address(self) -> int:
        """Where the function is, for the rest of the process."""
        with unused_bundles():  # which hold no text for LLVM
            made = self._kernel.specialize(*map(_example, self.c_signature.parameters))
        artifact = made.artifact
        self._check(artifact.metadata)
        text = entry_text(artifact, self._parameters, self._result)
        routine = StoredRoutine(
            "function of C", f"function of C {hash_hex(text.encode())}", C_ENTRY, "",
            artifact.metadata["level"], lambda: text,
        )  # fmt: skip
        return routine.address(default_cache())

    @cached_property
    def ctypes(self) -> Any:
        """The function as an object of ctypes: for SciPy's `LowLevelCallable`."""
        result = None if self._result is None else _C_TYPES[self._result.name]
        parameters = [
            ctypes.POINTER(_C_TYPES[each.element.name])
            if isinstance(each, PointerTo) and each.element.name in _C_TYPES
            else ctypes.c_void_p
            if dtype is None
            else _C_TYPES[dtype.name]
            for each, dtype in zip(self.c_signature.parameters, self._parameters, strict=True)
        ]
        return ctypes.CFUNCTYPE(result, *parameters)(self.address)

    def _check(self, described: Any) -> None:
        """Refuse what C cannot get: errors, arrays, tuples, what is read at each launch."""
        name, result = self.function.__qualname__, described["result"]
        for error, _, line, _, *raised in described["sites"]:
            if raised:  # by the program itself; what NumPy would raise ends it with a result of 0
                raise NotInWhorl(
                    f"{name} raises {error}, which C would not see, at {line}. Return a number "
                    "that says so."
                )
        if (result is None) != (self._result is None) or (result and result[0] != "number"):
            raise TypeError(f"{name} does not return what its signature says: {self.c_signature}")
        for root, place, *_ in described["slots"]:
            if root != "arg":
                raise NotInWhorl(f"{name} reads {place} at each launch: make it a parameter.")


def _result_dtype(signature: SignatureOf) -> np.dtype[Any] | None:
    if signature.result.name in ("void", "none"):
        return None
    return _number_dtype(signature.result)


def _parameter_dtype(type: Any) -> np.dtype[Any] | None:
    return None if isinstance(type, PointerTo) else _number_dtype(type)


def _number_dtype(type: Any) -> np.dtype[Any]:
    if not isinstance(type, Number) or type.name not in _C_TYPES:
        raise NotInWhorl(f"{type}: functions of C take and return numbers and pointers.")
    return type.dtype


def _example(type: Any) -> Any:
    """An argument of a type: a pointer is an array of which nobody knows the end."""
    if isinstance(type, PointerTo):
        return np.ones(1 << 8, type.element.dtype)
    dtype = _number_dtype(type)
    return dtype.type(1)


def carray(pointer: Any, shape: Any, dtype: Any = None) -> Any:
    """`numba.carray`: the array at a pointer, its rows one after the other.

    >>> carray(np.arange(9.0), (2, 3)).tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    return pointer[: np.prod(shape)].reshape(shape)


def farray(pointer: Any, shape: Any, dtype: Any = None) -> Any:
    """`numba.farray`: the array at a pointer, its columns one after the other.

    >>> farray(np.arange(9.0), (2, 3)).tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    return pointer[: np.prod(shape)].reshape(shape[::-1]).T


def c_callable(function: Callable[..., Any], signature: SignatureOf, fastmath: Any) -> CCallable:
    """The function of C for a function of Python."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"cfunc compiles functions, not {type(function).__name__}")
    return CCallable(function, signature, fastmath)
