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
from . import (
    builtin,
    callables,
    classes,
    compiled_functions,
    generics,
    reduction,
    refused,
    standard,
)
from .rule import Kind, Rule

__all__ = ["COVERS_ATTRIBUTES", "KINDS", "OWNED_NAMES", "RULES", "WHOLE", "join_libraries"]

KINDS: Final[list[Kind]] = [
    *classes.KINDS,
    *compiled_functions.KINDS,
    *refused.KINDS,
    *reduction.KINDS,
]
"""In the order in which they are tried; those of libraries come before the last resort."""

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

_TABLES: Final = {"numpy": "arrays", "numpy.ma": "masked_arrays"}
"""Libraries whose classes can be listed, and the modules with their rules."""

_FAMILIES: Final = {
    "pandas": "dataframes",
    "polars": "polars_tables",
    "pyarrow": "arrow_tables",
    "scipy.sparse": "sparse_matrices",
    "torch": "tensors",
    "xarray": "labelled_arrays",
}
"""Libraries whose rules are for families of classes."""

_joined: Final[set[str]] = set()
_awaited: tuple[str, ...] = (*_TABLES, *_FAMILIES)


def join_libraries() -> None:
    """Let the rules of libraries that have been imported join the tables."""
    global _awaited  # noqa: PLW0603  # a new one, since another thread may be reading it
    if sys.modules.keys().isdisjoint(_awaited):  # every walk asks: it has to be quick
        return
    for library, name in _TABLES.items():
        if _joins_now(library):
            rules = load(f"{__name__}.{name}")
            RULES.update(rules.RULES)
            OWNED_NAMES.update(rules.OWNED_NAMES)
            builtin.TYPE_PARTS.update(rules.TYPE_PARTS)
            builtin.NAMED_CLASSES.update(rules.NAMED_CLASSES)
            _joined.add(library)
    for library, name in _FAMILIES.items():
        if _joins_now(library):
            KINDS[-len(reduction.KINDS) : -len(reduction.KINDS)] = load(f"{__name__}.{name}").KINDS
            _joined.add(library)
    _awaited = tuple(library for library in (*_TABLES, *_FAMILIES) if library not in _joined)


def _joins_now(library: str) -> bool:
    return library in sys.modules and library not in _joined
