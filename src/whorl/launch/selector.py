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
from whorl.reads.facts import ALIGNED, C_ORDER, F_ORDER, WRITEABLE

META, INT, IDENTITY, SLOT, ATTRIBUTE = 0, 1, 2, 3, 4
HEADER_WORDS: Final = 13
INSIDE: Final = 2  # the word that counts the calls which are using a header
MOST_MARKS: Final = 4

BY_NDIM: Final = 0x2545F4914F6CDD1D  # what the parts of a mark, and marks, are mixed by
BY_FLAGS: Final = 0x369DEA0F31A53F85
BY_ORDER: Final = 0x5851F42D4C957F2D
BY_PLACE: Final = 0x1E3779B97F4A7C15
FLAGS_OF_C_ORDER: Final = C_ORDER | ALIGNED | WRITEABLE
FLAGS_OF_OTHERS: Final = F_ORDER | ALIGNED | WRITEABLE
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
    flags &= FLAGS_OF_C_ORDER if flags & C_ORDER else FLAGS_OF_OTHERS
    return id(array.dtype) ^ array.ndim * BY_NDIM & _WORD ^ flags * BY_FLAGS & _WORD


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
        key = key * BY_ORDER + mark & _WORD
    return key


def _places(lists: Mapping[int, int], size: int) -> list[int]:
    """A table of (key, tables) pairs, each where its key leads to or behind."""
    places = [0] * (2 * size)
    for key, address in lists.items():
        at = (key * BY_PLACE & _WORD) >> 32 & size - 1
        while places[2 * at + 1]:
            at = at + 1 & size - 1
        places[2 * at : 2 * at + 2] = key, address
    return places


def _signed(word: int) -> int:
    return (word & _WORD) - (1 << 64) if word & (1 << 63) else word & _WORD
