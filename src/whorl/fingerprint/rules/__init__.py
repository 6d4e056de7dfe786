"""Class -> rule: one table, a file for each family of classes.

A rule takes a value and the describer that asks, and returns a node. A rule in the table
holds for exactly its class; for subclasses it gives the content to which their own state
is added. `KINDS` are rules for families that only a look at the class can tell.

The rules of a library join the table once the library has been imported; until then no
value can be of its classes.
"""

from __future__ import annotations

import sys
from typing import Final

from whorl.lazy import load

from ..class_table import ClassTable
from . import builtin, callables, classes, generics, reduction, refused, standard, tables
from .rule import Kind, Rule

__all__ = [
    "COVERS_ATTRIBUTES",
    "KINDS",
    "OWNED_NAMES",
    "WHOLE",
    "Rule",
    "join_libraries",
    "known_rules",
]

KINDS: Final[tuple[Kind, ...]] = (
    *classes.KINDS,
    *refused.KINDS,
    *tables.KINDS,
    *reduction.KINDS,
)

_LIBRARIES: Final = {"numpy": "arrays", "numpy.ma": "masked"}
_joined: set[str] = set()
_table: Final[ClassTable[Rule]] = ClassTable(
    {
        **builtin.RULES,
        **standard.RULES,
        **callables.RULES,
        **generics.RULES,
        **refused.RULES,
    }
)

WHOLE: Final[ClassTable[bool]] = ClassTable(
    dict.fromkeys((*callables.RULES, *generics.RULES, *standard.WHOLE), True)
)
"""Classes whose rule says all about values of exactly this class."""

COVERS_ATTRIBUTES: Final[ClassTable[bool]] = ClassTable(dict.fromkeys(callables.RULES, True))
"""Classes whose content includes the attributes of an instance, for subclasses too."""

OWNED_NAMES: Final = standard.OWNED_NAMES
"""Names in the instance dictionary that belong to the content of a class with a rule."""


def known_rules() -> ClassTable[Rule]:
    """The rules of every class that can occur by now."""
    return _table


def join_libraries() -> None:
    """Let the rules of libraries that have been imported join the tables."""
    for library, name in _LIBRARIES.items():
        if library in _joined or library not in sys.modules:
            continue
        rules = load(f"{__name__}.{name}")
        _table.update(rules.RULES)
        OWNED_NAMES.update(rules.OWNED_NAMES)
        builtin.TYPE_PARTS.update(rules.TYPE_PARTS)
        builtin.NAMED_CLASSES.update(rules.NAMED_CLASSES)
        _joined.add(library)
