"""The launcher: one routine for all kernels, driven by tables.

A callable object holds the address of its header; the header names the tables of the kernel's
specializations. A table is a list of operations: load something into a register, check it, and
put what the kernel needs into the launch record. The first table whose checks all hold launches
its kernel; if none does, the call goes on to Python. Arguments by keyword are put where their
parameters are, by the names of these; names that are equal and not the same object are for Python.

    header   api, slow, calls that are inside, tables if nothing tells more, marks, their number,
             places, their mask, arguments (see `selector` for these five), raised, the names
             of the parameters, their number, how many may be given by position
    special  arguments, registers, words, entry, template, operations, their number, results,
             failed, releases the lock
    operation  kind, from, to, a, b, c, d, e          eight words each: see `table_operations`

Every address comes from a table, so the routine is the same bytes in every process of one
layout: it is compiled once, kept in the store, and mapped. What code of the user raises is handed
to `raised`, with the table, the register that was to be filled and the arguments: it knows whether
the call would come to that, and then the caller gets it, or whether the table is for other calls.
"""

from __future__ import annotations

from types import NoneType
from typing import Final

from whorl.systems import CFunction, cold, inlined, load, routine, stack, store, u64, upto

from .c_api import (
    EXCEPTION,
    RECURSION,
    Py_DecRef,
    Py_IncRef,
    PyBytes_FromStringAndSize,
    PyErr_Clear,
    PyErr_Fetch,
    PyErr_GivenExceptionMatches,
    PyErr_NormalizeException,
    PyErr_Occurred,
    PyEval_RestoreThread,
    PyEval_SaveThread,
    PyException_SetTraceback,
    PyLong_FromUnsignedLongLong,
    PyObject_CallOneArg,
    PyObject_Vectorcall,
)
from .launch_record import STATUS
from .object_words import at, word
from .result_objects import result
from .selector import BY_NAME, INSIDE
from .table_choice import tables_for
from .table_operations import OP_WORDS, OPERATIONS, Operation

SPECIAL_WORDS: Final = 10
_COUNT: Final = 2**63 - 1  # the highest bit says that the word before the arguments may be used
_NOT_BOUND: Final = 2**64 - 1
_TEMPLATE_WORDS: Final = tuple(range(8))
_STATUS_BYTES: Final = 32

# What becomes of an operation, and then of a table.
PASSED, KEPT, FAILED, ASKED, RAISED, LAUNCHED = (u64(i) for i in range(6))

Kernel = CFunction("the kernel", NoneType, u64)


def whorl_launch(called: u64, args: u64, counted: u64, names: u64) -> u64:
    """A vectorcall of a kernel: the result, or 0 and an error is set."""
    header = load(called + at.header, u64)
    api, count = word(header, 0), counted & _COUNT
    used, used_count, given = args, count, count
    if names != 0:
        used_count = word(header, 11)
        used = stack(used_count)
        given = bind_names(header, args, count, names, used)
        if given == _NOT_BOUND:
            return PyObject_Vectorcall(api, word(header, 1), args, counted, names)
    inside = header + 8 * INSIDE
    store(inside, load(inside, u64) + 1)
    tables = tables_for(header, api, used, given)
    place = tables
    special = load(place, u64)
    while special != 0:
        outcome, found = try_table(special, api, used, given, used_count)
        if outcome != FAILED:
            store(inside, load(inside, u64) - 1)
            if outcome == RAISED:
                return hand_over(header, api, special, found, args, count, names)
            if place != tables:
                exchange(place, tables)
            return found
        place += 8
        special = load(place, u64)
    store(inside, load(inside, u64) - 1)
    return PyObject_Vectorcall(api, word(header, 1), args, counted, names)


def exchange(place: u64, other: u64) -> None:
    """Exchange what is in two places now: another thread may have done so too."""
    here, there = load(place, u64), load(other, u64)
    store(other, here)
    store(place, there)


@inlined
def try_table(special: u64, api: u64, args: u64, given: u64, count: u64) -> tuple[u64, u64]:
    """Try one specialization.

    LAUNCHED and the result, or 0 and an error is set; FAILED, if it does not fit; RAISED and the
    register that was to be filled, if code of the user has raised, which is set.

    `given` says which parameters are given; so many arguments are loaded into registers.
    """
    if word(special, 0) != given:
        return FAILED, u64(0)
    registers_count, words = word(special, 1), word(special, 2)
    record = stack(words + 2 * registers_count)
    registers = record + 8 * words
    owned = registers + 8 * registers_count
    for i in upto(count):
        store(registers + 8 * i, word(args, i))
    kept = owned  # behind the last reference that is kept
    op = word(special, 5)
    end = op + 8 * OP_WORDS * word(special, 6)
    while op != end:
        outcome = perform(api, op, registers, record, kept)
        if outcome == KEPT:
            kept += 8
        elif outcome != PASSED:
            if outcome != FAILED:
                outcome = after_error(api, outcome)
            release(api, owned, kept)
            return outcome, word(op, 2) if outcome == RAISED else u64(0)
        op += 8 * OP_WORDS
    launch(special, api, record)
    release(api, owned, kept)
    if word(record, STATUS) != 0:
        return LAUNCHED, raise_failure(api, word(special, 8), record)
    return LAUNCHED, result(api, word(special, 7), record)


def perform(api: u64, op: u64, registers: u64, record: u64, kept: u64) -> u64:
    """Perform one operation by its row."""
    kind = word(op, 0)
    for number, row in enumerate(OPERATIONS):
        if kind == number:
            found = row.perform(api, op, registers, record)
            if row.loads:
                return put_into_register(row, api, op, registers, found, kept)
            if found:
                return PASSED
            return ASKED if row.asks else FAILED
    return FAILED


def put_into_register(
    row: Operation, api: u64, op: u64, registers: u64, found: u64, kept: u64
) -> u64:
    """Put an object into the register of a load; keep a reference to it, if need be."""
    if found == 0:
        return RAISED if row.runs_code else ASKED
    store(registers + 8 * word(op, 2), found)
    if row.borrows:
        return PASSED
    if row.keeps != 0:  # it is borrowed so far
        if word(op, row.keeps) == 0:
            return PASSED
        Py_IncRef(api, found)
    store(kept, found)
    return KEPT


@cold
def after_error(api: u64, outcome: u64) -> u64:
    """What becomes of a table after an operation that may have left an error.

    Who asks again at every depth of the stack never comes to an end; and what is no `Exception`
    ends the call in any case. Other errors count if code of the user has raised them.
    """
    error = PyErr_Occurred(api)
    if error == 0:
        return FAILED
    if (
        PyErr_GivenExceptionMatches(api, error, word(api, EXCEPTION)) == 0
        or PyErr_GivenExceptionMatches(api, error, word(api, RECURSION)) != 0
    ):
        return LAUNCHED
    if outcome == RAISED:
        return RAISED
    PyErr_Clear(api)
    return FAILED


@routine
def release(api: u64, first: u64, end: u64) -> None:
    """Give back references."""
    place = first
    while place != end:
        Py_DecRef(api, load(place, u64))
        place += 8


def launch(special: u64, api: u64, record: u64) -> None:
    """Run the kernel, with the interpreter's lock or without."""
    entry = word(special, 3)
    template = word(special, 4)
    for i in _TEMPLATE_WORDS:
        store(record + 8 * i, word(template, i))
    if word(special, 9) == 0:
        Kernel(entry, record)
    else:
        state = PyEval_SaveThread(api)
        Kernel(entry, record)
        PyEval_RestoreThread(api, state)


@cold
def raise_failure(api: u64, failed: u64, record: u64) -> u64:
    """Let Python raise what the status of a launch says."""
    status = PyBytes_FromStringAndSize(api, record + 8 * STATUS, _STATUS_BYTES)
    if status == 0:
        return u64(0)
    found = PyObject_CallOneArg(api, failed, status)
    Py_DecRef(api, status)
    return found


@cold
def bind_names(header: u64, args: u64, count: u64, names: u64, bound: u64) -> u64:
    """Put the arguments of a call by keyword where their parameters are, 0 where there is none.

    Returns which are given: how many, if they are the first ones and none is for keywords alone, or
    a bit for each and one more. Calls that do not fit are for Python, which has the words for what
    is wrong.
    """
    parameters, size, positional = word(header, 10), word(header, 11), word(header, 12)
    if size == 0 or count > positional:
        return u64(_NOT_BOUND)
    for i in upto(size):
        store(bound + 8 * i, word(args, i) if i < count else u64(0))
    named = load(names + at.tuple_size, u64)
    bits = (u64(1) << (count & 63)) - 1
    for i in upto(named):
        name = word(names + at.tuple_items, i)
        number = count
        while number < size and word(parameters, number) != name:
            number += 1
        if number >= size:
            return u64(_NOT_BOUND)
        store(bound + 8 * number, word(args, count + i))
        bits |= u64(1) << (number & 63)
    total = count + named
    if bits & (bits + 1) == 0 and total <= positional:
        return total
    return bits | BY_NAME


@cold
def hand_over(
    header: u64, api: u64, special: u64, register: u64, args: u64, count: u64, names: u64
) -> u64:
    """Hand what code of the user has raised to the function for that, with the table, the register
    and the arguments of the call. Without such a function it stays raised."""
    function = word(header, 9)
    if function == 0:
        return u64(0)
    error = fetched_error(api)
    given = count
    if names != 0:
        given += load(names + at.tuple_size, u64)
    handed = stack(given + 3)
    store(handed, error)
    store(handed + 8, PyLong_FromUnsignedLongLong(api, special))
    store(handed + 16, PyLong_FromUnsignedLongLong(api, register))
    found = u64(0)
    if word(handed, 1) != 0 and word(handed, 2) != 0:
        for i in upto(given):
            store(handed + 24 + 8 * i, word(args, i))
        found = PyObject_Vectorcall(api, function, handed, count + 3, names)
    for i in upto(u64(3)):
        if word(handed, i) != 0:
            Py_DecRef(api, word(handed, i))
    return found


def fetched_error(api: u64) -> u64:
    """The current error, taken away, with its traceback."""
    cls, error, trace = stack(1), stack(1), stack(1)
    PyErr_Fetch(api, cls, error, trace)
    PyErr_NormalizeException(api, cls, error, trace)
    if load(trace, u64) != 0:
        PyException_SetTraceback(api, load(error, u64), load(trace, u64))
        Py_DecRef(api, load(trace, u64))
    Py_DecRef(api, load(cls, u64))
    return load(error, u64)
