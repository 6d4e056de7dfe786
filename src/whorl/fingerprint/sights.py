"""A walk over code in, what the functions in it look at of other code out.

Most code uses other code without looking at it: a docstring, the order of methods or the class
behind an annotation makes no difference to who calls a function. Some looks. Whether a function
does is told by the names that are written in it: `__doc__`, `vars`, `get_type_hints`. A name
that people use for other things as well (`fields`) has to come from its module.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Final

from .asked import Sight
from .bytecode import nested_codes
from .graph import Graph
from .lookup import ABSENT, module_vars
from .source import once_per_code

__all__ = ["sights_of", "written_in"]

_BY_NAME: Final = {
    "vars": Sight.ORDER,
    "__dict__": Sight.ORDER,
    "__doc__": Sight.DOCS,
    "getdoc": Sight.DOCS,
    "__annotations__": Sight.TYPES,
    "__attrs_attrs__": Sight.TYPES,
    "__dataclass_fields__": Sight.TYPES,
    "__signature__": Sight.TYPES,
    "get_annotations": Sight.TYPES,
    "get_type_hints": Sight.TYPES,
    "getfullargspec": Sight.TYPES,
    "model_fields": Sight.TYPES,
    "TypeAdapter": Sight.TYPES,
}
_FROM_MODULES: Final = {
    "fields": ("dataclasses", "attr", "attrs"),
    "fields_dict": ("attr", "attrs"),
    "signature": ("inspect",),
    "structure": ("cattrs",),
}
"""Names that show types if they are these modules' own."""


def _written_in(code: types.CodeType) -> frozenset[str]:
    names: set[str] = set()
    for inner in nested_codes(code):
        names.update(inner.co_names)
        names.update(held for held in inner.co_consts if type(held) is str)
    return frozenset(names)


written_in: Final[Callable[[types.CodeType], frozenset[str]]] = once_per_code(_written_in)
"""The names and texts that are written in a code object and the code nested in it."""


def sights_of(graph: Graph) -> frozenset[Sight]:
    """What the user's functions in a walk over code look at, as far as their names tell."""
    found: set[Sight] = set()
    for function in graph.reached(types.FunctionType):
        assert isinstance(function, types.FunctionType)
        if graph.node_of(function).tag == b"function":
            names = written_in(function.__code__)
            found.update(_BY_NAME[name] for name in names & _BY_NAME.keys())
            if any(_is_from(name, names, function) for name in names & _FROM_MODULES.keys()):
                found.add(Sight.TYPES)
    return frozenset(found)


def _is_from(name: str, names: frozenset[str], function: types.FunctionType) -> bool:
    """Whether a name is that of one of its modules: held under it, or taken from the module."""
    held = function.__globals__.get(name, ABSENT)
    for module in _FROM_MODULES[name]:
        loaded = sys.modules.get(module)
        if module in names or (loaded is not None and module_vars(loaded).get(name) is held):
            return True
        if loaded is not None and any(function.__globals__.get(each) is loaded for each in names):
            return True  # under another name
    return False
