"""Class -> rule: one table, a file for each family of classes.

A rule takes a value and the describer that asks, and returns a node. A rule in the table
holds for exactly its class; for subclasses it gives the content to which their own state
is added. `KINDS` are rules for families that only a look at the class can tell.

The rules of a library join the table once the library has been imported; until then no
value can be of its classes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..lookup import ClassTable
from ..tokens import Node
from . import builtin, callables, classes, generics, reduction, refused, standard

if TYPE_CHECKING:
    from ..describe import Describer

__all__ = [
    "COVERS_ATTRIBUTES",
    "KINDS",
    "OWNED_NAMES",
    "WHOLE",
    "TableRule",
    "known_rules",
]

TableRule = Callable[[Any, "Describer"], Node]

KINDS: Final[tuple[tuple[Callable[[type], bool], TableRule], ...]] = (
    *classes.KINDS,
    *refused.KINDS,
    *reduction.KINDS,
)

_LIBRARIES: Final = {"numpy": "arrays"}
_loaded: set[str] = set()
_table: Final[ClassTable[TableRule]] = ClassTable(
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


def known_rules() -> ClassTable[TableRule]:
    """The rules of every class that can occur by now."""
    for library, name in _LIBRARIES.items():
        if library in sys.modules and library not in _loaded:
            rules = importlib.import_module(f"{__name__}.{name}")
            OWNED_NAMES.update(rules.OWNED_NAMES)
            _table.update(rules.RULES)
            _loaded.add(library)
    return _table
