"""A walk over code that refuses functions which find other code by its name.

A module that is imported by a text, the subclasses of a class, the globals of a frame: such code
can be edited without a change of anything that a walk can follow. So compilers and serializers
that use it are refused; cached functions (`steps.dependencies`) refuse all impure reads.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any, Final, cast

from whorl.errors import UnsupportedFunction
from whorl.fingerprint.boundary import Home
from whorl.fingerprint.bytecode import strings_in
from whorl.fingerprint.dataflow import SCOPE
from whorl.fingerprint.rules.references import References
from whorl.fingerprint.survey import Survey, module_of
from whorl.fingerprint.value_graph import Graph

from .impure_functions import MODULES, SCOPES, ImpureKind
from .impure_reads import ImpureRead, constant_modules, impure_reads

# Finds the functions that a call can lead to, in a graph of its code.
#
# A class counts with all that is in it, but not all of it is called: a prediction of a model does
# not call the method that saves the model. A method can be called if its name is written, as an
# attribute or as a text, in a function that can be called; special methods can be called without
# being named. So this begins with what is reached without going through a class, and goes on until
# no name is new. It decides which functions are checked for impure reads. Keys do not use it.


def callees(
    graph: Graph, entry_points: frozenset[str] = frozenset()
) -> Iterator[types.FunctionType]:
    """The functions in a graph that can be called from its root, as far as names tell.

    `entry_points` are the names of methods that are called from outside.
    """
    waiting = {
        id(function): (function, _method_names(graph, function))
        for function in graph.reached(types.FunctionType)
        if isinstance(function, types.FunctionType)
    }
    names = {*entry_points}
    while True:
        reached = [row for row in waiting.values() if row[1] <= names]
        if not reached:
            return
        for function, _ in reached:
            del waiting[id(function)]
            names |= strings_in(function.__code__)
            yield function


def _method_names(graph: Graph, function: types.FunctionType) -> frozenset[str]:
    """The names of attributes of classes on the path by which a function was found."""
    names = []
    path = graph.path_to(function)
    for i, (node, label) in enumerate(path):
        if i and path[i - 1][0].tag == b"class" and node.keys is not None:
            name = label.strip("[]'")
            if not (name.startswith("__") and name.endswith("__")):
                names.append(name)
    return frozenset(names)


# -- the walk --------------------------------------------------------------------------


FINDS_CODE: Final = frozenset((MODULES.name, SCOPES.name))
"""The kinds of impure reads that find code by its name."""


class CheckedSurvey(Survey):
    """A walk over code that refuses code which is found by its name.

    A module of an installed distribution that is found by a constant name counts by its version.
    `entry_points` are the names of the methods that whorl itself calls.
    """

    entry_points: frozenset[str] = frozenset()

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._installed: set[str] = set()

    def called(self, graph: Graph) -> Iterable[types.FunctionType]:
        """The functions that a call can reach; those that it can call are checked."""
        for _ in self.checked_callees(graph):
            pass
        return super().called(graph)

    def checked_callees(self, graph: Graph) -> Iterator[types.FunctionType]:
        """The functions that a call can lead to, each after its check."""
        for function in callees(graph, self.entry_points):
            if graph.node_of(function).tag == b"function":  # others count by name and version
                self.check(function, graph)
            yield function

    def check(self, function: types.FunctionType, graph: Graph) -> None:
        """Refuse a function that finds code by its name."""
        for read in self.impure_reads(function):
            if read.kind.name not in FINDS_CODE or read.name in self.ignores:
                continue
            homes = [self._home(module) for module in constant_modules(function, read)]
            if not homes or any(home.kind == "user" for home in homes):
                raise self.refusal(read, read.name, function, graph)
            self._installed.update(f"{home.name} {home.version}" for home in homes)

    def _home(self, module: str) -> Home:
        """Whose code a module of this name is, without importing it."""
        loaded = sys.modules.get(module)
        if loaded is not None:
            return self.boundary.home(module, getattr(loaded, "__file__", None))
        top = module.partition(".")[0]
        try:
            spec = find_spec(top)
        except (ImportError, ValueError):
            spec = None
        return self.boundary.home(top, None if spec is None else spec.origin)

    def beside(self, graph: Graph) -> list[str]:
        """The versions of installed modules that are found by constant names."""
        return sorted(self._installed)

    def impure_reads(self, function: types.FunctionType) -> Iterator[ImpureRead]:
        """What a function's own code reads from outside of the program."""
        classes = [cast("type", met) for path, met in self.met.items() if path[:6] == "class:"]
        yield from impure_reads(
            function,
            classes,
            with_defaults=not any(function is root for root in self.roots),
            is_ignored=lambda name: self.is_ignored(name, function),
            is_users=lambda module: self.describer.home(module).kind == "user",
        )
        is_named = SCOPE in strings_in(function.__code__)
        if is_named and References(function, self.describer).is_scope_taken:
            yield ImpureRead(f".{SCOPE}", SCOPES)  # it is not known of which function

    def refusal(
        self,
        read: ImpureRead,
        what: str,
        function: types.FunctionType,
        graph: Graph,
        name: str = "NAME",
    ) -> UnsupportedFunction:
        """The error about an impure read; `name` is the variable that it names."""
        labels = "".join(label for _, label in graph.path_to(function))
        where = f"{module_of(function)}.{function.__qualname__}"
        return UnsupportedFunction(
            self.name,
            self.readable_path(f"value{labels}"),
            "function",
            f"{where} uses {what}, so what it returns depends on {read.kind.name}",
            self.advice(read.kind, read.name).replace("'NAME'", repr(name)),
        )

    def advice(self, kind: ImpureKind, used: str) -> str:
        """What to do about an impure read."""
        instead = f", or let it count in its place: {kind.declaration}" if kind.declaration else ""
        remedy = f"{kind.remedy}{instead}".replace("USED", used)
        return f"{remedy}. If no result depends on it: ignores=[{used!r}]."
