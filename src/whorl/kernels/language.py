"""The names that kernels use, as plain Python: what they do when nothing is compiled.

In a kernel the compiler knows each of them. Outside of one, or under the interpreter, they are
these functions, with the same results.
"""

from __future__ import annotations

import operator
import types
import weakref
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, Final, TypeVar, overload

import numpy as np

from whorl.fast_dataclasses import dataclass

__all__ = [
    "Array",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "bool_",
    "distinct",
    "f32",
    "f64",
    "func",
    "i8",
    "i16",
    "i32",
    "i64",
    "ndrange",
    "prange",
    "static",
    "u8",
    "u16",
    "u32",
    "u64",
]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

bool_ = np.bool_
i8 = np.int8
i16 = np.int16
i32 = np.int32
i64 = np.int64
u8 = np.uint8
u16 = np.uint16
u32 = np.uint32
u64 = np.uint64
f32 = np.float32
f64 = np.float64


class _Static:
    """`static(x)` in an expression, `n: static` or `n: static[int]` on a parameter."""

    def __call__(self, value: T) -> T:
        """Work out a value at compile time; what it reads becomes part of the key.

        >>> import whorl
        >>> whorl.static(3 + 4)
        7
        """
        return value

    def __getitem__(self, kind: type) -> _Static:
        return self

    def __repr__(self) -> str:
        return "whorl.static"

    def __reduce__(self) -> str:
        return "static"


static = _Static()


def ndrange(*ranges: int | tuple[int, int]) -> Iterable[tuple[int, ...]]:
    """All indices of several ranges, the last one fastest: each is a length, or start and stop.

    >>> list(ndrange(2, (5, 7)))
    [(0, 5), (0, 6), (1, 5), (1, 6)]
    """
    if not ranges:
        raise TypeError("whorl.ndrange takes at least one range")
    return product(*(_range_of(each) for each in ranges))


def _range_of(bounds: Any) -> range:
    both = bounds if isinstance(bounds, tuple) else (0, bounds)
    if len(both) != 2 or not all(hasattr(each, "__index__") for each in both):
        raise TypeError(f"a range is a length, or a start and a stop, not {bounds!r}")
    return range(*map(operator.index, both))


@overload
def prange(start: int, stop: int = ..., step: int = ..., /) -> Iterable[int]: ...
@overload
def prange(indices: Iterable[tuple[int, ...]], /) -> Iterable[tuple[int, ...]]: ...
def prange(*bounds: Any) -> Iterable[Any]:
    """A range whose iterations may run at the same time, on several threads; or all indices of
    `whorl.ndrange` or `np.ndindex`, whose first range is divided among the threads.

    >>> list(prange(3))
    [0, 1, 2]
    >>> list(prange(ndrange(2, 2)))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    if len(bounds) == 1 and isinstance(bounds[0], product | np.ndindex):
        return bounds[0]
    return range(*(int(bound) for bound in bounds))


# -- functions --------------------------------------------------------------------------


@overload
def func(function: F) -> F: ...
@overload
def func() -> Callable[[F], F]: ...
def func(function: F | None = None) -> F | Callable[[F], F]:
    """Mark a function as one that kernels call. It stays a plain function.

    Kernels follow plain functions too; this tells readers, and checks, that one is meant to be
    followed.

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


_refused: Final[weakref.WeakKeyDictionary[Any, tuple[str, str]]] = weakref.WeakKeyDictionary()


def refuse_to_follow(function: Callable[..., Any], why: str, instead: str) -> None:
    """Let kernels refuse calls of a function, with a reason and what to do.

    >>> def stub(): ...
    >>> refuse_to_follow(stub, "does nothing", "Give it a body.")
    >>> refusal_of(stub)
    ('does nothing', 'Give it a body.')
    """
    _refused[function] = (why, instead)


def refusal_of(function: Callable[..., Any]) -> tuple[str, str] | None:
    """Why kernels refuse to call a function, and what to do; None if they follow it."""
    return _refused.get(function)


# -- atomics ----------------------------------------------------------------------------


def distinct(index: int) -> int:
    """An index that no two iterations of a `prange` have: `a[distinct(order[i])] += x` is a plain
    assignment then, as in a serial loop. If two iterations have it, updates are lost.

    >>> distinct(3)
    3
    """
    return index


def atomic_add(array: Any, index: Any, value: Any) -> Any:
    """Add to an element that other iterations of a `prange` may add to; what it held before.

    >>> counts = np.array([5, 0])
    >>> int(atomic_add(counts, 0, 2)), counts.tolist()
    (5, [7, 0])
    """
    old = array[index]
    array[index] = old + value
    return old


def atomic_min(array: Any, index: Any, value: Any) -> Any:
    """Lower an element to a value if that is smaller; what it held before.

    >>> least = np.array([5])
    >>> int(atomic_min(least, 0, 2)), least.tolist()
    (5, [2])
    """
    old = array[index]
    array[index] = min(old, value)
    return old


def atomic_max(array: Any, index: Any, value: Any) -> Any:
    """Raise an element to a value if that is larger; what it held before.

    >>> most = np.array([5])
    >>> int(atomic_max(most, 0, 9)), most.tolist()
    (5, [9])
    """
    old = array[index]
    array[index] = max(old, value)
    return old


# -- annotations ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Array:
    """`Array[f32, 2]`: an annotation for arrays of an element type and a number of dimensions.

    >>> Array[f32, 2]
    Array[float32, 2]
    """

    dtype: str
    ndim: int

    def __class_getitem__(cls, parameters: Any) -> Array:
        try:
            element, ndim = parameters
            name = np.dtype(element).name
        except (TypeError, ValueError):
            raise TypeError(
                "write Array[element, dimensions], such as Array[whorl.f32, 2]"
            ) from None
        if type(ndim) is not int or ndim < 0:
            raise TypeError(f"the number of dimensions is an int of 0 or more, not {ndim!r}")
        return cls(name, ndim)

    def __repr__(self) -> str:
        return f"Array[{self.dtype}, {self.ndim}]"
