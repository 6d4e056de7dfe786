"""Finds the names of graphs and the arrays that a function's code could use.

Nothing is run: globals and attributes are looked up as they are stored. All attributes that any
function names are looked for on all objects, so this finds more than is used, never less, except
for what properties and `__getattr__` make up.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass, field
from whorl.fingerprint.static_lookup import ABSENT, bound, find, module_attribute
from whorl.signals import pass_on

from . import graph_names as graph

__all__ = ["GraphUse", "graph_use"]

MOST: Final = 5000  # objects that are examined
_GRAPH: Final[frozenset[Any]] = frozenset(
    (graph.do_while, graph.checkpoint, graph.parallel_context, graph.parallel)
)
_NAMES: Final = frozenset(("graph", "checkpoint", "do_while", "parallel_context", "parallel"))
_ELSEWHERE: Final = ("numpy", "math", "cmath", "builtins")
_LEAVES: Final = (int, float, complex, str, bytes, type(None), np.generic, np.dtype)


@dataclass(slots=True)
class GraphUse:
    """What code could use: names of graphs, and arrays."""

    graph: set[Any] = field(default_factory=set)
    arrays: list[Any] = field(default_factory=list)

    @property
    def has_checkpoints(self) -> bool:
        """Whether a checkpoint is among it."""
        return graph.checkpoint in self.graph


def graph_use(function: types.FunctionType, arguments: Iterable[object]) -> GraphUse:
    """What a function could use if it is called with these arguments."""
    walk = _GraphWalk()
    walk.function(function)
    for argument in arguments:
        walk.object(argument)
    walk.finish()
    return walk.use


class _GraphWalk:
    def __init__(self) -> None:
        self.use = GraphUse()
        self._codes: set[types.CodeType] = set()
        self._names: dict[str, None] = {}
        self._holders: dict[int, Any] = {}

    def finish(self) -> None:
        """Until there is nothing new: every name on every object."""
        size = (-1, -1)
        while size != (len(self._names), len(self._holders)) and len(self._holders) < MOST:
            size = (len(self._names), len(self._holders))
            for holder in list(self._holders.values()):
                for name in list(self._names):
                    self.object(_stored(holder, name))

    def function(self, function: types.FunctionType) -> None:
        code = function.__code__
        if code in self._codes:
            return
        self._codes.add(code)
        for inner in _codes_in(code):
            for name in inner.co_names:
                self._names.setdefault(name)
                self.object(_global(function.__globals__, name))
        for cell in function.__closure__ or ():
            try:
                self.object(cell.cell_contents)
            except ValueError:  # not set yet
                continue
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.object(default)

    def object(self, value: Any) -> None:
        """Take note of an object, and of the functions behind it."""
        if value is ABSENT or isinstance(value, _LEAVES):
            return
        if isinstance(value, np.ndarray):
            self.use.arrays.append(value)
            return
        if isinstance(value, types.FunctionType):
            if value in _GRAPH:
                self.use.graph.add(value)
            elif str(value.__module__).split(".")[0] not in (*_ELSEWHERE, "whorl"):
                self.function(value)
            return
        if id(value) in self._holders or len(self._holders) >= MOST:
            return
        if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in _ELSEWHERE:
            return
        self._holders[id(value)] = value
        for inner in _behind(value):
            self.object(inner)


def _behind(value: Any) -> Iterator[Any]:
    """What is called or held by a thing that is no plain object."""
    if isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, staticmethod | classmethod):
        yield value.__func__
    elif isinstance(value, property):
        yield value.fget
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, tuple | list):
        yield from value[:MOST]
    elif isinstance(value, dict):
        yield from islice(value.values(), MOST)
    elif isinstance(getattr(type(value), "__whorl_function__", None), property):
        yield value.__whorl_function__


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_in(constant)


def _global(scope: dict[str, Any], name: str) -> Any:
    """What a function has under a name; ABSENT also where an import fails: the call will raise."""
    try:
        return bound(scope, name) if name in scope else ABSENT
    except Exception as error:
        pass_on(error)
        return ABSENT


def _stored(holder: Any, name: str) -> Any:
    """What is stored under a name, on an object or its class, without running anything."""
    if isinstance(holder, types.ModuleType):
        if name in _NAMES:  # whorl's own packages load these when they are first used
            return module_attribute(holder, name)
        return vars(holder).get(name, ABSENT)
    if isinstance(holder, type):
        return find(holder, name)
    try:
        own = object.__getattribute__(holder, "__dict__")
    except Exception as error:
        pass_on(error)
        own = {}
    if type(own) is dict and name in own:
        return own[name]
    stored = find(type(holder), name)
    if isinstance(stored, types.MemberDescriptorType):
        try:
            return stored.__get__(holder)
        except AttributeError:
            return ABSENT
    return stored
