"""A class whose instances are called natively: each holds the address of its own entry.

The class is made through CPython's C API, without a C compiler: two words more than a plain
object, for the entry and for the header that it reads. Subclasses in Python add attributes,
methods and a docstring as usual; they must not define `__call__`.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Final

from whorl.fast_dataclasses import NamedTuple

# Finds the offsets in a class that a natively called object needs.
#
# The rest, which is for the launches themselves, is for later: see `layout_search`.


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


IN_PYTHON: Final = "kernels are launched in Python"  # where there is no native way

_T_PYSSIZET, _READONLY = 19, 1
_TP_CALL, _TP_MEMBERS, _TP_TRAVERSE, _TP_CLEAR = 50, 72, 71, 51
_DEFAULT, _BASETYPE = 1 << 18, 1 << 10
VECTORCALL: Final = 1 << 11
METHOD_DESCRIPTOR: Final = 1 << 17


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def native_base() -> type:
    """The class, with two words more than a plain object: an entry and a header."""
    base = class_layout().base_size
    members = (_Member * 2)(
        _Member(b"__vectorcalloffset__", _T_PYSSIZET, base, _READONLY, None), _Member()
    )
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p)
    slots = (_Slot * 3)(
        _Slot(_TP_CALL, call), _Slot(_TP_MEMBERS, ctypes.cast(members, ctypes.c_void_p)), _Slot()
    )
    flags = _DEFAULT | _BASETYPE | VECTORCALL
    spec = _Spec(
        b"whorl.launch.NativeBase", base + 16, 0, flags, ctypes.cast(slots, ctypes.c_void_p)
    )
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    base_class = make(ctypes.addressof(spec))
    _alive.append((members, slots, spec))
    return type("NativeCallable", (base_class,), {"__slots__": ()})


_alive: Final[list[Any]] = []


def make_native(cls: type) -> None:
    """Let calls of a subclass's instances enter natively, and methods get their object natively.

    Python clears these flags on a class that is made in Python: it cannot know that nothing in
    it changes how its instances are called.
    """
    place = ctypes.c_uint64.from_address(id(cls) + class_layout().type_flags)
    if place.value != cls.__flags__:
        raise TypeError("the flags of the class are not where they should be")
    place.value |= VECTORCALL | METHOD_DESCRIPTOR
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def set_entry(instance: object, entry: int, header: int) -> None:
    """Let calls of an instance enter at an address, which finds this header."""
    at = id(instance) + class_layout().base_size
    ctypes.c_uint64.from_address(at + 8).value = header
    ctypes.c_uint64.from_address(at).value = entry


def entry_header(instance: object) -> int:
    """The address of the header that calls of an instance find."""
    return int(ctypes.c_uint64.from_address(id(instance) + class_layout().base_size + 8).value)
