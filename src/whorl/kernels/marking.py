"""A function in, the same function out, known to be one that kernels call."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar, overload

__all__ = ["func"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def func(function: F) -> F: ...
@overload
def func() -> Callable[[F], F]: ...
def func(function: F | None = None) -> F | Callable[[F], F]:
    """Mark a function as one that kernels call. It stays a plain function.

    Kernels follow plain functions too; this says to readers, and checks, that one is meant to
    be followed.

    >>> @func
    ... def square(x):
    ...     return x * x
    >>> square(3)
    9
    """
    if function is None:
        return func
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"whorl.func is for functions, not {type(function).__name__}")
    return function
