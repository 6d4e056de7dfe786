"""Sorts records by bytes: names, keys, the members of containers without order.

A record is four words: the first eight bytes as a number, where the bytes are, how many there are,
and whatever belongs to them. Numbers are sorted by the first word alone; they have no bytes.
"""

from __future__ import annotations

from typing import Final

from whorl.launch.object_words import word
from whorl.systems import inlined, load, routine, store, u8, u64, upto

from .token_bytes import big_end, copy_bytes

RECORD: Final = 32  # bytes
_FEW: Final = 12  # records that are sorted by insertion


@routine
def put_record(place: u64, data: u64, size: u64, label: u64) -> None:
    """Put a record down."""
    first = u64(0)
    if size >= 8:
        first = big_end(load(data, u64))
    else:
        for i in upto(size):
            first |= u64(load(data + i, u8)) << (56 - 8 * i)
    store(place, first)
    store(place + 8, data)
    store(place + 16, size)
    store(place + 24, label)


@inlined
def is_before(one: u64, other: u64) -> bool:
    """Whether a record comes before another that stands in front of it."""
    first, second = word(one, 0), word(other, 0)
    if first != second:
        return first < second
    return is_less(one, other)


@routine
def is_less(one: u64, other: u64) -> bool:
    """The same for records with the same first bytes."""
    size, other_size = word(one, 2), word(other, 2)
    shorter = size if size < other_size else other_size
    place = u64(8)
    while place < shorter:
        byte = load(word(one, 1) + place, u8)
        other_byte = load(word(other, 1) + place, u8)
        if byte != other_byte:
            return byte < other_byte
        place += 1
    return size < other_size


def copy_record(source: u64, to: u64) -> None:
    """Copy one record."""
    copy_bytes(source, u64(RECORD), to)


@routine
def insert_records(records: u64, count: u64, spare: u64) -> None:
    """Sort a few records; there is place for one more at `spare`."""
    end = records + RECORD * count
    place = records + RECORD
    while place < end:
        if is_before(place, place - RECORD):
            copy_record(place, spare)
            hole = place
            while hole > records and is_before(spare, hole - RECORD):
                copy_record(hole - RECORD, hole)
                hole -= RECORD
            copy_record(spare, hole)
        place += RECORD


@routine
def merge(one: u64, middle: u64, end: u64, to: u64) -> None:
    """Merge two runs of records that follow each other."""
    first, second = one, middle
    while first < middle or second < end:
        if second >= end or (first < middle and not is_before(second, first)):
            copy_record(first, to)
            first += RECORD
        else:
            copy_record(second, to)
            second += RECORD
        to += RECORD


@routine
def sort_records(records: u64, count: u64, spare: u64) -> u64:
    """Sort records; there is place for as many at `spare`. Returns where they are then."""
    run = u64(0)
    while run < count:
        few = count - run if count - run < _FEW else u64(_FEW)
        insert_records(records + RECORD * run, few, spare)
        run += _FEW
    width = u64(_FEW)
    while width < count:
        start = u64(0)
        while start < count:
            middle = start + width if start + width < count else count
            end = middle + width if middle + width < count else count
            merge(
                records + RECORD * start, records + RECORD * middle, records + RECORD * end,
                spare + RECORD * start,
            )  # fmt: skip
            start = end
        records, spare = spare, records
        width = 2 * width
    return records
