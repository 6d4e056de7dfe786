"""Arrays that a kernel returns and that it has not made for that: taken while it runs.

The machine code calls back through the record's address of the function that prints, with numbers
below zero for these. It says by address, extents and strides which array is returned. That is

    an array that machine code has made     the very array, or a view of it
    a part of an argument                   a view of it
    memory of the kernel                    a copy: the kernel frees its memory when it ends

Callbacks run on the thread that launches. What they take belongs to the innermost launch of it.
"""

from __future__ import annotations

from _thread import _local
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import NamedTuple
from whorl.reads.trace import Plain

__all__ = ["ArrayKind", "Launching", "take_array"]

_threads: Final = _local()


class ArrayKind(NamedTuple):
    """What is known of an array that is returned."""

    dtype: np.dtype[Any]
    ndim: int

    @classmethod
    def from_plain(cls, plain: Plain) -> ArrayKind:
        """As `kernels.pipeline` writes it."""
        kind, bits, ndim, _ = plain
        return cls(np.dtype("?" if kind == "b" else f"{kind}{bits // 8}"), ndim)


class Launching:
    """A launch that is under way: what it was called with, the arrays that it returns, and those
    that machine code has made so far."""

    def __init__(
        self, slots: Sequence[Any], arrays: dict[int, Any], new: Callable[[], dict[int, Any]]
    ) -> None:
        self.slots = slots
        self.arrays = arrays  # by their numbers
        self.new = new

    def __enter__(self) -> Launching:
        self._outer = getattr(_threads, "launching", None)
        _threads.launching = self
        return self

    def __exit__(self, *error: object) -> None:
        _threads.launching = self._outer


def take_array(kinds: Sequence[ArrayKind], number: int, values: Any) -> None:
    """Take note of an array that is returned."""
    launching: Launching = _threads.launching
    launching.arrays[number] = _returned(launching, kinds[number], values)


def _returned(launching: Launching, kind: ArrayKind, values: Any) -> Any:
    address, *numbers = values[: 1 + 2 * kind.ndim]
    shape, strides = tuple(numbers[: kind.ndim]), tuple(numbers[kind.ndim :])
    if 0 in shape:
        return np.empty(shape, kind.dtype)
    ends = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    low = address + sum(min(end, 0) for end in ends)
    high = address + sum(max(end, 0) for end in ends) + kind.dtype.itemsize
    made = launching.new().values()
    for new in made:
        if new.ctypes.data == address and (new.shape, new.strides) == (shape, strides):
            return new
    for owner in (*made, *launching.slots):
        if isinstance(owner, np.ndarray):
            begin, end = np.lib.array_utils.byte_bounds(owner)
            if begin <= low and high <= end:
                return _view(owner, begin, kind.dtype, address, shape, strides)
    return np.asarray(_Memory(None, kind.dtype, address, shape, strides)).copy()


def _view(
    owner: Any,
    begin: int,
    dtype: np.dtype[Any],
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Any:
    """A view of the memory of another array."""
    if owner.flags.c_contiguous:
        return np.ndarray(shape, dtype, owner, address - begin, strides)
    return np.asarray(_Memory(owner, dtype, address, shape, strides))


class _Memory:
    """What NumPy makes an array of without a copy."""

    def __init__(
        self,
        owner: Any,
        dtype: np.dtype[Any],
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> None:
        self.owner = owner  # which has to live on
        is_read_only = owner is not None and not owner.flags.writeable
        self.__array_interface__ = {
            "data": (address, is_read_only),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "version": 3,
        }
