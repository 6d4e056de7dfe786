"""Writes the tokens of leaves: numbers, texts, bytes.

Every function is given a place among the tokens with room for `ROOM` bytes, and returns where its
token ends; 0 if it could not be written, which the status of the walk explains.
"""

from __future__ import annotations

from typing import Final

from whorl.launch.object_layout import INT_DIGIT, INT_SIZE
from whorl.launch.object_words import at, word
from whorl.systems import cold, inlined, load, routine, store, u8, u16, u32, u64, upto

from .token_bytes import (
    BYTES_1,
    BYTES_4,
    COMPLEX_BYTES,
    COMPLEX_END,
    COMPLEX_SIZE,
    ELLIPSIS_BYTES,
    FALSE,
    FLOAT,
    INT_4,
    LONG_1,
    LONG_4,
    TEXT,
    big_end,
    copy_bytes,
    put_byte,
    put_count,
)
from .token_bytes import NONE as NONE_CODE
from .token_bytes import TRUE as TRUE_CODE
from .walk_state import COMPLEX_AT, ELLIPSIS_AT, PLAIN, SECRET_AT, STATUS, TRUE, with_room
from .xxh3 import put_digest

ROOM: Final = 256
LONG_BYTES: Final = 4096
_MOST: Final = 2**31 - 1  # bytes of one token

# The kinds of leaves: see `class_plans`.
NONES, BOOLS, INTS, FLOATS, TEXTS, COMPLEXES, ELLIPSES = range(1, 8)
LEAVES: Final = 7


@inlined
def put_leaf(state: u64, kind: u64, value: u64, pos: u64) -> u64:
    """Write a leaf of some kind."""
    if kind == TEXTS:
        return put_text(state, value, pos)
    if kind == INTS:
        return put_int(state, value, pos)
    if kind == FLOATS:
        return put_float(pos, load(value + at.float_value, u64))
    return put_rare(state, kind, value, pos)


@routine
def put_rare(state: u64, kind: u64, value: u64, pos: u64) -> u64:
    """Write a leaf of one of the other kinds."""
    if kind == NONES:
        put_byte(pos, NONE_CODE)
        return pos + 1
    if kind == BOOLS:
        store(pos, u8(TRUE_CODE) if value == word(state, TRUE) else u8(FALSE))
        return pos + 1
    if kind == ELLIPSES:
        copy_bytes(word(state, ELLIPSIS_AT), u64(len(ELLIPSIS_BYTES)), pos)
        return pos + len(ELLIPSIS_BYTES)
    copy_bytes(word(state, COMPLEX_AT), u64(len(COMPLEX_BYTES)), pos)
    parts = value + at.complex_value
    place = put_float(pos + len(COMPLEX_BYTES), load(parts, u64))
    place = put_float(place, load(parts + 8, u64))
    put_byte(place, COMPLEX_END[0])
    put_byte(place + 1, COMPLEX_END[1])
    return pos + COMPLEX_SIZE


def put_float(pos: u64, bits: u64) -> u64:
    """Write a float by its bits."""
    put_byte(pos, FLOAT)
    store(pos + 1, big_end(bits))
    return pos + 9


@inlined
def put_int(state: u64, value: u64, pos: u64) -> u64:
    """Write an int."""
    size = load(value + INT_SIZE, u64)
    if at.ints == "sized" and size + 1 < 3:  # -1, 0 or 1 digits
        return put_digit(pos, u64(load(value + INT_DIGIT, u32)) * size)
    if at.ints == "tagged" and size < 16:
        return put_digit(pos, u64(load(value + INT_DIGIT, u32)) * (1 - (size & 3)))
    return put_long(state, value, pos)


def put_digit(pos: u64, number: u64) -> u64:
    """Write an int of one digit at most, which may be negative."""
    if number < 2**31:
        return put_count(pos, number)
    put_byte(pos, INT_4)
    store(pos + 1, u32(number))
    return pos + 5


def digits_of(value: u64) -> tuple[u64, bool]:
    """How many digits an int has, and whether it is negative."""
    size = load(value + INT_SIZE, u64)
    if at.ints == "tagged":
        return size >> 3, size & 3 == 2
    is_negative = size >= 2**63
    return 0 - size if is_negative else size, is_negative


@cold
def put_long(state: u64, value: u64, pos: u64) -> u64:
    """Write an int of two digits or more."""
    count, is_negative = digits_of(value)
    digits = value + INT_DIGIT
    highest = u64(load(digits + 4 * (count - 1), u32))
    if count == 2 and highest < 4:  # less than 2**32
        small = u64(load(digits, u32)) | (highest << 30)
        if small < 2**31 or (is_negative and small == 2**31):
            put_byte(pos, INT_4)
            store(pos + 1, u32(0 - small if is_negative else small))
            return pos + 5
    bits = 30 * (count - 1)
    while highest != 0:
        bits += 1
        highest >>= 1
    size = (bits >> 3) + 1
    pos = with_room(state, pos, size + ROOM)
    if pos == 0:
        return pos
    start = pos + 5 if size > 255 else pos + 2
    put_complement(digits, count, is_negative, start, size)
    last = load(start + size - 2, u16)
    if is_negative and size > 1 and last >= 0xFF80:
        size -= 1
        if size == 255:  # which is written with a shorter head
            put_complement(digits, count, is_negative, pos + 2, size)
            start = pos + 2
    if size > 255:
        put_byte(pos, LONG_4)
        store(pos + 1, u32(size))
    else:
        store(pos, u16((size << 8) | LONG_1))
    return start + size


def put_complement(digits: u64, count: u64, is_negative: bool, to: u64, size: u64) -> None:
    """The two's complement of an int, from its digits of 30 bits."""
    pending, bits, number, carry = u64(0), u64(0), u64(0), u64(1)
    for i in upto(size):
        if bits < 8 and number < count:
            pending |= u64(load(digits + 4 * number, u32)) << bits
            bits += 30
            number += 1
        byte = pending & 0xFF
        pending >>= 8
        bits = bits - 8 if bits >= 8 else u64(0)
        if is_negative:
            byte = (byte ^ 0xFF) + carry
            carry = byte >> 8
        store(to + i, u8(byte))


# -- texts and bytes --------------------------------------------------------------------


def text_bits(value: u64) -> u64:
    """How a text is laid out: three bits of kind, one for compact, one for ASCII."""
    return u64(load(value + at.text_state, u32) >> at.text_bits) & 31


@inlined
def put_text(state: u64, value: u64, pos: u64) -> u64:
    """Write a text."""
    size = load(value + at.text_size, u64)
    if text_bits(value) >> 3 != 3 or size > 200:
        return put_other_text(state, value, pos)
    put_byte(pos, TEXT)
    store(pos + 1, u32(size))
    copy_bytes(value + at.ascii_data, size, pos + 5)
    return pos + 5 + size


@cold
def put_other_text(state: u64, value: u64, pos: u64) -> u64:
    """Write a text that is long or not ASCII."""
    size, bits = load(value + at.text_size, u64), text_bits(value)
    if bits & 8 == 0 or size > _MOST >> 2:  # not in one piece, or too long
        store(state + 8 * STATUS, u64(PLAIN))
        return u64(0)
    pos = with_room(state, pos, 4 * size + ROOM)
    if pos == 0:
        return pos
    put_byte(pos, TEXT)
    end = pos + 5 + size
    if bits & 16 != 0:
        copy_bytes(value + at.ascii_data, size, pos + 5)
    else:
        end = put_utf8(value + at.wide_data, size, bits & 7, pos + 5)
    store(pos + 1, u32(end - pos - 5))
    return end


def put_utf8(data: u64, size: u64, width: u64, to: u64) -> u64:
    """Characters of one, two or four bytes as UTF-8, half pairs too; where that ends."""
    for i in upto(size):
        code = u64(0)
        if width == 1:
            code = u64(load(data + i, u8))
        elif width == 2:
            code = u64(load(data + 2 * i, u16))
        else:
            code = u64(load(data + 4 * i, u32))
        if code < 0x80:
            store(to, u8(code))
            to += 1
            continue
        if code < 0x800:
            store(to, u8(0xC0 | (code >> 6)))
            to += 1
        else:
            if code < 0x10000:
                store(to, u8(0xE0 | (code >> 12)))
            else:
                store(to, u8(0xF0 | (code >> 18)))
                to += 1
                store(to, u8(0x80 | ((code >> 12) & 0x3F)))
            store(to + 1, u8(0x80 | ((code >> 6) & 0x3F)))
            to += 2
        store(to, u8(0x80 | (code & 0x3F)))
        to += 1
    return to


@cold
def put_bytes(state: u64, value: u64, pos: u64) -> u64:
    """Write the two or three tokens of bytes."""
    size, data = load(value + at.bytes_size, u64), value + at.bytes_data
    if size > _MOST:
        store(state + 8 * STATUS, u64(PLAIN))
        return u64(0)
    if size >= LONG_BYTES:
        store(pos, u32(0x23420200 | BYTES_1))  # two bytes: B#
        pos = put_count(pos + 4, size)
        store(pos, u16(0x1000 | BYTES_1))
        put_digest(data, size, word(state, SECRET_AT), pos + 2)
        return pos + 18
    pos = with_room(state, pos, size + ROOM)
    if pos == 0:
        return pos
    store(pos, u32(0x420100 | BYTES_1))  # one byte: B
    pos += 3
    if size < 256:
        store(pos, u16((size << 8) | BYTES_1))
        pos += 2
    else:
        put_byte(pos, BYTES_4)
        store(pos + 1, u32(size))
        pos += 5
    copy_bytes(data, size, pos)
    return pos + size
