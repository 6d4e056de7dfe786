"""Arrays and attributes: the launcher's parts that check them in tight loops.

Members of one object with the same dtype, dimensions and flags are one run: what is expected
stays in the machine's registers, and each member is an entry of a few words.

    entries of a run in slots          offset, word of the record              two half words
    entries of a run of attributes     name, word, number among shared keys,   one word,
                                       number in a dict of its own, nothing    four half words

An attribute is read by the number at which its name stood when the table was made. The name is
compared on every launch; where another one stands there now, the dict is asked. A dict whose
keys are all texts runs no code of anybody when it is asked, and no other is read here.

Where an object keeps its attributes is held in five registers: the pairs with the names, the
values, the logarithm of the bytes from one value to the next, how many names there are, the dict.
`instances.attributes_of` does in Python what `hold` does here.
"""

from __future__ import annotations

from typing import Final

from whorl.systems import cold, load, routine, store, u8, u32, u64, upto

from .c_api import NDARRAY, PyDict_GetItemWithError
from .object_reads import at, class_of, word

__all__ = [
    "BARE", "EXTENTS", "HELD_WORDS", "STRIDES", "arrays", "ask",
    "attribute", "has_texts", "hold", "look_up", "member", "members",
]  # fmt: skip

HELD_WORDS: Final = 5  # registers: names, values, shift, count, dict; as in `instances.Held`
EXTENTS, STRIDES, BARE = 0, 1, 2  # what of an array is put down beside its address
_MEMBER_BYTES: Final = 24
_LOW: Final = 2**32 - 1
_PAIRS, _VALUES = 4, 3  # logarithms of bytes


# -- arrays -----------------------------------------------------------------------------


def is_array(value: u64, ndarray: u64, dtype: u64, ndim: u32, mask: u32, bits: u32) -> bool:
    """Whether an object is a plain array of a dtype, with so many dimensions and these flags."""
    if class_of(value) != ndarray:
        return False
    is_dtype = load(value + at.array_dtype, u64) == dtype
    is_ndim = load(value + at.array_ndim, u32) == ndim
    return is_dtype & is_ndim & (load(value + at.array_flags, u32) & mask == bits)


def fill(value: u64, target: u64, ndim: u64, extents: u64) -> None:
    """Put an array into the record: its address, and what else the kernel uses of it."""
    store(target, load(value + at.array_data, u64))
    if extents == BARE:
        return
    shape = load(value + at.array_shape, u64)
    if (ndim == 1) & (extents == EXTENTS):
        store(target + 8, load(shape, u64))
        return
    for axis in upto(ndim):
        store(target + 8 + 8 * axis, word(shape, axis))
    if extents == STRIDES:
        strides = load(value + at.array_strides, u64)
        for axis in upto(ndim):
            store(target + 8 + 8 * (axis + ndim), word(strides, axis))


@routine
def arrays(owner: u64, op: u64, ndarray: u64, record: u64) -> bool:
    """A run of arrays at offsets from one place: arguments, or the slots of an object."""
    ndim, extents = word(op, 4), word(op, 7)
    if extents == BARE:
        return run_of_arrays(owner, op, ndarray, record, ndim, u64(BARE))
    if (ndim == 1) & (extents == EXTENTS):
        return run_of_arrays(owner, op, ndarray, record, u64(1), u64(EXTENTS))
    return run_of_arrays(owner, op, ndarray, record, ndim, extents)


def run_of_arrays(owner: u64, op: u64, ndarray: u64, record: u64, ndim: u64, extents: u64) -> bool:
    """The same. What is known of `ndim` and `extents` where it is called makes its loop short."""
    dtype, flags, entries = word(op, 3), word(op, 5), word(op, 6)
    mask, bits = u32(flags), u32(flags >> 32)
    for i in upto(word(op, 2)):
        entry = word(entries, i)
        value = load(owner + (entry & _LOW), u64)
        if value == 0 or not is_array(value, ndarray, dtype, u32(ndim), mask, bits):
            return False
        fill(value, record + 8 * (entry >> 32), ndim, extents)
    return True


# -- attributes -------------------------------------------------------------------------


def has_texts(dict: u64) -> bool:
    """Whether all keys of a dict are texts."""
    return load(load(dict + at.dict_keys, u64) + at.keys_kind, u8) != 0


def pairs_of(keys: u64) -> u64:
    """Where the pairs of names and values begin, behind the index of a dict's keys."""
    bits = u64(load(keys + at.keys_index_bits, u8))
    index: u64 = keys + at.keys_start
    return index + (u64(1) << (bits & 63))


@cold
def ask(api: u64, dict: u64, name: u64) -> u64:
    """What a name leads to in a dict, if there is one; 0 if to nothing, or an error is set."""
    if dict == 0:
        return u64(0)
    return PyDict_GetItemWithError(api, dict, name)


def attribute(
    api: u64, names: u64, values: u64, shift: u64, known: u64, dict: u64, name: u64, number: u64
) -> u64:
    """What a name leads to: the value of its number, if it still stands there."""
    if number < known and load(names + (number << _PAIRS), u64) == name:
        return load(values + (number << (shift & 63)), u64)
    return ask(api, dict, name)


@routine
def look_up(api: u64, dict: u64, key: u64, number: u64) -> u64:
    """What a key leads to in a dict of texts; 0 if it is not there, and for other dicts."""
    keys = load(dict + at.dict_keys, u64)
    if load(keys + at.keys_kind, u8) == 0:
        return u64(0)
    pairs, known = pairs_of(keys), load(keys + at.keys_count, u64)
    row = load(dict + at.dict_values, u64)
    if row == 0:
        return attribute(api, pairs, pairs + 8, u64(_PAIRS), known, dict, key, number)
    if at.class_keys == 0:
        return ask(api, dict, key)
    values = row + at.values_start
    return attribute(api, pairs, values, u64(_VALUES), known, dict, key, number)


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
        return put_down(out, shared, values, u64(_VALUES), u64(0))
    keys = load(found + at.dict_keys, u64)
    if load(keys + at.keys_kind, u8) == 0:
        return False
    row = load(found + at.dict_values, u64)
    if row == 0:
        return put_down(out, keys, pairs_of(keys) + 8, u64(_PAIRS), found)
    if at.class_keys == 0:
        return False
    return put_down(out, keys, row + at.values_start, u64(_VALUES), found)


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


@routine
def member(api: u64, held: u64, name: u64, numbers: u64) -> u64:
    """One attribute of an object that is held."""
    shift = word(held, 2)
    number = numbers >> 32 if shift == _PAIRS else numbers & _LOW
    names, values, known, dict = word(held, 0), word(held, 1), word(held, 3), word(held, 4)
    return attribute(api, names, values, shift, known, dict, name, number)


@routine
def members(api: u64, held: u64, op: u64, record: u64) -> bool:
    """A run of arrays among the attributes of an object that is held."""
    names, values, shift = word(held, 0), word(held, 1), word(held, 2)
    known, dict = word(held, 3), word(held, 4)
    ndarray, dtype, ndim, extents = word(api, NDARRAY), word(op, 3), word(op, 4), word(op, 7)
    flags = word(op, 5)
    mask, bits = u32(flags), u32(flags >> 32)
    number_at = u64(16) if shift == _PAIRS else u64(12)
    entry = word(op, 6)
    for _ in upto(word(op, 2)):
        name, number = load(entry, u64), u64(load(entry + number_at, u32))
        value = attribute(api, names, values, shift, known, dict, name, number)
        if value == 0 or not is_array(value, ndarray, dtype, u32(ndim), mask, bits):
            return False
        fill(value, record + 8 * u64(load(entry + 8, u32)), ndim, extents)
        entry += _MEMBER_BYTES
    return True
