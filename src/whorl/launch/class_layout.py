"""Finds the offsets in a class that a natively called object needs.

The rest, which is for the launches themselves, is for later: see `layout`.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from whorl.fast_dataclasses import NamedTuple

__all__ = ["ClassLayout", "Marked", "NotKnown", "class_layout", "offset_of", "words_of"]


class NotKnown(Exception):
    """An interpreter or a NumPy whose objects are not laid out as expected."""


class ClassLayout(NamedTuple):
    """What has to be known before a class can have native instances. The rest is for later."""

    base_size: int  # of an object without anything
    type_flags: int


@cache
def class_layout() -> ClassLayout:
    """Where a class keeps its flags; `NotKnown` if this is no interpreter for native launches."""
    if sys.implementation.name != "cpython":
        raise NotKnown(f"this is {sys.implementation.name}, not CPython")
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        raise NotKnown("this is not a 64-bit little-endian machine")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise NotKnown("this interpreter runs without a global lock")
    if "t" in getattr(sys, "abiflags", ""):  # objects have other heads, also with PYTHON_GIL=1
        raise NotKnown("this interpreter is built to run without a global lock")
    flags = offset_of(Marked, Marked.__flags__, "the flags of a class")
    return ClassLayout(object.__basicsize__, flags)


class Marked:
    """An object without anything, whose memory is looked at."""

    __slots__ = ()


def words_of(value: object, size: int | None = None) -> list[int]:
    """The words of an object's memory. What the collector has before it does not count."""
    size = type(value).__sizeof__(value) if size is None else size
    count = min(size, 512) // 8
    return list((ctypes.c_int64 * count).from_address(id(value)))


def offset_of(value: object, wanted: int, what: str) -> int:
    """Where a word is in an object: the first place that holds it."""
    size = 256 if isinstance(value, type) else type(value).__basicsize__
    for place, word in enumerate(words_of(value, size)):
        if word == wanted:
            return place * 8
    raise NotKnown(f"{what} is not found in it")
