"""Arrays that a kernel returns: ordinary ndarrays, made while it runs.

The machine code calls back through the record's address of the function that prints, with numbers
below zero for these. It asks for new arrays, into which it writes what it will return; and it says
by address, extents and strides which array is returned, where that is not known before. That is

    one of the new arrays               the very array
    a part of an argument               a view of it
    memory of the kernel                a copy: the kernel frees its memory when it ends

Callbacks run on the thread that launches. What they make belongs to the innermost launch of it.
"""

from __future__ import annotations

from _thread import _local
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import NamedTuple
from whorl.reads.trace import Plain

__all__ = ["ArrayKind", "Launching", "call_back"]

_threads: Final = _local()


class ArrayKind(NamedTuple):
    """What is known of an array that is made or returned."""

    dtype: np.dtype[Any]
    ndim: int
    make: Callable[..., Any]
    order: str

    @classmethod
    def from_plain(cls, plain: Plain) -> ArrayKind:
        """As `kernels.pipeline` writes it."""
        kind, bits, ndim, is_zero, layout = plain
        dtype = np.dtype("?" if kind == "b" else f"{kind}{bits // 8}")
        return cls(dtype, ndim, np.zeros if is_zero else np.empty, "F" if layout == "F" else "C")


class Launching:
    """A launch that is under way: what it was called with, and the arrays made for it."""

    def __init__(self, slots: Sequence[Any], arrays: dict[int, Any]) -> None:
        self.slots = slots
        self.arrays = arrays  # by their numbers

    def __enter__(self) -> Launching:
        self._outer = getattr(_threads, "launching", None)
        _threads.launching = self
        return self

    def __exit__(self, *error: object) -> None:
        _threads.launching = self._outer


def call_back(kinds: Sequence[ArrayKind], number: int, values: Any) -> None:
    """Make an array, or take note of one that is returned: the even and the odd numbers."""
    kind = kinds[number >> 1]
    launching: Launching = _threads.launching
    if number & 1:
        launching.arrays[number >> 1] = _returned(launching, kind, values)
        return
    try:
        array = kind.make(values[: kind.ndim], kind.dtype, kind.order)
    except (MemoryError, ValueError):
        values[0] = 0
        return
    values[0] = array.ctypes.data
    launching.arrays[number >> 1] = array


def _returned(launching: Launching, kind: ArrayKind, values: Any) -> Any:
    address, *numbers = values[: 1 + 2 * kind.ndim]
    shape, strides = tuple(numbers[: kind.ndim]), tuple(numbers[kind.ndim :])
    if 0 in shape:
        return np.empty(shape, kind.dtype)
    ends = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    low = address + sum(min(end, 0) for end in ends)
    high = address + sum(max(end, 0) for end in ends) + kind.dtype.itemsize
    for new in launching.arrays.values():
        if new.ctypes.data == address and (new.shape, new.strides) == (shape, strides):
            return new
    for owner in (*launching.arrays.values(), *launching.slots):
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
