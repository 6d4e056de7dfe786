"""The operations of a table: a row for each, with the function that performs it.

An operation is eight words: kind, from, to, a, b, c, d, e. A check says whether it holds; a load
gives the object that goes into the register `to`, or 0. `registers` are objects by number, the
arguments first; `record` is what the kernel is launched with.

Nothing but ATTR and ITEM runs code of the user: dicts are read only while all of their keys are
texts. To add an operation, write its function and its row: see `docs/working/launcher.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.systems import load, store, u64, upto

from .attribute_rows import has_texts, hold
from .c_api import FALSE, FLOAT, NDARRAY, TRUE, PyErr_Occurred, PyObject_GetAttr, PyObject_GetItem
from .members import arrays, ask, look_up, member, members
from .object_reads import int_of, is_unchanged
from .object_words import at, class_of, word

__all__ = ["KINDS", "OPERATIONS", "OP_WORDS", "Operation"]

OP_WORDS: Final = 8
_FROM, _TO, _A, _B, _C, _D = range(1, 7)


def source(op: u64, registers: u64) -> u64:
    """The object in the register that an operation is about."""
    return word(registers, word(op, _FROM))


def target(op: u64, record: u64) -> u64:
    """The word of the record that an operation fills."""
    return record + 8 * word(op, _TO)


# -- arrays and numbers that are launched with ------------------------------------------


def arrays_in_registers(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return arrays(registers, op, word(api, NDARRAY), record)


def arrays_in_slots(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return arrays(source(op, registers), op, word(api, NDARRAY), record)


def arrays_in_attributes(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return members(api, registers + 8 * word(op, _FROM), op, record)


def an_int(api: u64, op: u64, registers: u64, record: u64) -> bool:
    is_int, value = int_of(api, source(op, registers))
    store(target(op, record), value)
    return is_int


def a_float(api: u64, op: u64, registers: u64, record: u64) -> bool:
    value = source(op, registers)
    if class_of(value) != word(api, FLOAT):
        return False
    store(target(op, record), load(value + at.float_value, u64))
    return True


def a_bool(api: u64, op: u64, registers: u64, record: u64) -> bool:
    value = source(op, registers)
    is_true = value == word(api, TRUE)
    store(target(op, record), u64(is_true))
    return is_true | (value == word(api, FALSE))


def a_scalar(api: u64, op: u64, registers: u64, record: u64) -> bool:
    value = source(op, registers)
    if class_of(value) != word(op, _A):
        return False
    store(target(op, record), load(value + word(op, _C), u64) & word(op, _B))
    return True


# -- objects that are led to ------------------------------------------------------------


def by_getattr(api: u64, op: u64, registers: u64, record: u64) -> u64:
    return PyObject_GetAttr(api, source(op, registers), word(op, _A))


def by_getitem(api: u64, op: u64, registers: u64, record: u64) -> u64:
    return PyObject_GetItem(api, source(op, registers), word(op, _A))


def in_slot(api: u64, op: u64, registers: u64, record: u64) -> u64:
    return load(source(op, registers) + word(op, _B), u64)


def in_attributes(api: u64, op: u64, registers: u64, record: u64) -> u64:
    return member(api, registers + 8 * word(op, _FROM), word(op, _B), word(op, _C))


def in_dict(api: u64, op: u64, registers: u64, record: u64) -> u64:
    return look_up(api, word(op, _A), word(op, _B), word(op, _C))


def an_object(api: u64, op: u64, registers: u64, record: u64) -> u64:
    return word(op, _A)


# -- what has to be as it was -----------------------------------------------------------


def of_class(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return class_of(source(op, registers)) == word(op, _A)


def of_unchanged_class(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return is_unchanged(source(op, registers), word(op, _A), word(op, _B))


def with_attributes(api: u64, op: u64, registers: u64, record: u64) -> bool:
    value, cls = source(op, registers), word(op, _A)
    if not is_unchanged(value, cls, word(op, _B)):
        return False
    return hold(value, cls, word(op, _C), word(op, _D), registers + 8 * word(op, _TO))


def same_object(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return source(op, registers) == word(op, _A)


def same_register(api: u64, op: u64, registers: u64, record: u64) -> bool:
    return source(op, registers) == word(registers, word(op, _B))


def with_code(api: u64, op: u64, registers: u64, record: u64) -> bool:
    value = source(op, registers)
    if class_of(value) != word(op, _B):
        return False
    return load(value + at.function_code, u64) == word(op, _A)


def int_of_value(api: u64, op: u64, registers: u64, record: u64) -> bool:
    is_int, value = int_of(api, source(op, registers))
    return is_int & (value == word(op, _B))


def float_of_bits(api: u64, op: u64, registers: u64, record: u64) -> bool:
    value = source(op, registers)
    if class_of(value) != word(api, FLOAT):
        return False
    return load(value + at.float_value, u64) == word(op, _B)


def no_key(api: u64, op: u64, registers: u64, record: u64) -> bool:
    if not has_texts(word(op, _A)):
        return False
    if ask(api, word(op, _A), word(op, _B)) != 0:
        return False
    return PyErr_Occurred(api) == 0


def keys_stay(api: u64, op: u64, registers: u64, record: u64) -> bool:
    entry = word(op, _A)
    for _ in upto(word(op, _TO)):
        dict, key, value, number = word(entry, 0), word(entry, 1), word(entry, 2), word(entry, 3)
        is_near = is_at_pair(entry, dict, key, value, number)
        if not is_near and look_up(api, dict, key, number) != value:
            return False
        entry += 64
    return True


def is_at_pair(entry: u64, dict: u64, key: u64, value: u64, number: u64) -> bool:
    """Whether a dict has a key and its value where it had them: its keys are those it had."""
    keys = word(entry, 4)
    if load(dict + at.dict_keys, u64) != keys:
        return False
    row = word(entry, 7)
    is_size = load(keys + at.keys_word, u64) & at.keys_bits == word(entry, 5)
    is_there = number < load(keys + at.keys_count, u64)
    if not (is_size & is_there & (load(dict + at.dict_values, u64) == row)):
        return False
    pair = word(entry, 6)
    place = pair + 8 if row == 0 else row + at.values_start + 8 * number
    return (load(pair, u64) == key) & (load(place, u64) == value)


def three_words(api: u64, op: u64, registers: u64, record: u64) -> bool:
    first = load(word(op, 1), u64) == word(op, 2)
    second = load(word(op, 3), u64) == word(op, 4)
    return first & second & (load(word(op, 5), u64) == word(op, 6))


def masked_words(api: u64, op: u64, registers: u64, record: u64) -> bool:
    entry = word(op, _A)
    for _ in upto(word(op, _TO)):
        if load(word(entry, 0), u64) & word(entry, 1) != word(entry, 2):
            return False
        entry += 24
    return True


# -- the rows ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """A kind of operation. Its function is compiled, and is its own twin as plain Python."""

    name: str
    operands: str
    perform: Callable[[u64, u64, u64, u64], Any]  # api, operation, registers, record
    loads: bool = False  # an object into a register, instead of checking something
    keeps: int = 0  # of a load: the word that says whether to keep a reference to it; 0: always
    borrows: bool = False  # of a load: never keep it
    asks: bool = False  # where it fails, an error may be set
    runs_code: bool = False  # of the user


OPERATIONS: Final = (
    Operation(
        "ARRAYS", "to: how many; a: dtype; b: ndim; c: flags, mask in the low half and bits in the "
        "high one; d: entries; e: what is put down. Plain arrays in registers", arrays_in_registers,
    ),
    Operation("SLOTTED", "the same at offsets in the object `from`", arrays_in_slots),
    Operation("KEYED", "the same for attributes of what is held", arrays_in_attributes, asks=True),
    Operation("INT", "an exact int of 64 bits, into the word `to`", an_int),
    Operation("FLOAT", "an exact float, into the word `to`", a_float),
    Operation("BOOL", "True or False, into the word `to`", a_bool),
    Operation("SCALAR", "of class a: the word at c & b, into the word `to`", a_scalar),
    Operation("ATTR", "the attribute a, as `getattr`", by_getattr, loads=True, runs_code=True),
    Operation("ITEM", "the item of key a, as Python", by_getitem, loads=True, runs_code=True),
    Operation("SLOT", "the member at offset b; a: keep it", in_slot, loads=True, keeps=_A),
    Operation("KEY", "attribute b of what is held, at its numbers c; a: keep it", in_attributes,
              loads=True, keeps=_A),
    Operation("GLOBAL", "in dict a, key b, at its number c; d: keep it", in_dict,
              loads=True, keeps=_D),
    Operation("CONST", "the object a", an_object, loads=True, borrows=True),
    Operation("TYPE", "an object of class a", of_class),
    Operation("CLASS", "of class a, which has version b", of_unchanged_class),
    Operation("HOLD", "the same, and where it keeps attributes: dict at c, inline values at d; "
              "into five registers", with_attributes),
    Operation("SAME", "the very object a", same_object),
    Operation("EQUAL", "the object in register b", same_register),
    Operation("CODE", "a function, of class b, with the code a", with_code),
    Operation("EQINT", "an exact int of value b", int_of_value),
    Operation("EQFLOAT", "an exact float of bits b", float_of_bits),
    Operation("NOKEY", "in dict a, no key b", no_key, asks=True),
    Operation("STAYS", "in dicts, keys lead to the objects they did. to: how many; a: entries of "
              "dict, key, object, number; keys, their size and kind, pair, values (see `pair_of`)",
              keys_stay, asks=True),
    Operation("CELLS", "three times, from `from` on: the word at an address is this", three_words),
    Operation("WORDS", "to: how many; a: entries of address, mask and word: masked words are these",
              masked_words),
)  # fmt: skip

KINDS: Final = {row.name: number for number, row in enumerate(OPERATIONS)}
