"""A ufunc that gets a loop for new types when they arrive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np

from whorl.locks import ForkSafeLock

from .numpy_ufunc import NativeLoop, make_ufunc

__all__ = ["GrowingUfunc"]

_KINDS: Final = "biufc"  # from narrow to wide


class GrowingUfunc:
    """A vectorized function without signatures. Made by `whorl.vectorize`.

    It is called like a ufunc, and has what a ufunc has. `ufunc` is the one of NumPy that it has
    become so far.

    >>> import whorl
    >>> @whorl.vectorize
    ... def twice(x):
    ...     return x + x
    >>> int(twice(21)), float(twice(0.5)), twice.types
    (42, 1.0, ['l->l', 'd->d'])
    """

    __name__: str
    __qualname__: str
    __wrapped__: FunctionType

    def __init__(
        self,
        function: FunctionType,
        inputs: int,
        make_loop: Callable[[tuple[np.dtype[Any], ...]], NativeLoop],
        identity: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.nin = inputs
        self.nout = 1
        self.nargs = inputs + 1
        self._make_loop = make_loop
        self._identity = identity
        self._loops: dict[tuple[np.dtype[Any], ...], NativeLoop] = {}
        self._ufunc: np.ufunc | None = None
        self._lock = ForkSafeLock()

    @property
    def ufunc(self) -> np.ufunc:
        """The ufunc of NumPy, with the loops that there are."""
        if self._ufunc is None:
            raise LookupError(f"{self.__name__} has not been called yet: nothing is compiled")
        return self._ufunc

    @property
    def __whorl_function__(self) -> Any:
        return self.__wrapped__

    @property
    def types(self) -> list[str]:
        """The types of its loops, as NumPy spells them."""
        return [] if self._ufunc is None else list(self._ufunc.types)

    @property
    def identity(self) -> Any:
        """What a reduction begins with."""
        return None if self._identity == "reorderable" else self._identity

    def __call__(self, /, *operands: Any, **options: Any) -> Any:
        """The function of each element."""
        if len(operands) < self.nin:
            raise TypeError(
                f"{self.__name__} takes {self.nin} operands, and an output if you like; "
                f"{len(operands)} were given"
            )
        return self._for(operands[: self.nin])(*operands, **options)

    def reduce(self, array: Any, /, *args: Any, **options: Any) -> Any:
        """Combine the elements along an axis, as `np.ufunc.reduce` does."""
        return self._for((array, array)).reduce(array, *args, **options)

    def accumulate(self, array: Any, /, *args: Any, **options: Any) -> Any:
        """All intermediate results of a reduction, as `np.ufunc.accumulate` gives them."""
        return self._for((array, array)).accumulate(array, *args, **options)

    def reduceat(self, array: Any, /, *args: Any, **options: Any) -> Any:
        """Reductions of slices, as `np.ufunc.reduceat` makes them."""
        return self._for((array, array)).reduceat(array, *args, **options)

    def outer(self, first: Any, second: Any, /, **options: Any) -> Any:
        """The function of all pairs, as `np.ufunc.outer` has them."""
        return self._for((first, second)).outer(first, second, **options)

    def at(self, array: Any, places: Any, /, *others: Any) -> None:
        """Change elements in place, as `np.ufunc.at` does."""
        self._for((array, *others)).at(array, places, *others)

    def _for(self, operands: tuple[Any, ...]) -> np.ufunc:
        """The ufunc, with a loop for exactly these operands."""
        types = _types_of(operands)
        if types not in self._loops:
            self._add(types)
        assert self._ufunc is not None
        return self._ufunc

    def _add(self, types: tuple[np.dtype[Any], ...]) -> None:
        if len(types) != self.nin:
            raise ValueError(f"{self.__name__} has {self.nin} operands, not {len(types)}")
        for dtype in types:
            if dtype.kind not in _KINDS or dtype.itemsize > 16 or dtype.char in "egG":
                raise TypeError(
                    f"{self.__name__} has no loop for operands of dtype {dtype}. Kernels know "
                    "bool, int8 to int64, uint8 to uint64, float32, float64 and complex numbers; "
                    "convert the operand with .astype."
                )
        with self._lock:
            if types in self._loops:
                return
            loops = {**self._loops, types: self._make_loop(types)}
            narrow_first = sorted(loops.values(), key=_width)
            self._ufunc = make_ufunc(
                narrow_first, self.nin, self.__name__, self.__doc__, self._identity
            )
            self._loops = loops

    def __repr__(self) -> str:
        return f"<vectorized {self.__qualname__}>"


def _types_of(operands: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of operands. Numbers of Python take that of the others, as NumPy has it."""
    dtypes = [_dtype_of(operand) for operand in operands]
    known = [dtype for dtype in dtypes if dtype is not None]
    types = []
    for dtype, operand in zip(dtypes, operands, strict=True):
        if dtype is None:
            dtype = np.result_type(*known, operand) if known else np.asarray(operand).dtype
        types.append(dtype)
    return tuple(types)


def _dtype_of(operand: Any) -> np.dtype[Any] | None:
    """The dtype of an operand; None for a number of Python."""
    if type(operand) in (int, float, complex):
        return None
    dtype = getattr(operand, "dtype", None)
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) else np.asarray(operand).dtype


def _width(loop: NativeLoop) -> tuple[int, ...]:
    """NumPy takes the first loop that operands can be cast to: narrow types come first."""
    return (*(_KINDS.index(d.kind) for d in loop.dtypes), *(d.itemsize for d in loop.dtypes))
