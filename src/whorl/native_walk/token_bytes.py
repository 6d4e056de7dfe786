"""Tokens as bytes, in the three ways that the native walk needs.

    written   as pickle writes them, except that a flat list or tuple begins with how many it has:
              so every token says where it ends
    chunk     what `tokens.Chunker` hashes: pickle at protocol 3 in fast mode
    marshal   what `tokens.item_token` and the digest of a value hash: marshal at version 2

Most tokens of a large value end up in a chunk, where what was written is hashed as it is, unless
there is a flat list or tuple that is not empty among them.
"""

from __future__ import annotations

from typing import Final

from whorl.systems import inlined, load, routine, store, u8, u16, u32, u64, upto

# Operation codes of pickle.
NONE, TRUE, FALSE = 0x4E, 0x88, 0x89  # N
INT_1, INT_2, INT_4, LONG_1, LONG_4 = 0x4B, 0x4D, 0x4A, 0x8A, 0x8B  # K M J
FLOAT, TEXT, BYTES_1, BYTES_4 = 0x47, 0x58, 0x43, 0x42  # G X C B
EMPTY_LIST, EMPTY_TUPLE, MARK, APPEND, APPENDS, TUPLE = 0x5D, 0x29, 0x28, 0x61, 0x65, 0x74
TUPLE_1: Final = 0x85  # those of two and three items follow
GLOBAL, STOP = 0x63, 0x2E
# Codes of our own: followed by how many items there are.
FLAT_LIST, FLAT_TUPLE = 0xF0, 0xF1

ELLIPSIS_BYTES: Final = b"cbuiltins\nEllipsis\n"
COMPLEX_BYTES: Final = b"cbuiltins\ncomplex\n"  # then two floats, and
COMPLEX_END: Final = b"\x86R"
_KIND_AT: Final = 10  # where the two differ
COMPLEX_SIZE: Final = len(COMPLEX_BYTES) + 18 + len(COMPLEX_END)

CHUNK_HEAD: Final = b"\x80\x03]("
_BATCH: Final = 1000  # tokens between two marks of pickle


@inlined
def copy_bytes(source: u64, size: u64, to: u64) -> None:
    """Copy bytes, eight at a time: up to seven bytes behind either are touched as well."""
    for i in upto((size + 7) >> 3):
        store(to + 8 * i, load(source + 8 * i, u64))


def put_byte(to: u64, value: int) -> None:
    """Put one byte down."""
    store(to, u8(value))


def put_count(to: u64, count: u64) -> u64:
    """Write an int that is not negative and has at most 31 bits; where it ends."""
    if count < 0x100:
        store(to, u16((count << 8) | INT_1))
        return to + 2
    if count < 0x10000:
        put_byte(to, INT_2)
        store(to + 1, u16(count))
        return to + 3
    put_byte(to, INT_4)
    store(to + 1, u32(count))
    return to + 5


def put_short_bytes(to: u64, source: u64, size: u64) -> u64:
    """Write a token of less than 256 bytes; where it ends."""
    store(to, u16((size << 8) | BYTES_1))
    copy_bytes(source, size, to + 2)
    return to + 2 + size


def big_end(value: u64) -> u64:
    """A word with its bytes in the other order, as pickle has floats."""
    value = ((value >> 8) & 0x00FF00FF00FF00FF) | ((value & 0x00FF00FF00FF00FF) << 8)
    value = ((value >> 16) & 0x0000FFFF0000FFFF) | ((value & 0x0000FFFF0000FFFF) << 16)
    return (value >> 32) | (value << 32)


def size_at(place: u64) -> u64:
    """Four bytes that say how many follow."""
    return u64(load(place, u32))


@routine
def token_size(place: u64) -> u64:
    """How many bytes a token has that is no flat list or tuple."""
    code = u64(load(place, u8))
    if code == BYTES_1 or code == LONG_1:
        return u64(load(place + 1, u8)) + 2
    if code == INT_1:
        return u64(2)
    if code == TEXT or code == BYTES_4 or code == LONG_4:
        return size_at(place + 1) + 5
    if code == INT_2:
        return u64(3)
    if code == INT_4:
        return u64(5)
    if code == FLOAT:
        return u64(9)
    if code == GLOBAL:
        is_complex = load(place + _KIND_AT, u8) == COMPLEX_BYTES[_KIND_AT]
        return u64(COMPLEX_SIZE) if is_complex else u64(len(ELLIPSIS_BYTES))
    return u64(1)


# -- as a chunk -------------------------------------------------------------------------


def flat_as_pickle(place: u64, to: u64) -> tuple[u64, u64]:
    """A flat list or tuple as pickle writes it; where it ends, here and there."""
    is_list = load(place, u8) == FLAT_LIST
    count = u64(load(place + 1, u8))
    place += 2
    if is_list:
        put_byte(to, EMPTY_LIST)
        to += 1
    if count > 1 if is_list else count > 3:
        put_byte(to, MARK)
        to += 1
    for _ in upto(count):
        size = token_size(place)
        copy_bytes(place, size, to)
        place += size
        to += size
    if is_list:
        store(to, u8(APPEND) if count == 1 else u8(APPENDS))
    else:
        store(to, u8(TUPLE) if count > 3 else u8(count + (TUPLE_1 - 1)))
    return place, to + 1


@routine
def as_chunk(place: u64, end: u64, to: u64) -> u64:
    """The bytes that stand for at least two tokens in a chunk, without head; where they end."""
    count = u64(0)
    while place < end:
        if count == _BATCH:
            put_byte(to, APPENDS)
            put_byte(to + 1, MARK)
            to += 2
            count = u64(0)
        count += 1
        if load(place, u8) >= FLAT_LIST:
            place, to = flat_as_pickle(place, to)
        else:
            size = token_size(place)
            copy_bytes(place, size, to)
            place += size
            to += size
    put_byte(to, APPENDS)
    put_byte(to + 1, STOP)
    return to + 2


# -- as marshal writes it ---------------------------------------------------------------


def put_sized(to: u64, code: int, size: u64) -> u64:
    """A code of marshal and how much follows."""
    put_byte(to, code)
    store(to + 1, u32(size))
    return to + 5


@routine
def marshalled_long(place: u64, size: u64, to: u64) -> u64:
    """An int of any size: digits of 15 bits from the bytes of its two's complement."""
    is_negative = size > 0 and load(place + size - 1, u8) >= 0x80
    start = to
    to += 5
    pending, bits, carry = u64(0), u64(0), u64(1)
    digits, last = u64(0), u64(0)
    for i in upto(size):
        byte = u64(load(place + i, u8))
        if is_negative:
            byte = (byte ^ 0xFF) + carry
            carry = byte >> 8
            byte &= 0xFF
        pending |= byte << bits
        bits += 8
        if bits >= 15:
            store(to + 2 * digits, u16(pending & 0x7FFF))
            digits += 1
            if pending & 0x7FFF != 0:
                last = digits
            pending >>= 15
            bits -= 15
    store(to + 2 * digits, u16(pending))
    if pending != 0:
        last = digits + 1
    put_sized(start, 0x6C, 0 - last if is_negative else last)  # l
    return to + 2 * last


@routine
def leaf_as_marshal(place: u64, to: u64) -> u64:
    """A token that is no flat list or tuple as marshal writes it; where that ends."""
    code = u64(load(place, u8))
    if code == TEXT:
        size = size_at(place + 1)
        to = put_sized(to, 0x75, size)  # u
        copy_bytes(place + 5, size, to)
        return to + size
    if code == BYTES_1:
        size = u64(load(place + 1, u8))
        to = put_sized(to, 0x73, size)  # s
        copy_bytes(place + 2, size, to)
        return to + size
    if code == INT_1:
        return put_sized(to, 0x69, u64(load(place + 1, u8)))  # i
    if code == INT_2:
        return put_sized(to, 0x69, u64(load(place + 1, u16)))
    if code == INT_4:
        return put_sized(to, 0x69, size_at(place + 1))
    if code == FLOAT:
        put_byte(to, 0x67)  # g
        store(to + 1, big_end(load(place + 1, u64)))
        return to + 9
    if code == BYTES_4:
        size = size_at(place + 1)
        to = put_sized(to, 0x73, size)
        copy_bytes(place + 5, size, to)
        return to + size
    if code == LONG_1:
        return marshalled_long(place + 2, u64(load(place + 1, u8)), to)
    if code == LONG_4:
        return marshalled_long(place + 5, size_at(place + 1), to)
    if code == EMPTY_LIST:
        return put_sized(to, 0x5B, u64(0))
    if code == EMPTY_TUPLE:
        return put_sized(to, 0x28, u64(0))
    if code == GLOBAL:
        if load(place + _KIND_AT, u8) != COMPLEX_BYTES[_KIND_AT]:
            put_byte(to, 0x2E)  # .
            return to + 1
        put_byte(to, 0x79)  # y
        parts = place + len(COMPLEX_BYTES)
        store(to + 1, big_end(load(parts + 1, u64)))
        store(to + 9, big_end(load(parts + 10, u64)))
        return to + 17
    if code == TRUE:
        put_byte(to, 0x54)
    elif code == FALSE:
        put_byte(to, 0x46)
    else:
        put_byte(to, 0x4E)
    return to + 1


@routine
def as_marshal(place: u64, end: u64, to: u64) -> u64:
    """Tokens as marshal writes them, one after the other; where they end."""
    while place < end:
        code = u64(load(place, u8))
        if code < FLAT_LIST:
            to = leaf_as_marshal(place, to)
            place += token_size(place)
            continue
        count = u64(load(place + 1, u8))
        to = put_sized(to, 0x5B, count)  # [
        if code == FLAT_TUPLE:
            put_byte(to - 5, 0x28)  # (
        place += 2
        for _ in upto(count):
            to = leaf_as_marshal(place, to)
            place += token_size(place)
    return to
