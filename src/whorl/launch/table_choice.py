"""The header of a kernel and the arguments of a call in, the tables to try out.

What a header holds, and what marks are, is said in `selector`, which makes them.
"""

from __future__ import annotations

from typing import Final

from whorl.reads.facts import C_ORDER
from whorl.systems import cold, load, routine, stack, u32, u64, upto

from .attribute_rows import HELD_WORDS, hold
from .c_api import NDARRAY
from .members import member
from .object_reads import int_of
from .object_words import at, class_of, word
from .selector import (
    BY_FLAGS,
    BY_NDIM,
    BY_ORDER,
    BY_PLACE,
    FLAGS_OF_C_ORDER,
    FLAGS_OF_OTHERS,
    IDENTITY,
    INT,
    META,
    SLOT,
)

_MARK_BYTES: Final = 64


@routine
def tables_for(header: u64, api: u64, args: u64, given: u64) -> u64:
    """The tables that a call is to be tried with: a list that ends with 0."""
    every, marks = word(header, 3), word(header, 5)
    if marks == 0 or word(header, 8) != given:
        return every
    looked = word(header, 4)
    key = u64(0)
    for _ in upto(marks):
        key = key * BY_ORDER + mark_of(api, word(args, word(looked, 0)), looked)
        looked += _MARK_BYTES
    places, mask = word(header, 6), word(header, 7)
    number = key * BY_PLACE >> 32
    while True:
        place = places + 16 * (number & mask)
        tables = word(place, 1)
        if tables == 0:
            return every
        if word(place, 0) == key:
            return tables
        number += 1


def mark_of(api: u64, value: u64, looked: u64) -> u64:
    """The mark of an argument, or of a member of it; 0 if there is none."""
    kind = word(looked, 1)
    if kind == IDENTITY:
        return value
    if kind == INT:
        _, number = int_of(api, value)
        return number
    if kind == META:
        return meta(api, value)
    found = marked_member(api, value, looked, kind)
    return u64(0) if found == 0 else meta(api, found)


def meta(api: u64, value: u64) -> u64:
    """The class of an object; for an array its dtype, dimensions and flags."""
    cls = class_of(value)
    if cls != word(api, NDARRAY):
        return cls
    ndim = u64(load(value + at.array_ndim, u32))
    flags = u64(load(value + at.array_flags, u32))
    flags &= u64(FLAGS_OF_OTHERS) if flags & C_ORDER == 0 else u64(FLAGS_OF_C_ORDER)
    return load(value + at.array_dtype, u64) ^ ndim * BY_NDIM ^ flags * BY_FLAGS


@cold
def marked_member(api: u64, value: u64, looked: u64, kind: u64) -> u64:
    """The member of an object that a mark is about; 0 if there is none."""
    cls = class_of(value)
    if cls != word(looked, 2):
        return u64(0)
    if kind == SLOT:
        return load(value + word(looked, 3), u64)
    held = stack(HELD_WORDS)
    if not hold(value, cls, word(looked, 3), word(looked, 4), held):
        return u64(0)
    return member(api, held, word(looked, 5), word(looked, 6))
