"""A function and the classes of its arguments in, the digest of their code and all it reads out.

The digest is that of `whorl.fingerprint`: normalized syntax trees, defaults, captured values,
globals and attributes of modules, followed through every call as far as the user's own code
goes; installed distributions by version. Beside it stands a check that says, in a microsecond or
so, whether anything of that has changed since (`watch`), and a list of what was met, for whoever
asks why (`parts`).

An instance among the arguments brings its class along: the function may call its methods.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from whorl.artifacts import Part
from whorl.errors import UnsupportedFunction
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY, Boundary
from whorl.fingerprint.bytecode import reads_of, strings_in
from whorl.fingerprint.dataflow import SCOPE
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.fingerprinter import fingerprint
from whorl.fingerprint.lookup import (
    ABSENT,
    class_vars,
    derives,
    find,
    module_name,
    module_vars,
)
from whorl.fingerprint.modes import Introspection
from whorl.fingerprint.rules.references import References
from whorl.fingerprint.survey import LOCKS, Survey, module_of, readable, survey_code
from whorl.fingerprint.tokens import Node, marshalled, unlabelled
from whorl.fingerprint.value_graph import Graph
from whorl.fingerprint.watch import Check, Place
from whorl.late import dataclass

from .ambient import ambient_of
from .declared import Declared
from .outside import (
    ENVIRONMENT,
    FILES,
    HASHES,
    HAVE_PATHS,
    SCOPES,
    Outside,
    named_outside,
    outside_reads,
)
from .reach import called
from .spelling import spelled

__all__ = [
    "EVERYTHING",
    "LOCKS",
    "Surroundings",
    "Told",
    "Unsteady",
    "World",
    "surroundings_of",
    "world_of",
]

EVERYTHING: Final = "code and all that it reads"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was said about the world of a function.

    `ignores` are names that do not count (`LOCK`, `solver.LOCK`, `os.environ`); `objects` are
    things that do not; `kinds` are the parts of the outside of which something was declared, and
    `declared` is what.
    """

    ignores: frozenset[str] = frozenset()
    objects: tuple[object, ...] = ()
    kinds: frozenset[str] = frozenset()
    boundary: Boundary = DEFAULT_BOUNDARY
    declared: Declared = Declared()


def surroundings_of(
    ignores: Iterable[object], boundary: Boundary, declared: Declared, *, has_paths: bool = False
) -> Surroundings:
    """What was said, sorted: names, things, and the parts of the outside that were declared.

    `has_paths`: files are also named by arguments.
    """
    said = tuple(ignores)
    has_files = has_paths or bool(declared.files)
    kinds = {FILES.name: has_files, ENVIRONMENT.name: bool(declared.environment)}
    return Surroundings(
        frozenset(each for each in said if isinstance(each, str)),
        tuple(each for each in said if not isinstance(each, str)),
        frozenset(name for name, is_declared in kinds.items() if is_declared),
        boundary,
        declared,
    )


class Unsteady(UnsupportedFunction):
    """What a function reads is another each time it is looked at: another thread changes it."""

    def __init__(self, name: str) -> None:
        reason = "what it reads changes all the time"
        remedy = "Let what changes be an argument. Until then its results are not kept."
        super().__init__(name, name, "function", reason, remedy)


@dataclass(frozen=True, slots=True)
class Told:
    """What a cached function or step says about itself to whoever calls it."""

    function: object
    declared: Declared
    ignores: frozenset[str]
    kinds: frozenset[str]  # of the outside, all of which is in `declared`


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """The code behind a call and all it reads, as it was when `digest` was taken.

    `holds()` says whether it still is so. `met` are functions, classes and values by path;
    `names` says by which name those that are globals or captured variables can be ignored.
    `places` are the dictionaries in which it was found.
    """

    digest: StableDigest
    holds: Check
    met: tuple[tuple[str, object], ...]
    names: Mapping[str, str]
    places: tuple[Place, ...]

    def parts(self) -> tuple[Part, ...]:
        """What was met, in words. To be asked for while it holds."""
        rows = (spelled(path, value, in_order=True) for path, value in self.met)
        named = (Part(*row) for spelt in rows for row in spelt)
        return (Part(EVERYTHING, self.digest), *named)


def world_of(
    root: object,
    beside: Sequence[object],
    named: Sequence[type],
    said: Surroundings,
    name: str,
) -> World:
    """The world of a function or step, and of what counts beside it.

    `named` are classes that are known by their names to the fingerprints of arguments: that the
    names lead to them is part of the world. What cannot be known exactly raises
    `UnsupportedFunction`; `Unsteady` where it does not rest for as long as a look takes.
    """
    found = survey_code(lambda sees: _Survey(said, name, sees), (root, *beside), named)
    if found is None:
        raise Unsteady(name)
    digest, holds, survey = found
    places = survey.watch.places()
    return World(digest, holds, tuple(survey.met.items()), survey.names, places)


class _Survey(Survey):
    """A walk over the code of a function, which takes nothing from outside but what is declared."""

    def __init__(
        self, said: Surroundings, name: str, sees: frozenset[Introspection] = frozenset()
    ) -> None:
        super().__init__(
            name,
            ignores=said.ignores,
            objects=said.objects,
            boundary=said.boundary,
            introspection=sees,
        )
        self._said = said
        self._told: list[tuple[object, Told]] = []

    def called(self, graph: Graph) -> Iterator[types.FunctionType]:
        """The functions that a call can come to; each takes only from outside what it may."""
        for function in called(graph):
            self._check_outside(function, graph)
            yield function

    def beside(self, graph: Graph) -> list[str]:
        """Settings of the process that its results depend on, in words of digests."""
        functions = [
            cast("types.FunctionType", function)
            for function in graph.reached(types.FunctionType)
            if graph.node_of(function).tag == b"function"
        ]
        counted: list[str] = []
        for ambient in ambient_of(_packages(graph), functions):
            if ambient.name not in self.ignores:
                now = ambient.now()
                self.watch.stays(ambient.now, now)
                self.met[f"setting:{ambient.name}"] = now
                self.names[f"setting:{ambient.name}"] = ambient.name
                counted += (ambient.name, str(fingerprint(now)))
        return counted

    def completed(self, value: object, node: Node) -> Node:
        """The node of a value, with what it has declared if it is a cached function."""
        if find(type(value), "__whorl_told__") is ABSENT:
            return node
        return self._telling(value, node)

    def _telling(self, value: Any, node: Node) -> Node:
        """A cached function that is called: the files and variables that it has declared count."""
        told: Told = value.__whorl_told__()
        self._told.append((value, told))
        self.ignores_of[id(told.function)] = told.ignores
        if not told.declared:
            return node
        now = told.declared.now()
        self.watch.stays(told.declared.now, now)
        for name, held in now:
            self.met[f"declared:{name}"] = held
        return Node(b"telling", (node, Node(b"declared", (marshalled(now),))), unlabelled)

    # -- functions ------------------------------------------------------------------------

    def _check_outside(self, function: types.FunctionType, graph: Graph) -> None:
        """Refuse what takes something from outside of the program that nobody has declared."""
        if graph.node_of(function).tag != b"function":
            return  # not the user's: it counts by name and version
        classes = [cast("type", met) for path, met in self.met.items() if path[:6] == "class:"]
        is_root = any(function is root for root in self.roots)
        named = list(named_outside(function))
        found_in = outside_reads(
            function,
            classes,
            with_defaults=not is_root,
            is_ignored=lambda name: self.is_ignored(name, function),
            is_users=lambda module: self.describer.home(module).kind == "user",
        )
        for found in (*found_in, *self._unknown_scope(function)):
            if found.kind.name in self._said.kinds or found.name in self.ignores:
                continue
            if self._is_told(found, function, graph):
                continue
            if found.kind is HASHES and function.__code__.co_name == "__hash__":
                continue  # which says where in a set, and nothing about what is in it
            if found.method and self._is_method(found.method) and not self._has_paths(graph):
                continue  # whose code is looked into by itself
            name = next((text for used, text in named if used == found), "NAME")
            raise self._outside(found, found.name, function, graph, name)
        for found, name in named:
            if found.name in self.ignores or self._said.declared.has(name):
                continue
            if not self._is_told(found, function, graph):
                raise self._outside(found, f"{found.name} for {name!r}", function, graph, name)

    def _unknown_scope(self, function: types.FunctionType) -> tuple[Outside, ...]:
        """The `__globals__` that it takes from a function that cannot be told."""
        if SCOPE not in strings_in(function.__code__):
            return ()
        is_taken = References(function, self.describer).is_scope_taken
        return (Outside(f".{SCOPE}", SCOPES),) if is_taken else ()

    def _outside(
        self,
        found: Outside,
        what: str,
        function: types.FunctionType,
        graph: Graph,
        name: str = "NAME",
    ) -> UnsupportedFunction:
        labels = "".join(label for _, label in graph.path_to(function))
        where = f"{module_of(function)}.{function.__qualname__}"
        remedy = found.kind.remedy.replace("'NAME'", repr(name)).replace("USED", found.name)
        return UnsupportedFunction(
            self.name,
            readable(f"value{labels}"),
            "function",
            f"{where} uses {what}, so what it returns depends on {found.kind.name}",
            f"{remedy}. If no result depends on it: ignores=[{found.name!r}].",
        )

    def _is_told(self, found: Outside, function: types.FunctionType, graph: Graph) -> bool:
        """Whether the way to a function leads through one that has declared what is found."""
        way = [node for node, _ in graph.path_to(function)]
        return any(
            found.kind.name in told.kinds or found.name in told.ignores
            for value, told in self._told
            if any(node is graph.node_of(value) for node in way)
        )

    def _is_method(self, name: str) -> bool:
        """Whether a class of the user's that was met has a method of its own of this name."""
        return any(
            name in class_vars(cast("type", met))
            for path, met in self.met.items()
            if path.startswith("class:")
        )

    def _has_paths(self, graph: Graph) -> bool:
        """Whether anything was met that is a path, or that could make one."""
        return not HAVE_PATHS.isdisjoint(_packages(graph))


def _packages(graph: Graph) -> Iterator[str]:
    """The packages that a walk over code has met: those of values, and those it imports."""
    yield from map(_package_of, graph.derived(object))
    for function in graph.reached(types.FunctionType):
        for imported in reads_of(cast("types.FunctionType", function).__code__).imports:
            yield imported.module.partition(".")[0]


def _package_of(value: object) -> str:
    """The package that a module, a class, a function or the class of a value comes from."""
    if derives(type(value), types.ModuleType):
        name = str(module_vars(cast("types.ModuleType", value)).get("__name__", ""))
    elif derives(type(value), type):
        name = module_name(cast("type", value))
    elif type(value) is types.FunctionType:
        name = str(value.__globals__.get("__name__", ""))
    else:
        name = module_name(type(value))
    return name.partition(".")[0]
