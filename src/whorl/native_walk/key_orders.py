"""The order in which the values of a dict or of an instance's attributes are written.

A dict is written by sorted key: a tag that stands for the keys, then the values. So is an instance
that has its attributes in a dict, where the tag stands for the class too. The order of a sequence
of keys is found once a walk; dicts with the very same keys, which most have that were made by the
same line, share it. Nothing can change during a walk, so keys are compared by their addresses.

    order    hash, plan, keys, values, tag (three words), the addresses of the keys,
             and for each value that is written its number among those of the dict
"""

from __future__ import annotations

from typing import Final

from whorl.launch.object_layout import INT_DIGIT
from whorl.launch.object_words import at, word
from whorl.systems import load, routine, store, u8, u16, u32, u64, upto

from .leaf_tokens import digits_of, text_bits
from .sorted_records import RECORD, put_record, sort_records
from .token_bytes import BYTES_1, copy_bytes, put_sized
from .walk_state import KEPT, ORDER_SLOTS, ORDERS, SCRATCH, SECRET_AT, release, take
from .xxh3 import put_digest

# A plan of instances that have their attributes in a dict: see `class_plans`.
OWN, EXACT = 1, 2  # flags
PREFIX, PREFIX_SIZE, DECLARED_COUNT, DECLARED, HIDDEN_COUNT, HIDDEN, ATTRIBUTE_TAG = range(4, 11)

TAG_BYTES: Final = 19  # of a tag as a token: its head, a letter, a digest
_TAG: Final = 4  # of an order
_KEYS: Final = 7
_DICT, _SHAPE = 0x44, 0x43  # D, C
_MIX: Final = 0x9E3779B97F4A7C15


@routine
def order_of(state: u64, plan: u64, keys: u64, count: u64, is_text: bool) -> u64:
    """The order of keys; 0 if there is none that can be found here."""
    mixed = plan + count
    for i in upto(count):
        mixed = (mixed ^ word(keys, i)) * _MIX
        mixed ^= mixed >> 29
    slot = word(state, ORDERS) + 8 * (mixed & (ORDER_SLOTS - 1))
    known = load(slot, u64)
    if known != 0 and word(known, 0) == mixed and is_same(known, plan, keys, count):
        return known
    return new_order(state, plan, keys, count, is_text, mixed, slot)


def is_same(order: u64, plan: u64, keys: u64, count: u64) -> bool:
    """Whether an order is the one of these keys."""
    if word(order, 1) != plan or word(order, 2) != count:
        return False
    for i in upto(count):
        if word(order, _KEYS + i) != word(keys, i):
            return False
    return True


@routine
def new_order(
    state: u64, plan: u64, keys: u64, count: u64, is_text: bool, mixed: u64, slot: u64
) -> u64:
    """Find an order, and remember it for the rest of the walk."""
    mark = word(state, SCRATCH + 1)
    records = take(state, SCRATCH, RECORD * (2 * count + 2))
    order = take(state, KEPT, 8 * (_KEYS + 2 * count))
    if records == 0 or order == 0:
        return u64(0)
    written, size = u64(0), u64(0)
    for i in upto(count):
        key = word(keys, i)
        place = records + RECORD * written
        if is_text:
            if text_bits(key) >> 3 != 3:  # not ASCII
                release(state, SCRATCH, mark)
                return u64(0)
            length = load(key + at.text_size, u64)
            put_record(place, key + at.ascii_data, length, i)
            if plan == 0 or not is_listed(place, word(plan, HIDDEN), word(plan, HIDDEN_COUNT)):
                written += 1
                size += length
        else:
            number, is_small = small_number(key)
            if not is_small:
                release(state, SCRATCH, mark)
                return u64(0)
            put_record(place, u64(0), u64(0), i)
            store(place, number ^ 2**63)
            written += 1
    if plan != 0 and not has_declared(plan, records, written):
        release(state, SCRATCH, mark)
        return u64(0)
    spare = records + RECORD * (count + 1)
    ordered = sort_records(records, written, spare)
    if not put_tag(state, plan, ordered, written, size, is_text, order + 8 * _TAG):
        return u64(0)
    store(order, mixed)
    store(order + 8, plan)
    store(order + 16, count)
    store(order + 24, written)
    for i in upto(count):
        store(order + 8 * (_KEYS + i), word(keys, i))
    for i in upto(written):
        store(order + 8 * (_KEYS + count + i), load(ordered + RECORD * i + 24, u64))
    release(state, SCRATCH, mark)
    store(slot, order)
    return order


def small_number(key: u64) -> tuple[u64, bool]:
    """An int of one digit at most, and whether it is one."""
    count, is_negative = digits_of(key)
    number = u64(0) if count == 0 else u64(load(key + INT_DIGIT, u32))
    return 0 - number if is_negative else number, count <= 1


@routine
def is_listed(record: u64, texts: u64, count: u64) -> bool:
    """Whether a name is one of several texts."""
    for i in upto(count):
        text = word(texts, i)
        is_as_long = load(text + at.text_size, u64) == word(record, 2)
        if is_as_long and is_equal(text + at.ascii_data, word(record, 1), word(record, 2)):
            return True
    return False


def is_equal(one: u64, other: u64, size: u64) -> bool:
    """Whether bytes are the same."""
    for i in upto(size):
        if load(one + i, u8) != load(other + i, u8):
            return False
    return True


@routine
def has_declared(plan: u64, records: u64, count: u64) -> bool:
    """Whether all fields that a class declares are there, and no others if it must be so."""
    declared = word(plan, DECLARED_COUNT)
    if word(plan, 0) & EXACT != 0 and declared != count:
        return False
    number = u64(0)
    for i in upto(count):
        if is_listed(records + RECORD * i, word(plan, DECLARED), declared):
            number += 1
    return number == declared


def put_tag(
    state: u64, plan: u64, records: u64, count: u64, size: u64, is_text: bool, to: u64
) -> bool:
    """Put down the tag that stands for keys, as a token; whether there is memory for that."""
    prefix, letter = u64(0), u64(_DICT)
    if plan != 0:
        if word(plan, 0) & EXACT != 0:
            copy_bytes(plan + 8 * ATTRIBUTE_TAG, u64(24), to)
            return True
        prefix, letter = word(plan, PREFIX_SIZE), u64(_SHAPE)
    start = take(state, SCRATCH, ((prefix + 5 * (count + 1) + size) | 7) + 9)
    if start == 0:
        return False
    place = start + prefix
    if plan == 0:
        place = put_sized(place, 0x5B, count)  # a list of keys
    else:
        copy_bytes(word(plan, PREFIX), prefix, start)
        place = put_sized(place, 0x28, count)  # a tuple of names
    for i in upto(count):
        record = records + RECORD * i
        if is_text:
            place = put_sized(place, 0x75, word(record, 2))
            copy_bytes(word(record, 1), word(record, 2), place)
            place += word(record, 2)
        else:
            place = put_sized(place, 0x69, word(record, 0) ^ 2**63)
    store(to, u16(0x1100 | BYTES_1))
    store(to + 2, u8(letter))
    put_digest(start, place - start, word(state, SECRET_AT), to + 3)
    return True
