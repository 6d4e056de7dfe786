"""Functions of the dialect that become functions of the machine, and how they are inlined.

Other functions are followed where they are called, as in a kernel: they are part of the routine
that calls them, and so is the memory that they take from the stack.
"""

from __future__ import annotations

import types
from typing import Any, Final, TypeVar, cast

__all__ = ["cold", "inlined", "inlining_of", "routine"]

Function = TypeVar("Function")

_inlining: Final[dict[types.CodeType, str]] = {}


def routine(function: Function) -> Function:
    """A function of the machine; LLVM decides where it is inlined."""
    return _noted(function, "auto")


def inlined(function: Function) -> Function:
    """A function of the machine that is inlined everywhere: it takes memory from the stack."""
    return _noted(function, "always")


def cold(function: Function) -> Function:
    """A function of the machine that is never inlined: it seldom runs."""
    return _noted(function, "never")


def inlining_of(function: Any) -> str:
    """How a function is inlined: "auto", "always" or "never"; "" if it is no routine."""
    return _inlining.get(getattr(function, "__code__", None), "")  # type: ignore[arg-type]  # None is no key


def _noted(function: Function, how: str) -> Function:
    _inlining[cast("types.FunctionType", function).__code__] = how
    return function
