"""Finds out where CPython and NumPy keep what a launch reads, from objects of known content.

Every offset is looked for in objects whose content is known, never taken from a header. What is
not found where it should be turns native launches off, with the reason; calls are then launched in
Python, which needs none of this.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Final

import numpy as np

from .canary import check_layout
from .class_layout import Marked, NotKnown, class_layout, offset_of, words_of
from .instances import descriptor_layout, dict_layout, instance_layout
from .object_layout import INT_DIGIT, INT_SIZE, ObjectLayout

__all__ = ["object_layout"]


@cache
def object_layout() -> ObjectLayout:
    """Where things are in this process; `NotKnown` if something is not where it should be."""
    of_classes = class_layout()
    inside = dict_layout()
    if inside is None:
        raise NotKnown("a dict is not laid out as expected")
    layout = ObjectLayout(
        type=offset_of(Marked(), id(Marked), "the class of an object"),
        float_value=offset_of(1.2345e67, _bits(1.2345e67), "a float's value"),
        array_data=_array_offset("data"),
        array_ndim=_array_offset("ndim"),
        array_shape=_array_offset("shape"),
        array_strides=_array_offset("strides"),
        array_dtype=_array_offset("dtype"),
        array_flags=_array_offset("flags"),
        function_code=offset_of(_function, id(_function.__code__), "a function's code"),
        function_defaults=offset_of(_function, id(_function.__defaults__), "a function's defaults"),
        function_keyword_defaults=offset_of(
            _function, id(_function.__kwdefaults__), "a function's keyword defaults"
        ),
        type_flags=of_classes.type_flags,
        type_version=_version_offset(),
        list_size=offset_of([None] * 54321, 54321, "the length of a list"),
        tuple_size=offset_of((Marked,) * 321, 321, "the length of a tuple"),
        tuple_items=_items_offset(),
        descriptor=descriptor_layout(),
        inside=inside,
        instance=instance_layout(inside),
        ints=_ints(),
        none=_none(),
        base_size=of_classes.base_size,
    )
    check_layout(layout)
    return layout


_INTS: Final = (0, 1, -1, 5, -7, 2**15, 2**30 - 1, 1 - 2**30, 2**30, -(2**30), 2**62, -(2**63))


def _ints() -> str:
    """How an int says how large it is: by a signed count of digits, or by a tag."""
    if sys.int_info.bits_per_digit != 30 or sys.int_info.sizeof_digit != 4:
        return ""
    for kind in ("sized", "tagged"):
        if all(
            _small_int(value, kind) == (value if abs(value) < 2**30 else None) for value in _INTS
        ):
            return kind
    return ""


def _small_int(value: int, kind: str) -> int | None:
    """An int of at most one digit as the launcher reads it; None for others."""
    size = ctypes.c_int64.from_address(id(value) + INT_SIZE).value
    digit = ctypes.c_uint32.from_address(id(value) + INT_DIGIT).value if value else 0
    if kind == "sized":
        return size * digit if -1 <= size <= 1 else None
    return (1 - (size & 3)) * digit if 0 <= size < 16 else None


def _none() -> str:
    """How a new reference to None is made: not at all where it lives for ever."""
    before = sys.getrefcount(None)
    more = [None] * 1000
    if sys.getrefcount(None) - before < len(more) // 2:
        return "for ever"
    thing = object()
    is_first = ctypes.c_int64.from_address(id(thing)).value == sys.getrefcount(thing) - 1
    return "call" if hasattr(sys, "gettotalrefcount") or not is_first else "counted"


def _function(known: str = "by default", *, other: str = "by keyword") -> None: ...


def _bits(number: float) -> int:
    return ctypes.c_int64.from_buffer_copy(ctypes.c_double(number)).value


def _items_offset() -> int:
    """Where the items of a tuple begin."""
    samples = (Marked, _function), (_function, Marked, None)
    for place in range(len(words_of(samples[0]))):
        items = [words_of(sample)[place : place + len(sample)] for sample in samples]
        if items == [[id(item) for item in sample] for sample in samples]:
            return place * 8
    raise NotKnown("the items of a tuple are not found in it")


def _version_offset() -> int:
    """Where a class keeps its version: what is set by a lookup, and gone after a change."""

    class Base:
        first = 1

    class Sample(Base):
        pass

    def halves() -> list[int]:
        return list((ctypes.c_uint32 * 128).from_address(id(Sample)))

    def touched() -> list[int]:
        for _ in range(3):
            _ = Sample().first
        return halves()

    places: set[int] | None = None
    for number in range(4):
        before = touched()
        setattr(Base if number % 2 else Sample, f"other{number}", number)
        changed = halves()
        after = touched()
        candidates = {
            place
            for place in range(len(before))
            if before[place]
            and after[place]
            and before[place] != after[place]
            and changed[place] != before[place]
        }
        places = candidates if places is None else places & candidates
    if not places or len(places) != 1:
        raise NotKnown("the version of a class is not found in it")
    return 4 * places.pop()


def _array_offset(part: str) -> int:
    """Where a part of an array is: by an array of which every part is known."""
    array: Any = np.zeros((3, 5, 7), np.float32)[::2, 1:, ::3]
    base = id(array)
    size = np.ndarray.__basicsize__
    words = (ctypes.c_int64 * (size // 8)).from_address(base)
    halves = (ctypes.c_int32 * (size // 4)).from_address(base)

    def pointed(place: int, values: tuple[int, ...]) -> bool:
        address = words[place]
        if not address or address % 8:
            return False
        return tuple((ctypes.c_int64 * len(values)).from_address(address)) == values

    match part:
        case "data":
            places = [i for i in range(2, len(words)) if words[i] == array.ctypes.data]
        case "dtype":
            places = [i for i in range(2, len(words)) if words[i] == id(array.dtype)]
        case "ndim":
            return 4 * next(i for i in range(6, len(halves)) if halves[i] == array.ndim)
        case "flags":
            flags = array.flags.num & 0xFFFF
            places = [i for i in range(6, len(halves)) if halves[i] & 0xFFFF == flags]
            if not places:
                raise NotKnown("the flags of an array are not found in it")
            return 4 * places[-1]
        case "shape":
            start = _array_offset("ndim") // 8 + 1
            places = [i for i in range(start, start + 2) if pointed(i, array.shape)]
        case _:
            start = _array_offset("ndim") // 8 + 1
            places = [i for i in range(start, start + 2) if pointed(i, array.strides)]
    if len(places) != 1:
        raise NotKnown(f"the {part} of an array is not found in it")
    return places[0] * 8
