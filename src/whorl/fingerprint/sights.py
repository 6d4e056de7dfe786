"""A walk over code in, what the functions in it look at of other code out.

Most code uses other code without looking at it: a docstring, the order of methods or the class
behind an annotation makes no difference to who calls a function, nor does where it was defined.
Some looks. Whether a function does is told by the names that are written in it: `__doc__`, `vars`,
`get_type_hints`, `__module__`. A name that people use for other things as well (`fields`) has to
come from its module.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable
from typing import Final

from .asked import Sight
from .bytecode import nested_codes, reads_of
from .graph import Graph
from .lookup import ABSENT, module_vars, reified
from .source import once_per_code

__all__ = ["sights_of", "written_in"]

_BY_NAME: Final = {
    "vars": Sight.ORDER,
    "__dict__": Sight.ORDER,
    "__code__": Sight.DOCS,  # a docstring is one of its constants
    "__doc__": Sight.DOCS,
    "getdoc": Sight.DOCS,
    "__annotate__": Sight.TYPES,
    "__annotations__": Sight.TYPES,
    "__attrs_attrs__": Sight.TYPES,
    "__dataclass_fields__": Sight.TYPES,
    "__module__": Sight.NAMES,
    "__qualname__": Sight.NAMES,
    "__signature__": Sight.TYPES,
    "call_annotate_function": Sight.TYPES,
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
_SET_BY_CLASSES: Final = frozenset(("__module__", "__qualname__"))
"""Names that the body of every class sets: who only sets them does not look."""


def _written_in(code: types.CodeType) -> frozenset[str]:
    names = _texts_in(code)
    for inner in nested_codes(code):
        names.update(inner.co_names)
    return frozenset(names)


def _texts_in(code: types.CodeType) -> set[str]:
    inside = nested_codes(code)
    return {held for inner in inside for held in inner.co_consts if type(held) is str}


written_in: Final[Callable[[types.CodeType], frozenset[str]]] = once_per_code(_written_in)
"""The names and texts that are written in a code object and the code nested in it."""


def _names_that_look(code: types.CodeType) -> tuple[str, ...]:
    names = written_in(code).union(code.co_freevars)
    if names & _SET_BY_CLASSES:
        names -= _SET_BY_CLASSES.difference(reads_of(code).attributes, _texts_in(code))
    return tuple(sorted(names & (_BY_NAME.keys() | _FROM_MODULES.keys())))


names_that_look: Final[Callable[[types.CodeType], tuple[str, ...]]] = once_per_code(
    _names_that_look
)
"""The names in a code object that may look at other code. Hot: asked of every function met."""


def sights_of(graph: Graph) -> frozenset[Sight]:
    """What the user's functions in a walk over code look at, as far as their names tell."""
    found: set[Sight] = set()
    for function in graph.reached(types.FunctionType):
        assert isinstance(function, types.FunctionType)
        for name in names_that_look(function.__code__):
            if graph.node_of(function).tag != b"function":
                break  # not the user's: it counts by name and version
            if name in _BY_NAME:
                found.add(_BY_NAME[name])
            elif _is_from(name, function):
                found.add(Sight.TYPES)
    return frozenset(found)


def _is_from(name: str, function: types.FunctionType) -> bool:
    """Whether a name is that of one of its modules: held under it, or taken from the module."""
    names = written_in(function.__code__)
    scope = function.__globals__ | _captured(function)
    held = reified(scope.get(name, ABSENT))
    for module in _FROM_MODULES[name]:
        loaded = sys.modules.get(module)
        if module in names or (loaded is not None and module_vars(loaded).get(name) is held):
            return True
        if loaded is not None and any(
            reified(scope[each]) is loaded for each in scope.keys() & names
        ):
            return True  # under another name
    return False


def _captured(function: types.FunctionType) -> dict[str, object]:
    held: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not set yet
            held[name] = cell.cell_contents
    return held
