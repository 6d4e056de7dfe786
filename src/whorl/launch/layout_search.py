"""Finds out where CPython and NumPy keep what a launch reads, from objects of known content.

Every offset is looked for in objects whose content is known, never taken from a header. What is
not found where it should be turns native launches off, with the reason; calls are then launched in
Python, which needs none of this.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from .callable import Marked, NotKnown, class_layout, offset_of
from .canary import check_layout
from .instances import descriptor_layout, dict_layout, instance_layout
from .object_layout import ObjectLayout
from .value_layout import int_kind, items_offset


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
        tuple_items=items_offset(),
        descriptor=descriptor_layout(),
        inside=inside,
        instance=instance_layout(inside),
        ints=int_kind(),
        none=_none(),
        base_size=of_classes.base_size,
    )
    check_layout(layout)
    return layout


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
