"""Finds the rows in which an object or a dict keeps names and values.

Where an object keeps its attributes is held in five registers: the pairs with the names, the
values, the logarithm of the bytes from one value to the next, how many names there are, the dict.
`instances.attributes_of` does in Python what `hold` does here.
"""

from __future__ import annotations

from typing import Final

from whorl.systems import load, routine, store, u8, u64

from .object_words import at

HELD_WORDS: Final = 5  # registers: names, values, shift, count, dict; as in `instances.Held`
PAIRS, VALUES = 4, 3  # logarithms of the bytes from one value to the next


def has_texts(dict: u64) -> bool:
    """Whether all keys of a dict are texts."""
    return load(load(dict + at.dict_keys, u64) + at.keys_kind, u8) != 0


def pairs_of(keys: u64) -> u64:
    """Where the pairs of names and values begin, behind the index of a dict's keys."""
    bits = u64(load(keys + at.keys_index_bits, u8))
    index: u64 = keys + at.keys_start
    return index + (u64(1) << (bits & 63))


@routine
def hold(value: u64, cls: u64, dict_at: u64, inline_at: u64, out: u64) -> bool:
    """Put down where an object keeps its attributes; whether that is known.

    `dict_at` is where its dict is; `inline_at` is 0 if its class has no inline values.
    """
    found = load(value + dict_at, u64)
    if found == 0 or found & 1 != 0:
        values = inline_values(value, found, inline_at)
        if values == 0:
            return False
        shared = load(cls + at.class_keys, u64)
        if shared == 0:
            return False
        return put_down(out, shared, values, u64(VALUES), u64(0))
    keys = load(found + at.dict_keys, u64)
    if load(keys + at.keys_kind, u8) == 0:
        return False
    row = load(found + at.dict_values, u64)
    if row == 0:
        return put_down(out, keys, pairs_of(keys) + 8, u64(PAIRS), found)
    if at.class_keys == 0:
        return False
    return put_down(out, keys, row + at.values_start, u64(VALUES), found)


def put_down(out: u64, keys: u64, values: u64, shift: u64, dict: u64) -> bool:
    """Put the five words into registers."""
    store(out, pairs_of(keys))
    store(out + 8, values)
    store(out + 16, shift)
    store(out + 24, load(keys + at.keys_count, u64))
    store(out + 32, dict)
    return True


def inline_values(value: u64, dict: u64, inline_at: u64) -> u64:
    """Where the values are that belong to an instance, in this layout; 0 if it has none."""
    if at.inline == "" or inline_at == 0:
        return u64(0)
    if at.inline == "pointer":
        found = load(value + at.inline_pointer, u64)
        return u64(0) if found == 0 else found + at.values_start
    if at.inline == "tagged":
        return u64(0) if dict & 1 == 0 else dict + 1 + at.values_start
    row = value + inline_at
    return u64(0) if load(row + at.inline_valid, u8) == 0 else row + at.values_start
