"""A row of the library: a function of NumPy's, and what it is in the kernel language."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from whorl.fast_dataclasses import dataclass

__all__ = ["LibraryFunction", "method_row", "named_row", "row"]


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function of NumPy's as kernels know it; its parameters are those of the function."""

    function: types.FunctionType
    names: tuple[str, ...]
    """Its names in NumPy, or elsewhere: `numpy.diff`, `math.gcd`."""
    method: str
    """Its name as a method of arrays; "" if it is none."""
    limits: str
    """What it cannot do that NumPy's can, in words; "" if there is nothing."""
    is_elementwise: bool
    """Whether it is written for numbers, and applied to the elements of arrays."""


def row(
    function: Callable[..., Any],
    *names: str,
    method: bool = False,
    limits: str = "",
    elementwise: bool = False,
) -> LibraryFunction:
    """The row of a function, whose own name it has in NumPy if no others are given.

    >>> def flip(a, axis=None): ...
    >>> row(flip).names
    ('numpy.flip',)
    """
    assert isinstance(function, types.FunctionType)
    names = names or (function.__name__,)
    full = tuple(f"numpy.{name}" for name in names)
    return LibraryFunction(function, full, names[0] if method else "", limits, elementwise)


def named_row(function: Callable[..., Any], *names: str, limits: str = "") -> LibraryFunction:
    """The row of a function that is not NumPy's, by its full names: `math.gcd`."""
    assert isinstance(function, types.FunctionType)
    return LibraryFunction(function, names, "", limits, is_elementwise=False)


def method_row(
    function: Callable[..., Any], method: str, limits: str = "", *, elementwise: bool = False
) -> LibraryFunction:
    """The row of a method that is no function of NumPy's: `a.sort()` changes the array itself."""
    assert isinstance(function, types.FunctionType)
    return LibraryFunction(function, (), method, limits, elementwise)
