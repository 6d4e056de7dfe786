"""Arrays and attributes: the launcher's parts that check them in tight loops.

Members of one object with the same dtype, dimensions and flags are one run: what is expected
stays in the machine's registers, and each member is an entry of a few words.

    entries of a run in slots          offset, word of the record              two half words
    entries of a run of attributes     name, word, number among shared keys,   one word,
                                       number in a dict of its own, nothing    four half words

An attribute is read by the number at which its name stood when the table was made. The name is
compared on every launch; where another one stands there now, the dict is asked. A dict whose
keys are all texts runs no code of anybody when it is asked, and no other is read here.
"""

from __future__ import annotations

from typing import Final

from whorl.systems import cold, load, routine, store, u8, u32, u64, upto

from .attribute_rows import PAIRS, VALUES, pairs_of
from .c_api import NDARRAY, PyDict_GetItemWithError
from .object_words import at, class_of, word

EXTENTS, STRIDES, BARE = 0, 1, 2  # what of an array is put down beside its address
_MEMBER_BYTES: Final = 24
_LOW: Final = 2**32 - 1


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
    if number < known and load(names + (number << PAIRS), u64) == name:
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
        return attribute(api, pairs, pairs + 8, u64(PAIRS), known, dict, key, number)
    if at.class_keys == 0:
        return ask(api, dict, key)
    values = row + at.values_start
    return attribute(api, pairs, values, u64(VALUES), known, dict, key, number)


@routine
def member(api: u64, held: u64, name: u64, numbers: u64) -> u64:
    """One attribute of an object that is held."""
    shift = word(held, 2)
    number = numbers >> 32 if shift == PAIRS else numbers & _LOW
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
    number_at = u64(16) if shift == PAIRS else u64(12)
    entry = word(op, 6)
    for _ in upto(word(op, 2)):
        name, number = load(entry, u64), u64(load(entry + number_at, u32))
        value = attribute(api, names, values, shift, known, dict, name, number)
        if value == 0 or not is_array(value, ndarray, dtype, u32(ndim), mask, bits):
            return False
        fill(value, record + 8 * u64(load(entry + 8, u32)), ndim, extents)
        entry += _MEMBER_BYTES
    return True
