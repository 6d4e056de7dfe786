"""The tables of rules: class -> rule, from one module for each family of classes.

A rule takes a value and its context, and returns a node. A rule in the table holds for exactly its
class; for subclasses it gives the content to which their own state is added. `KINDS` are rules for
families of classes that cannot be listed.

The rules of a library join the table once the library has been imported; before that, no value can
be of its classes.
"""

from __future__ import annotations

import sys
from typing import Final

from whorl.lazy import load

from ..static_lookup import ClassTable
from . import builtin, callables, classes, dataframes, generics, reduction, refused, standard
from .rule import Kind, Rule

__all__ = ["COVERS_ATTRIBUTES", "KINDS", "OWNED_NAMES", "RULES", "WHOLE", "join_libraries"]

KINDS: Final[tuple[Kind, ...]] = (
    *classes.KINDS,
    *refused.KINDS,
    *dataframes.KINDS,
    *reduction.KINDS,
)

RULES: Final[ClassTable[Rule]] = ClassTable(
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
"""Classes whose rule covers everything in values of exactly this class."""

COVERS_ATTRIBUTES: Final[ClassTable[bool]] = ClassTable(dict.fromkeys(callables.RULES, True))
"""Classes whose content includes the attributes of an instance, for subclasses too."""

OWNED_NAMES: Final = standard.OWNED_NAMES
"""Names in the instance dictionary that belong to the content of a class with a rule."""

_LIBRARIES: Final = {"numpy": f"{__name__}.arrays", "numpy.ma": f"{__name__}.masked_arrays"}
_joined: Final[set[str]] = set()


def join_libraries() -> None:
    """Let the rules of libraries that have been imported join the tables."""
    for library, name in _LIBRARIES.items():
        if library in _joined or library not in sys.modules:
            continue
        rules = load(name)
        RULES.update(rules.RULES)
        OWNED_NAMES.update(rules.OWNED_NAMES)
        builtin.TYPE_PARTS.update(rules.TYPE_PARTS)
        builtin.NAMED_CLASSES.update(rules.NAMED_CLASSES)
        _joined.add(library)
