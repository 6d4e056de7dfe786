"""A function and the classes of its arguments in, the digest of their code and all it reads out.

The digest is that of `whorl.fingerprint`: normalized syntax trees, defaults, captured values,
globals and attributes of modules, followed through every call as far as the user's own code
goes; installed distributions by version. Beside it stands a check that says, in a microsecond or
so, whether anything of that has changed since (`watch`), and a list of what was met, for whoever
asks why (`parts`).

An instance among the arguments brings its class along: the function may call its methods.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from whorl.artifacts import Part
from whorl.errors import UnsupportedFunction, UnsupportedValue
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY, Boundary
from whorl.fingerprint.bytecode import reads_of, strings_in
from whorl.fingerprint.dataflow import SCOPE
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.fingerprint.fingerprinter import fingerprint
from whorl.fingerprint.graph import Graph
from whorl.fingerprint.introspection import introspection_in
from whorl.fingerprint.lookup import (
    ABSENT,
    class_name,
    class_vars,
    derives,
    find,
    instance_dict,
    module_name,
    module_vars,
    qualname,
    type_name,
)
from whorl.fingerprint.modes import Introspection, Mode
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.refusal import DEFAULT_REMEDY, Refused
from whorl.fingerprint.rules.builtin import dict_node
from whorl.fingerprint.rules.references import References
from whorl.fingerprint.tokens import FORMAT, Node, is_flat, marshalled, unlabelled
from whorl.fingerprint.walk import walk
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
from .place import Place
from .reach import called
from .spelling import spelled
from .watch import Check, Watch

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
LOCKS: Final = ("_thread.lock", "_thread.RLock")
_ATTEMPTS: Final = 5


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
    for _ in range(_ATTEMPTS):
        survey = _Survey(said, name)
        try:
            digest = survey.digest((root, *beside))
            while not survey.sights <= survey.sees:  # it looks at more than was shown to it
                survey = _Survey(said, name, survey.sees | survey.sights)
                digest = survey.digest((root, *beside))
        finally:
            walk.forget()
        for cls in named:
            survey.watch.is_named(cls)
        holds = survey.watch.check()
        if holds():  # otherwise another thread has changed something on the way
            places = survey.watch.places()
            return World(digest, holds, tuple(survey.met.items()), survey.names, places)
    raise Unsteady(name)


class _Survey:
    """One walk over code: what it says, what it met, and what has to stay as it is."""

    def __init__(
        self, said: Surroundings, name: str, sees: frozenset[Introspection] = frozenset()
    ) -> None:
        self._said = said
        self._name = name
        self._describer = Describer(Policy(boundary=said.boundary), Mode.CODE, sees)
        self.sees = sees
        self.sights: frozenset[Introspection] = frozenset()
        self._ignored = {id(value) for value in said.objects}
        self.watch = Watch(self._describer, self._is_ignored)
        self.met: dict[str, object] = {}
        self.names: dict[str, str] = {}
        self._roots: tuple[object, ...] = ()
        self._told: list[tuple[object, Told]] = []
        self._ignores_of: dict[int, frozenset[str]] = {}

    def digest(self, roots: tuple[object, ...]) -> StableDigest:
        self._roots = roots
        graph = Graph(roots, self._describe, self._blame)
        self.sights = introspection_in(graph)
        names: dict[str, None] = {}
        for function in called(graph):
            self._check_outside(function, graph)
            if graph.node_of(function).tag == b"function":
                names.update(dict.fromkeys(reads_of(function.__code__).attributes))
        self.watch.names_used(names)
        python = sys.implementation.cache_tag  # what builtins do is up to the version
        settings = self._settings(graph)
        parts = (FORMAT, python, self._said.boundary.parts(), graph.tokens, *settings)
        return StableDigest(hash_hex(marshalled(parts)))

    def _settings(self, graph: Graph) -> list[str]:
        """Settings of the process that its results depend on, in words of digests."""
        functions = [
            cast("types.FunctionType", function)
            for function in graph.reached(types.FunctionType)
            if graph.node_of(function).tag == b"function"
        ]
        counted: list[str] = []
        for ambient in ambient_of(_packages(graph), functions):
            if ambient.name not in self._said.ignores:
                now = ambient.now()
                self.watch.stays(ambient.now, now)
                self.met[f"setting:{ambient.name}"] = now
                self.names[f"setting:{ambient.name}"] = ambient.name
                counted += (ambient.name, str(fingerprint(now)))
        return counted

    def _describe(self, value: object) -> Node:
        if id(value) in self._ignored:
            return Node(b"ignored")
        seen = self.watch.sees_at_once(value)
        if type(value) is types.FunctionType:
            node = self._function(value)
        else:
            node = self._describer(value)
            if node.tag == b"class":
                node = self._class(cast("type", value), node)
        if not seen and (node.tag != b"named" or derives(type(value), type)):
            self.watch.see(value)
        if find(type(value), "__whorl_told__") is not ABSENT:
            node = self._telling(value, node)
        for child in node.values:
            self._flat(child)
        for item in node.items or ():
            for child in item:
                self._flat(child)
        return node

    def _flat(self, child: object) -> None:
        """A short list of leaves is written down by whoever holds it, and can change like any."""
        if type(child) is Node:
            for inner in child.values:
                self._flat(inner)
            for item in child.items or ():
                for inner in item:
                    self._flat(inner)
        elif type(child) is list and is_flat(child):
            self.watch.see(child)

    def _telling(self, value: Any, node: Node) -> Node:
        """A cached function that is called: the files and variables that it has declared count."""
        told: Told = value.__whorl_told__()
        self._told.append((value, told))
        self._ignores_of[id(told.function)] = told.ignores
        if not told.declared:
            return node
        now = told.declared.now()
        self.watch.declares(told.declared, now)
        for name, held in now:
            self.met[f"declared:{name}"] = held
        return Node(b"telling", (node, Node(b"declared", (marshalled(now),))), unlabelled)

    # -- functions ------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> Node:
        node = self._describer(function)
        if node.tag != b"function":
            return node
        path = f"{_module_of(function)}.{function.__qualname__}"
        self._met(f"code:{path}", function)
        names, values = [node.label(i) for i in range(len(node.values))], list(node.values)
        for label in (".__globals__", ".__closure__"):
            at = names.index(label)
            values[at] = self._counted(values[at], function)
        for label, held in zip(names, values, strict=True):
            self._meet(label, held, function, path)
        return Node(node.tag, values, node.label)

    def _counted(self, node: object, function: types.FunctionType) -> object:
        """The globals or captured values of a function, less those that do not count."""
        if type(node) is not Node or node.keys is None:
            return node
        if not self._said.ignores and not self._ignores_of.get(id(function)):
            return node
        reads = zip(cast("Sequence[str]", node.keys), node.values, strict=True)
        return dict_node(
            {path: held for path, held in reads if not self._is_ignored(path, function)}
        )

    def _is_ignored(self, path: str, function: types.FunctionType) -> bool:
        module = _module_of(function)
        names = self._said.ignores | self._ignores_of.get(id(function), frozenset())
        if path == "globals()":  # all that there is, because of one that can read anything
            return not names.isdisjoint(("globals", "eval", "exec"))
        return path in names or f"{module}.{path}" in names

    def _check_outside(self, function: types.FunctionType, graph: Graph) -> None:
        """Refuse what takes something from outside of the program that nobody has declared."""
        if graph.node_of(function).tag != b"function":
            return  # not the user's: it counts by name and version
        classes = [cast("type", met) for path, met in self.met.items() if path[:6] == "class:"]
        is_root = any(function is root for root in self._roots)
        named = list(named_outside(function))
        found_in = outside_reads(
            function,
            classes,
            with_defaults=not is_root,
            is_ignored=lambda name: self._is_ignored(name, function),
            is_users=lambda module: self._describer.home(module).kind == "user",
        )
        for found in (*found_in, *self._unknown_scope(function)):
            if found.kind.name in self._said.kinds or found.name in self._said.ignores:
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
            if found.name in self._said.ignores or self._said.declared.has(name):
                continue
            if not self._is_told(found, function, graph):
                raise self._outside(found, f"{found.name} for {name!r}", function, graph, name)

    def _unknown_scope(self, function: types.FunctionType) -> tuple[Outside, ...]:
        """The `__globals__` that it takes from a function that cannot be told."""
        if SCOPE not in strings_in(function.__code__):
            return ()
        is_taken = References(function, self._describer).is_scope_taken
        return (Outside(f".{SCOPE}", SCOPES),) if is_taken else ()

    def _outside(
        self,
        found: Outside,
        what: str,
        function: types.FunctionType,
        graph: Graph,
        name: str = "NAME",
    ) -> UnsupportedFunction:
        labels = "".join(label for _, label in graph.way_to(function))
        where = f"{_module_of(function)}.{function.__qualname__}"
        remedy = found.kind.remedy.replace("'NAME'", repr(name)).replace("USED", found.name)
        return UnsupportedFunction(
            self._name,
            _readable(f"value{labels}"),
            "function",
            f"{where} uses {what}, so what it returns depends on {found.kind.name}",
            f"{remedy}. If no result depends on it: ignores=[{found.name!r}].",
        )

    def _is_told(self, found: Outside, function: types.FunctionType, graph: Graph) -> bool:
        """Whether the way to a function leads through one that has declared what is found."""
        way = [node for node, _ in graph.way_to(function)]
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

    def _meet(self, label: str, held: object, function: types.FunctionType, path: str) -> None:
        if type(held) is not Node:
            if label in (".__defaults__", ".__kwdefaults__") and held is not None:
                self._met(f"default:{path}", held)
            return
        kind = {".__globals__": "global", ".__closure__": "cell"}.get(label)
        if kind is None or held.keys is None:
            return
        for name, value in zip(held.keys, held.values, strict=True):
            if type(value) is types.FunctionType or derives(type(value), type):
                continue  # met by itself
            if type(value) is Node:
                continue
            if kind == "cell":
                place = self._met(f"cell:{path}.{name}", value)
            else:
                place = f"global:{_module_of(function)}.{name}"
                self.met[place] = value
            if not derives(type(value), types.ModuleType):  # whose other names may count
                self.names[place] = str(name)

    def _class(self, cls: type, node: Node) -> Node:
        """A class, less those of its attributes that do not count."""
        path = f"{known_module_name(module_name(cls))}.{qualname(cls)}"
        self._met(f"class:{path}", cls)
        *parts, content = node.values
        if not self._said.ignores or type(content) is not Node or content.keys is None:
            return node
        held = zip(cast("Sequence[str]", content.keys), content.values, strict=True)
        names = self._said.ignores
        counted = dict_node(
            {
                name: value
                for name, value in held
                if f"{path}.{name}" not in names and f"{qualname(cls)}.{name}" not in names
            }
        )
        return Node(node.tag, [*parts, counted], node.label)

    def _met(self, path: str, value: object) -> str:
        """Several functions of one name are told apart by number."""
        number, place = 1, path
        while place in self.met:
            number += 1
            place = f"{path} ({number})"
        self.met[place] = value
        return place

    def _blame(self, path: str, culprit: object, refusal: Refused) -> Exception:
        inside = refusal.inside
        reason, remedy, kind = refusal.reason, refusal.remedy, type_name(type(culprit))
        where = _readable(self._from_names(path))
        if inside is not None:
            reason, remedy, kind = inside.reason, inside.remedy, inside.type_name
            where += inside.path.removeprefix("value")
        if remedy in ("", DEFAULT_REMEDY):
            remedy = self._remedy(self._from_names(path), inside, kind)
        return UnsupportedFunction(self._name, where, kind, reason, remedy)

    def _remedy(self, path: str, inside: UnsupportedValue | None, kind: str) -> str:
        """What to do about something that was found along a path and has no fingerprint."""
        name, rest = _ends(path)
        rest += "" if inside is None else inside.path.removeprefix("value")
        counts = "Pass what counts of it as an argument (numbers, texts, arrays), "
        item = rest[2:-2] if rest.startswith("['") and rest.endswith("']") else ""
        cls = self._class_named(name) if item.isidentifier() else None
        held = next((met for path, met in self.met.items() if path.endswith(f".{name}")), None)
        if cls is not None:
            name, rest = f"{qualname(cls)}.{item}", ""
        elif module_name(type(held)).partition(".")[0] == "threading":  # a condition, an event
            kind, rest = LOCKS[0], ""
        if name and not rest:
            leave = f"out with whorl.cached(ignores=[{name!r}])."
            if kind in LOCKS:
                return f"No result depends on a lock: leave it {leave}"
            return f"{counts}and leave the thing itself {leave}"
        marker = self._marker(held, rest)
        if marker and kind in LOCKS:
            return f"No result depends on a lock: leave it out with {marker}."
        if marker:
            return f"{counts}and leave the attribute out with {marker}."
        return (
            f"{counts}keep the thing itself in a global of its own, and leave that out with "
            "whorl.cached(ignores=['THAT_GLOBAL'])."
        )

    def _marker(self, held: object, rest: str) -> str:
        """What to write above a class of the user's so that an attribute does not count."""
        *way, attribute = rest.removeprefix(".").split(".")
        for step in way:
            held = (instance_dict(held) or {}).get(step)
        cls = type(held)
        if not attribute.isidentifier() or self._describer.home(module_name(cls)).kind != "user":
            return ""
        return f"@whorl.exclude({attribute!r}) above class {class_name(cls)}"

    def _class_named(self, name: str) -> type | None:
        """The class that was met under a name, or through modules under a name that ends so."""
        for path, met in self.met.items():
            if path.startswith("class:") and f".{name}".endswith(f".{qualname(cast('type', met))}"):
                return cast("type", met)
        return None

    def _from_names(self, path: str) -> str:
        """A path that begins with a class of an argument as if the class were a global."""
        number, _, rest = path.removeprefix("value[").partition("]")
        root = self._roots[int(number)] if number.isdigit() else None
        if not derives(type(root), type) or number == "0":
            return path
        return f"value[0].__globals__['{qualname(cast('type', root))}']{rest}"


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


def _module_of(function: types.FunctionType) -> str:
    return known_module_name(str(function.__globals__.get("__name__", "")))


def _readable(path: str) -> str:
    """`value[0].__globals__['helper'].__globals__['LOCK']` -> `helper -> LOCK`."""
    names = []
    for step in path.removeprefix("value[0]").split(".__globals__[")[1:]:
        name, _, rest = step.partition("]")
        names.append(name.strip("'") + rest.replace("['", ".").replace("']", ""))
    return " -> ".join(names) if names else path.replace("value[0]", "the function", 1)


def _ends(path: str) -> tuple[str, str]:
    """The global or captured variable that a path comes to at last, and the way on from there."""
    _, found, after = path.rpartition(".__globals__[")
    if not found:
        _, _, after = path.rpartition(".__closure__[")
    name, _, rest = after.partition("]")
    return name.strip("'"), rest
