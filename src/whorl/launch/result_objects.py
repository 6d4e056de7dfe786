"""What a kernel left in its record in, a Python object out: a part of the launcher.

What a table says of the results: `NOTHING` for None, `ONE` number, a `CHOICE` of objects by the
number in a word; otherwise it is how many items a tuple has. Then kind and word of each: of a
number, of an object that the kernel has made and hands over, or of an argument.
"""

from __future__ import annotations

from typing import Final

from whorl.systems import (
    cold,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    load,
    routine,
    store,
    u8,
    u16,
    u32,
    u64,
    upto,
)

from .c_api import (
    NONE,
    Py_DecRef,
    Py_IncRef,
    PyBool_FromLong,
    PyComplex_FromDoubles,
    PyFloat_FromDouble,
    PyLong_FromLongLong,
    PyLong_FromUnsignedLongLong,
    PyTuple_New,
    PyTuple_SetItem,
)
from .object_words import at, word

NOTHING, ONE, CHOICE = 2**64 - 1, 2**64 - 2, 2**64 - 3

_F64, _F32, _BOOL, _I8, _I16, _I32, _I64, _U8, _U16, _U32, _U64, _C64, _C128 = range(13)
_OBJECT, _ARGUMENT = 13, 14
OBJECT, ARGUMENT = "o", "a"
NUMBERS: Final = {
    ("f", 64): _F64, ("f", 32): _F32, ("b", 8): _BOOL, ("i", 8): _I8, ("i", 16): _I16,
    ("i", 32): _I32, ("i", 64): _I64, ("u", 8): _U8, ("u", 16): _U16, ("u", 32): _U32,
    ("u", 64): _U64, ("c", 64): _C64, ("c", 128): _C128,
    (OBJECT, 64): _OBJECT, (ARGUMENT, 64): _ARGUMENT,
}  # fmt: skip
"""The kinds of results, by the kind and the bits of their types."""


def result(api: u64, results: u64, record: u64) -> u64:
    """The object that a launch returns; 0 if an error is set."""
    count = word(results, 0)
    if count == NOTHING:
        none = word(api, NONE)
        if at.none != "for ever":
            count_reference(api, none)
        return none
    if count == CHOICE:
        chosen = word(results, word(record, word(results, 1)) + 2)
        count_reference(api, chosen)
        return chosen
    return numbers(api, results, record, count)


def count_reference(api: u64, value: u64) -> None:
    """Count one more reference to an object, as this interpreter does it."""
    if at.none == "for ever":  # the count of what lives for ever is negative
        counted = load(value, u32)
        if counted < 0x80000000:
            store(value, counted + 1)
    elif at.none == "counted":
        store(value, load(value, u64) + 1)
    else:
        Py_IncRef(api, value)


@cold
def numbers(api: u64, results: u64, record: u64, count: u64) -> u64:
    """One number, or a tuple of several."""
    if count == ONE:
        return number(api, word(results, 1), record + 8 * word(results, 2))
    made = PyTuple_New(api, count)
    if made == 0:
        return u64(0)
    for i in upto(count):
        item = number(api, word(results, 2 * i + 1), record + 8 * word(results, 2 * i + 2))
        if item == 0:
            Py_DecRef(api, made)
            return u64(0)
        PyTuple_SetItem(api, made, i, item)
    return made


@routine
def number(api: u64, kind: u64, place: u64) -> u64:
    """The number at a place, as a Python object, or the object there."""
    if kind == _F64:
        return PyFloat_FromDouble(api, load(place, f64))
    if kind == _OBJECT:
        return load(place, u64)
    if kind == _ARGUMENT:
        count_reference(api, load(place, u64))
        return load(place, u64)
    if kind == _F32:
        return PyFloat_FromDouble(api, f64(load(place, f32)))
    if kind == _C128:
        return PyComplex_FromDoubles(api, load(place, f64), load(place + 8, f64))
    if kind == _C64:
        return PyComplex_FromDoubles(api, f64(load(place, f32)), f64(load(place + 4, f32)))
    if kind == _BOOL:
        return PyBool_FromLong(api, i64(load(place, u8)))
    if kind == _U64:
        return PyLong_FromUnsignedLongLong(api, load(place, u64))
    if kind == _I8:
        return PyLong_FromLongLong(api, i64(load(place, i8)))
    if kind == _I16:
        return PyLong_FromLongLong(api, i64(load(place, i16)))
    if kind == _I32:
        return PyLong_FromLongLong(api, i64(load(place, i32)))
    if kind == _U8:
        return PyLong_FromLongLong(api, i64(load(place, u8)))
    if kind == _U16:
        return PyLong_FromLongLong(api, i64(load(place, u16)))
    if kind == _U32:
        return PyLong_FromLongLong(api, i64(load(place, u32)))
    return PyLong_FromLongLong(api, load(place, i64))
