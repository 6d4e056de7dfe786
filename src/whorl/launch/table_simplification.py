"""Simplifies a table: the same checks, with less to load.

A global that has to be the very object it was needs no register: it is enough to see that its name
still leads there. What else is checked of such an object is checked where it lies, and all such
words one after the other in one operation.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from .layout_search import object_layout
from .table_operations import KINDS, OP_WORDS

__all__ = ["ALL_BITS", "Fixed", "Row", "simplify"]

ALL_BITS: Final = (1 << 64) - 1
HALF: Final = (1 << 32) - 1

Fixed: TypeAlias = dict[tuple[int, int], int]
"""Words that have to be as they were: the address and the mask of each, and what is there."""

Row: TypeAlias = list[int]

_SAME, _CLASS, _TYPE, _CODE = (KINDS[name] for name in ("SAME", "CLASS", "TYPE", "CODE"))


def simplify(first: list[Row], then: list[Row], fixed: Fixed, loaded: AbstractSet[int]) -> None:
    """Let globals that have to be the same object not be loaded; what they need else is fixed.

    `loaded` are registers that others than these operations look into.
    """
    uses = Counter(row[1] for row in (*first, *then))
    uses.update(row[4] for row in (*first, *then) if row[0] == KINDS["EQUAL"])
    by_register: dict[int, list[Row]] = {}
    for row in then:
        by_register.setdefault(row[1], []).append(row)
    done: set[int] = set()
    for number, row in enumerate(first):
        kind, _, register, scope, key, place, *_ = row
        checks = by_register.get(register, [])
        objects = {check[3] for check in checks if check[0] == _SAME}
        if kind != KINDS["GLOBAL"] or register in loaded or len(objects) != 1:
            continue
        (address,) = objects
        words: Fixed = {}
        if len(checks) != uses[register] or not all(_fix(row, address, words) for row in checks):
            continue
        if any(fixed.get(at, word) != word for at, word in words.items()):
            continue  # what contradicts itself is left to fail as it did
        fixed.update(words)
        stays = [KINDS["STAYS"], 0, 0, scope, key, address, place]
        first[number] = stays + [0] * (OP_WORDS - len(stays))
        done.update(id(check) for check in checks)
    then[:] = [row for row in then if id(row) not in done]


def _fix(check: Row, address: int, words: Fixed) -> bool:
    """Replace a check of an object by checks of words at fixed addresses; whether that can be."""
    at = object_layout()
    kind, _, _, a, b, *_ = check
    if kind == _SAME:
        return True
    if kind in (_TYPE, _CLASS):
        words[address + at.type, ALL_BITS] = a
        if kind == _CLASS:
            words[a + at.type_version, HALF] = b
        return True
    if kind == _CODE and b == id(types.FunctionType):  # which no function ceases to be
        words[address + at.function_code, ALL_BITS] = a
        return True
    return False
