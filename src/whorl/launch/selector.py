"""The tables of a kernel in, a header out that leads a call straight to those that may fit.

A chain of tables would try each before the right one. So what tells the tables of a kernel apart
is looked at first: the *marks* of a few arguments and of their members. All tables of a kernel have
a number for each chosen mark; a call's marks lead to the tables that have the same ones.

    kind of mark     what the number is made of
    META             the class of the argument; for an array its dtype, dimensions and flags
    INT              the value of an int
    IDENTITY         the very object
    SLOT             the META of a member in a slot, of an argument of one class
    ATTRIBUTE        the META of a member among its attributes

A mark decides which tables are tried, and nothing else: each table still checks everything. Equal
numbers of different arguments cost time, never a wrong launch. Among the tables of one place, the
one that fitted last is the first to be tried.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import NamedTuple
from whorl.reads.array_flags import ALIGNED, C_ORDER, F_ORDER, WRITEABLE

__all__ = [
    "ARRAY_FLAGS", "ATTRIBUTE", "BY_NAME", "FACTORS", "HEADER_WORDS", "IDENTITY", "INSIDE", "INT",
    "META", "MOST_PARAMETERS", "NO_PARAMETERS", "SELECT", "SLOT", "Header", "Mark", "Marks",
    "Parameters", "array_mark", "header_of", "mark_of",
]  # fmt: skip

META, INT, IDENTITY, SLOT, ATTRIBUTE = 0, 1, 2, 3, 4
HEADER_WORDS: Final = 13
INSIDE: Final = 2  # the word that counts the calls which are using a header
MOST_MARKS: Final = 4

FACTORS: Final = {
    "by_ndim": 0x2545F4914F6CDD1D,
    "by_flags": 0x369DEA0F31A53F85,
    "by_order": 0x5851F42D4C957F2D,
    "by_place": 0x1E3779B97F4A7C15,
}
ARRAY_FLAGS: Final = {
    "flag_c": C_ORDER,
    "flags_if_c": C_ORDER | ALIGNED | WRITEABLE,
    "flags_if_not": F_ORDER | ALIGNED | WRITEABLE,
}
_WORD: Final = (1 << 64) - 1


MOST_PARAMETERS: Final = 60
BY_NAME: Final = 1 << 62


class Parameters(NamedTuple):
    """By which names arguments are given, and how many of them by position too."""

    names: tuple[str | None, ...]  # None: by position alone
    positional: int

    def word(self, given: frozenset[int]) -> int:
        """What says in a table which parameters are given: how many, if they are the first ones
        and can all be given by position; otherwise a bit for each, beside `BY_NAME`.

        >>> parameters = Parameters(("x", "n", "k"), 2)
        >>> parameters.word(frozenset((0, 1))), parameters.word(frozenset((0, 2))) - BY_NAME
        (2, 5)
        """
        if len(given) <= self.positional and given == set(range(len(given))):
            return len(given)
        return BY_NAME | sum(1 << number for number in given)


NO_PARAMETERS: Final = Parameters((), 0)


class Mark(NamedTuple):
    """What is looked at: an argument, or a member of an argument of one class."""

    argument: int
    kind: int
    cls: int = 0
    name: int = 0


class Marks(NamedTuple):
    """The marks of a table, and how members are found: see HOLD and KEY of the launcher."""

    numbers: Mapping[Mark, int]
    members: Mapping[Mark, tuple[int, int, int]] = MappingProxyType({})


class Header(NamedTuple):
    """A header in memory, and everything that it refers to."""

    address: int
    memory: Any
    kept: tuple[Any, ...]

    @property
    def is_used(self) -> bool:
        """Whether a call that began with this header is not over yet."""
        return bool(self.memory[INSIDE])


def array_mark(array: np.ndarray[Any, Any]) -> int:
    """The META mark of a plain array."""
    flags = array.flags.num
    flags &= ARRAY_FLAGS["flags_if_c" if flags & C_ORDER else "flags_if_not"]
    by_ndim, by_flags = FACTORS["by_ndim"], FACTORS["by_flags"]
    return id(array.dtype) ^ array.ndim * by_ndim & _WORD ^ flags * by_flags & _WORD


def mark_of(value: object) -> int:
    """The META mark of anything."""
    return array_mark(value) if type(value) is np.ndarray else id(type(value))


def header_of(
    api: int,
    slow: int,
    count: int,
    tables: Sequence[tuple[int, Marks]],
    raised: int = 0,
    parameters: Parameters = NO_PARAMETERS,
) -> Header:
    """The header for tables, each with its address and its marks.

    `raised` is called with what code of the user has raised: see `native`.
    """
    chosen = _chosen([marks.numbers for _, marks in tables])
    groups: dict[int, list[int]] = {}
    for address, marks in tables:
        groups.setdefault(_key([marks.numbers[mark] for mark in chosen]), []).append(address)
    kept: list[Any] = []

    def words(*values: int) -> int:
        made = (ctypes.c_int64 * len(values))(*(_signed(value) for value in values))
        kept.append(made)
        return ctypes.addressof(made)

    if chosen:
        every, size = words(0), 2
        while size < 2 * len(groups):
            size *= 2
        places = words(*_places({key: words(*found, 0) for key, found in groups.items()}, size))
        looks = words(*(word for mark in chosen for word in _look(mark, tables[0][1])))
    else:
        every, size, places, looks = words(*(address for address, _ in tables), 0), 1, 0, 0
    names = parameters.names if len(parameters.names) <= MOST_PARAMETERS else ()
    by_name = words(*(0 if name is None else id(name) for name in names)) if names else 0
    memory = (ctypes.c_int64 * HEADER_WORDS)(
        api, slow, 0, every, looks, len(chosen), places, size - 1, count, raised,
        by_name, len(names), parameters.positional,
    )  # fmt: skip
    return Header(ctypes.addressof(memory), memory, (*kept, parameters))


def _look(mark: Mark, marks: Marks) -> tuple[int, ...]:
    """The words by which a mark is looked for."""
    where, inline, numbers = marks.members.get(mark, (0, 0, 0))
    return mark.argument, mark.kind, mark.cls, where, inline, mark.name, numbers, 0


def _chosen(tables: Sequence[Mapping[Mark, int]]) -> list[Mark]:
    """The marks that tell most tables apart, one after the other; none if none does."""
    common = [
        mark
        for mark in (tables[0] if len(tables) > 1 else ())
        if all(mark in each for each in tables) and len({each[mark] for each in tables}) > 1
    ]
    chosen: list[Mark] = []
    apart = 1
    while apart < len(tables) and len(chosen) < MOST_MARKS:
        counts = {
            mark: len({tuple(each[m] for m in (*chosen, mark)) for each in tables})
            for mark in common
        }
        best = max(counts, key=lambda mark: (counts[mark], -mark.kind), default=None)
        if best is None or counts[best] == apart:
            break
        apart = counts[best]
        chosen.append(best)
    return chosen


def _key(marks: Sequence[int]) -> int:
    key = 0
    for mark in marks:
        key = key * FACTORS["by_order"] + mark & _WORD
    return key


def _places(lists: Mapping[int, int], size: int) -> list[int]:
    """A table of (key, tables) pairs, each where its key leads to or behind."""
    places = [0] * (2 * size)
    for key, address in lists.items():
        at = (key * FACTORS["by_place"] & _WORD) >> 32 & size - 1
        while places[2 * at + 1]:
            at = at + 1 & size - 1
        places[2 * at : 2 * at + 2] = key, address
    return places


def _signed(word: int) -> int:
    return (word & _WORD) - (1 << 64) if word & (1 << 63) else word & _WORD


SELECT: Final = """
define internal i64 @meta(ptr %api, ptr %object) alwaysinline {{
entry:
  %class = call ptr @class_of(ptr %object)
  %ndarray = call ptr @api(ptr %api, i64 {api_ndarray})
  %is_array = icmp eq ptr %class, %ndarray
  br i1 %is_array, label %array, label %any
any:
  %class_place = call ptr @at(ptr %object, i64 {type})
  %class_word = load i64, ptr %class_place
  ret i64 %class_word
array:
  %dtype_place = call ptr @at(ptr %object, i64 {dtype})
  %dtype = load i64, ptr %dtype_place
  %ndim_place = call ptr @at(ptr %object, i64 {ndim})
  %ndim_half = load i32, ptr %ndim_place
  %ndim = zext i32 %ndim_half to i64
  %by_ndim = mul i64 %ndim, {by_ndim}
  %flags_place = call ptr @at(ptr %object, i64 {flags})
  %flags_half = load i32, ptr %flags_place
  %flags = zext i32 %flags_half to i64
  %if_c = and i64 %flags, {flag_c}
  %is_not_c = icmp eq i64 %if_c, 0
  %mask = select i1 %is_not_c, i64 {flags_if_not}, i64 {flags_if_c}
  %masked = and i64 %flags, %mask
  %by_flags = mul i64 %masked, {by_flags}
  %two = xor i64 %dtype, %by_ndim
  %three = xor i64 %two, %by_flags
  ret i64 %three
}}

; The member of an object that a mark is about; null if there is none.
define internal ptr @marked(ptr %api, ptr %object, ptr %look, i64 %kind) noinline {{
entry:
  %held = alloca i64, i64 {held_words}
  %class = call ptr @class_of(ptr %object)
  %wanted = call ptr @api(ptr %look, i64 2)
  %where = call i64 @word(ptr %look, i64 3)
  %is_class = icmp eq ptr %class, %wanted
  br i1 %is_class, label %look_in, label %no
look_in:
  %is_slot = icmp eq i64 %kind, 3
  br i1 %is_slot, label %slot, label %attribute
slot:
  %place = call ptr @at(ptr %object, i64 %where)
  %member = load ptr, ptr %place
  ret ptr %member
attribute:
  %inline = call i64 @word(ptr %look, i64 4)
  %is_held = call i1 @hold(ptr %object, ptr %class, i64 %where, i64 %inline, ptr %held)
  br i1 %is_held, label %find, label %no
find:
  %name = call ptr @api(ptr %look, i64 5)
  %numbers = call i64 @word(ptr %look, i64 6)
  %found = call ptr @member(ptr %api, ptr %held, ptr %name, i64 %numbers)
  ret ptr %found
no:
  ret ptr null
}}

define internal i64 @mark(ptr %api, ptr %place, ptr %look) {{
entry:
  %number = alloca i64
  %object = load ptr, ptr %place
  %identity = load i64, ptr %place
  %kind = call i64 @word(ptr %look, i64 1)
  switch i64 %kind, label %inside [ i64 0, label %meta i64 1, label %int i64 2, label %same ]
same:
  ret i64 %identity
int:
  store i64 0, ptr %number
  %is_int = call i1 @int_of(ptr %api, ptr %object, ptr %number)
  %value = load i64, ptr %number
  ret i64 %value
inside:
  %member = call ptr @marked(ptr %api, ptr %object, ptr %look, i64 %kind)
  %is_nothing = icmp eq ptr %member, null
  br i1 %is_nothing, label %nothing, label %meta
nothing:
  ret i64 0
meta:
  %looked_at = phi ptr [ %object, %entry ], [ %member, %inside ]
  %found = call i64 @meta(ptr %api, ptr %looked_at)
  ret i64 %found
}}

; The tables that a call is to be tried with: a list that ends with null.
define internal ptr @tables_for(ptr %header, ptr %api, ptr %args, i64 %count) {{
entry:
  %every = call ptr @api(ptr %header, i64 3)
  %marks = call i64 @word(ptr %header, i64 5)
  %is_one = icmp eq i64 %marks, 0
  br i1 %is_one, label %all, label %look
all:
  ret ptr %every
look:
  %wanted = call i64 @word(ptr %header, i64 8)
  %fits = icmp eq i64 %wanted, %count
  br i1 %fits, label %begin, label %all
begin:
  %looks = call ptr @api(ptr %header, i64 4)
  br label %round
round:
  %i = phi i64 [ 0, %begin ], [ %i_next, %round ]
  %key = phi i64 [ 0, %begin ], [ %key_next, %round ]
  %first = shl i64 %i, 3
  %look_at = getelementptr inbounds i64, ptr %looks, i64 %first
  %argument = load i64, ptr %look_at
  %place = getelementptr inbounds ptr, ptr %args, i64 %argument
  %mark = call i64 @mark(ptr %api, ptr %place, ptr %look_at)
  %turned = mul i64 %key, {by_order}
  %key_next = add i64 %turned, %mark
  %i_next = add i64 %i, 1
  %is_last = icmp eq i64 %i_next, %marks
  br i1 %is_last, label %find, label %round
find:
  %places = call ptr @api(ptr %header, i64 6)
  %mask = call i64 @word(ptr %header, i64 7)
  %spread = mul i64 %key_next, {by_place}
  %high = lshr i64 %spread, 32
  br label %probe
probe:
  %number = phi i64 [ %high, %find ], [ %after, %other ]
  %at = and i64 %number, %mask
  %double = shl i64 %at, 1
  %here = getelementptr inbounds i64, ptr %places, i64 %double
  %list = call ptr @api(ptr %here, i64 1)
  %is_free = icmp eq ptr %list, null
  br i1 %is_free, label %all, label %compare
compare:
  %found = load i64, ptr %here
  %is_found = icmp eq i64 %found, %key_next
  br i1 %is_found, label %end, label %other
other:
  %after = add i64 %at, 1
  br label %probe
end:
  ret ptr %list
}}
"""
