"""Functions of the systems dialect for tests: one for each part of the language."""

from __future__ import annotations

from whorl.systems import (
    CFunction,
    Constants,
    cold,
    f64,
    inlined,
    load,
    routine,
    stack,
    store,
    u8,
    u32,
    u64,
    upto,
)

at = Constants(lambda: {"second": 8, "kind": "words"})
NewFloat = CFunction("PyFloat_FromDouble", u64, f64)
GetAttr = CFunction("PyObject_GetAttr", u64, u64, u64)


def total(words: u64, count: u64) -> u64:
    found = u64(0)
    for i in upto(count):
        found += load(words + 8 * i, u64)
    return found


def low_half_of_second(words: u64) -> u64:
    if at.kind == "words":
        return u64(load(words + at.second, u32))
    return u64(0)


@routine
def divided(number: u64, by: u64) -> tuple[u64, u64]:
    if by == 0:
        return u64(0), number
    rest = number
    times = u64(0)
    while rest >= by:
        rest -= by
        times += 1
    return times, rest


@cold
def last_byte(address: u64) -> u8:
    return load(address + 7, u8)


def mixed(words: u64, by: u64) -> u64:
    first = load(words, u64)
    times, rest = divided(first & 0xFFFF, by)
    own = stack(2)
    store(own, times)
    store(own + 8, rest << 32)
    return load(own, u64) | load(own + 8, u64) ^ u64(last_byte(words)) << 56


def half(function: u64, number: u64) -> u64:
    return NewFloat(function, f64(number) * 0.5)


def attribute(function: u64, owner: u64, name: u64) -> u64:
    return GetAttr(function, owner, name)


@inlined
def last_of_many(words: u64, value: u64) -> u64:
    own = stack(words)
    store(own + 8 * (words - 1), value)
    return load(own + 8 * (words - 1), u64)


def many_stacks(count: u64, words: u64) -> u64:
    found = u64(0)
    for i in upto(count):
        found = last_of_many(words, found + i)
    return found
