"""Reads objects in memory by their layout: the first functions of the launcher.

The functions of this module and of `members`, `table_operations`, `result_objects`, `table_choice`
and `native` are written in the systems dialect (see `whorl.systems`): each is compiled, and is its
own twin as plain Python. `at` has the offsets; an address that is 0 stands for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from whorl.systems import cold, i32, load, stack, store, u32, u64

from .c_api import INT, PyLong_AsLongLongAndOverflow
from .member_places import keys_bits, keys_word
from .object_layout import INT_DIGIT, INT_SIZE, ObjectLayout
from .object_words import at, class_of, word


def constants_of(layout: ObjectLayout) -> Mapping[str, int | str]:
    """The numbers of a layout by name, as the launcher is compiled with them."""
    inside, instance = layout.inside, layout.instance
    numbers = {
        "header": layout.base_size + 8,
        "type": layout.type,
        "float_value": layout.float_value,
        "array_data": layout.array_data,
        "array_ndim": layout.array_ndim,
        "array_shape": layout.array_shape,
        "array_strides": layout.array_strides,
        "array_dtype": layout.array_dtype,
        "array_flags": layout.array_flags,
        "function_code": layout.function_code,
        "type_version": layout.type_version,
        "tuple_size": layout.tuple_size,
        "tuple_items": layout.tuple_items,
        "dict_keys": inside.keys,
        "dict_values": inside.values,
        "keys_kind": inside.kind,
        "keys_index_bits": inside.index_bits,
        "keys_count": inside.count,
        "keys_start": inside.start,
        "keys_word": keys_word(inside),
        "keys_bits": keys_bits(inside),
        "class_keys": instance.class_keys,
        "values_start": instance.values,
        "inline_pointer": instance.pointer,
        "inline_valid": instance.valid,
    }
    texts = {"ints": layout.ints, "none": layout.none, "inline": instance.inline}
    return {name: number % (1 << 64) for name, number in numbers.items()} | texts


def is_unchanged(value: u64, cls: u64, version: u64) -> bool:
    """Whether an object is of a class, and the class has not been changed since."""
    return class_of(value) == cls and u64(load(cls + at.type_version, u32)) == version


def int_of(api: u64, value: u64) -> tuple[bool, u64]:
    """Whether an object is an exact int of 64 bits, and its value."""
    if class_of(value) != word(api, INT):
        return False, u64(0)
    size = load(value + INT_SIZE, u64)
    if at.ints == "sized" and size + 1 < 3:  # -1, 0 or 1 digits
        return True, u64(load(value + INT_DIGIT, u32)) * size
    if at.ints == "tagged" and size < 16:
        return True, u64(load(value + INT_DIGIT, u32)) * (1 - (size & 3))
    return large_int_of(api, value)


@cold
def large_int_of(api: u64, value: u64) -> tuple[bool, u64]:
    """The same of an int of any size."""
    overflow = stack(1)
    store(overflow, u64(0))
    number = PyLong_AsLongLongAndOverflow(api, value, overflow)
    return load(overflow, i32) == 0, u64(number)
