"""Finds which docstrings, annotations, names and orders the functions of a walk inspect.

Most code uses other code without inspecting it: a docstring, the order of methods or the class
behind an annotation makes no difference to the caller of a function. Some code does inspect these.
The names in a function tell: `__doc__`, `vars`, `get_type_hints`. A name that is used for other
things as well (`fields`) counts only if it comes from its module.
"""

from __future__ import annotations

import sys
import types
from typing import Final

from .bytecode import nested_codes, once_per_code, reads_of, strings_in
from .modes import Introspection
from .static_lookup import ABSENT, captured, module_vars, reified
from .value_graph import Graph

__all__ = ["introspection_in"]

_BY_NAME: Final = {
    "vars": Introspection.ORDER,
    "__dict__": Introspection.ORDER,
    "__code__": Introspection.DOCS,  # a docstring is one of its constants
    "__doc__": Introspection.DOCS,
    "getdoc": Introspection.DOCS,
    "__annotate__": Introspection.TYPES,
    "__annotations__": Introspection.TYPES,
    "__attrs_attrs__": Introspection.TYPES,
    "__dataclass_fields__": Introspection.TYPES,
    "__module__": Introspection.NAMES,
    "__qualname__": Introspection.NAMES,
    "__signature__": Introspection.TYPES,
    "call_annotate_function": Introspection.TYPES,
    "get_annotations": Introspection.TYPES,
    "get_type_hints": Introspection.TYPES,
    "getfullargspec": Introspection.TYPES,
    "model_fields": Introspection.TYPES,
    "TypeAdapter": Introspection.TYPES,
}
_FROM_MODULES: Final = {
    "fields": ("dataclasses", "attr", "attrs"),
    "fields_dict": ("attr", "attrs"),
    "signature": ("inspect",),
    "structure": ("cattrs",),
}
"""Names that show types if they are these modules' own."""
_SET_BY_CLASSES: Final = frozenset(("__module__", "__qualname__"))
"""Names that the body of every class sets: code that only sets them does not inspect them."""


@once_per_code
def _inspecting_names(code: types.CodeType) -> tuple[str, ...]:
    """The names in a code object that may inspect other code. Hot: called for every function."""
    names = strings_in(code).union(code.co_freevars)
    if names & _SET_BY_CLASSES:
        constants = (each for inner in nested_codes(code) for each in inner.co_consts)
        texts = {each for each in constants if type(each) is str}
        names -= _SET_BY_CLASSES.difference(reads_of(code).attributes, texts)
    return tuple(sorted(names & (_BY_NAME.keys() | _FROM_MODULES.keys())))


def introspection_in(graph: Graph) -> frozenset[Introspection]:
    """What the user's functions in a walk over code inspect, as far as their names tell."""
    inspected: set[Introspection] = set()
    for function in graph.reached(types.FunctionType):
        assert isinstance(function, types.FunctionType)
        for name in _inspecting_names(function.__code__):
            if graph.node_of(function).tag != b"function":
                break  # not the user's: it counts by name and version
            if name in _BY_NAME:
                inspected.add(_BY_NAME[name])
            elif _is_from(name, function):
                inspected.add(Introspection.TYPES)
    return frozenset(inspected)


def _is_from(name: str, function: types.FunctionType) -> bool:
    """Whether a name means that of one of its modules: bound to it, or taken from the module."""
    names = strings_in(function.__code__)
    scope = function.__globals__ | captured(function)
    bound = reified(scope.get(name, ABSENT))
    for module in _FROM_MODULES[name]:
        loaded = sys.modules.get(module)
        if module in names or (loaded is not None and module_vars(loaded).get(name) is bound):
            return True
        if loaded is not None and any(
            reified(scope[each]) is loaded for each in scope.keys() & names
        ):
            return True  # under another name
    return False
