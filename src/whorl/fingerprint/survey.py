"""The digest of code and of all that it reads, with a check whether it has changed.

The digest is made of normalized syntax trees, defaults, captured values, globals and attributes of
modules, followed through every call as far as the user's own code goes; installed distributions
count by version. The objects on the way are watched (`watch`) and listed by path, for explanations.
Cached functions (`steps.dependencies`) and compilers (`jit.compiler_code`) count in this way.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar, cast

from whorl.errors import UnsupportedFunction, UnsupportedValue

from .boundary import DEFAULT_BOUNDARY, Boundary
from .bytecode import reads_of
from .describe import Describer
from .digest import StableDigest, hash_hex
from .introspection import introspection_in
from .modes import Introspection, Mode
from .names import known_module_name
from .policy import Policy
from .refusal import DEFAULT_REMEDY, Refused
from .rules.builtin import dict_node
from .static_lookup import (
    class_name,
    derives,
    instance_dict,
    module_name,
    qualname,
    type_name,
)
from .tokens import FORMAT, Node, is_flat, marshalled
from .value_graph import Graph
from .walk import walk
from .watch import Check, Watch

__all__ = ["LOCKS", "Survey", "module_of", "readable", "survey_code"]

LOCKS: Final = ("_thread.lock", "_thread.RLock")
_ATTEMPTS: Final = 5

S = TypeVar("S", bound="Survey")


def survey_code(
    make: Callable[[frozenset[Introspection]], S],
    roots: tuple[object, ...],
    named: Iterable[type] = (),
) -> tuple[StableDigest, Check, S] | None:
    """The digest of code, a check whether it has changed, and the walk that both are from.

    `make` makes a walk for code that inspects so much. `named` are classes whose names have to lead
    to them. None if what is read changes during every walk.
    """
    for _ in range(_ATTEMPTS):
        survey = make(frozenset())
        try:
            digest = survey.digest(roots)
            while not survey.inspected <= survey.introspection:
                survey = make(survey.introspection | survey.inspected)
                digest = survey.digest(roots)
        finally:
            walk.forget()
        for cls in named:
            survey.watch.is_named(cls)
        holds = survey.watch.check()
        if holds():  # otherwise another thread has changed something meanwhile
            return digest, holds, survey
    return None


class Survey:
    """One walk over code: its digest, the objects that it met, and a watch over them.

    `name` is the owner of the code, for errors. `ignores` are names that do not count (`LOCK`,
    `solver.LOCK`, `Model.lock`), `objects` are objects that do not.
    """

    counting = "Pass what counts of it as an argument (numbers, texts, arrays), "

    def __init__(
        self,
        name: str,
        *,
        ignores: frozenset[str] = frozenset(),
        objects: Iterable[object] = (),
        boundary: Boundary = DEFAULT_BOUNDARY,
        introspection: frozenset[Introspection] = frozenset(),
    ) -> None:
        self.name = name
        self.ignores = ignores
        self.boundary = boundary
        self.introspection = introspection
        self.inspected: frozenset[Introspection] = frozenset()
        self.describer = Describer(Policy(boundary=boundary), Mode.CODE, introspection)
        self._ignored = {id(value): value for value in objects}
        self.watch = Watch(self.describer, self.is_ignored)
        self.met: dict[str, object] = {}
        self.names: dict[str, str] = {}
        self.roots: tuple[object, ...] = ()
        self.ignores_of: dict[int, frozenset[str]] = {}  # by the addresses of functions

    def leaving_out(self, name: str) -> str:
        """The option by which a name does not count, for messages."""
        return f"whorl.cached(ignores=[{name!r}])"

    def digest(self, roots: tuple[object, ...]) -> StableDigest:
        """The digest of the roots and of all that their code reads."""
        self.roots = roots
        graph = Graph(roots, self._describe, self._blame)
        self.inspected = introspection_in(graph)
        names: dict[str, None] = {}
        for function in self.called(graph):
            if graph.node_of(function).tag == b"function":
                names.update(dict.fromkeys(reads_of(function.__code__).attributes))
        self.watch.names_used(names)
        python = sys.implementation.cache_tag  # what builtins do is up to the version
        parts = (FORMAT, python, self.boundary.parts(), graph.tokens, *self.beside(graph))
        return StableDigest(hash_hex(marshalled(parts)))

    def called(self, graph: Graph) -> Iterable[types.FunctionType]:
        """The functions that a call can reach."""
        return cast("list[types.FunctionType]", graph.reached(types.FunctionType))

    def beside(self, graph: Graph) -> list[str]:
        """Digests of what else counts for such code."""
        return []

    def _describe(self, value: object) -> Node:
        if id(value) in self._ignored:
            return Node(b"ignored")
        seen = self.watch.see_directly(value)
        if type(value) is types.FunctionType:
            node = self._function(value)
        else:
            node = self.describer(value)
            if node.tag == b"class":
                node = self._class(cast("type", value), node)
        if not seen and (node.tag != b"named" or derives(type(value), type)):
            self.watch.see(value)
        node = self.completed(value, node)
        for child in node.values:
            self._flat(child)
        for item in node.items or ():
            for child in item:
                self._flat(child)
        return node

    def completed(self, value: object, node: Node) -> Node:
        """The node of a value, with additions by a subclass."""
        return node

    def _flat(self, child: object) -> None:
        """Watch a short list of leaves: it is written as part of its owner, and can change."""
        if type(child) is Node:
            for inner in child.values:
                self._flat(inner)
            for item in child.items or ():
                for inner in item:
                    self._flat(inner)
        elif type(child) is list and is_flat(child):
            self.watch.see(child)

    def _function(self, function: types.FunctionType) -> Node:
        node = self.describer(function)
        if node.tag != b"function":
            return node
        path = f"{module_of(function)}.{function.__qualname__}"
        self._met(f"code:{path}", function)
        names, values = [node.label(i) for i in range(len(node.values))], list(node.values)
        for label in (".__globals__", ".__closure__"):
            at = names.index(label)
            values[at] = self._counted(values[at], function)
        for label, part in zip(names, values, strict=True):
            self._meet(label, part, function, path)
        return Node(node.tag, values, node.label)

    def _counted(self, node: object, function: types.FunctionType) -> object:
        """The globals or captured values of a function, without those that do not count."""
        if type(node) is not Node or node.keys is None:
            return node
        if not self.ignores and not self.ignores_of.get(id(function)):
            return node
        reads = zip(cast("Sequence[str]", node.keys), node.values, strict=True)
        return dict_node(
            {path: value for path, value in reads if not self.is_ignored(path, function)}
        )

    def is_ignored(self, path: str, function: types.FunctionType) -> bool:
        """Whether a global or captured variable of a function does not count."""
        module = module_of(function)
        names = self.ignores | self.ignores_of.get(id(function), frozenset())
        if path == "globals()":  # the code may read any global
            return not names.isdisjoint(("globals", "eval", "exec"))
        return path in names or f"{module}.{path}" in names

    def _meet(self, label: str, part: object, function: types.FunctionType, path: str) -> None:
        if type(part) is not Node:
            if label in (".__defaults__", ".__kwdefaults__") and part is not None:
                self._met(f"default:{path}", part)
            return
        kind = {".__globals__": "global", ".__closure__": "cell"}.get(label)
        if kind is None or part.keys is None:
            return
        for name, value in zip(part.keys, part.values, strict=True):
            if type(value) is types.FunctionType or derives(type(value), type):
                continue  # met by itself
            if type(value) is Node:
                continue
            if kind == "cell":
                place = self._met(f"cell:{path}.{name}", value)
            else:
                place = f"global:{module_of(function)}.{name}"
                self.met[place] = value
            if not derives(type(value), types.ModuleType):  # whose other names may count
                self.names[place] = str(name)

    def _class(self, cls: type, node: Node) -> Node:
        """A class, without those of its attributes that do not count."""
        path = f"{known_module_name(module_name(cls))}.{qualname(cls)}"
        self._met(f"class:{path}", cls)
        *parts, content = node.values
        if not self.ignores or type(content) is not Node or content.keys is None:
            return node
        attributes = zip(cast("Sequence[str]", content.keys), content.values, strict=True)
        names = self.ignores
        counted = dict_node(
            {
                name: value
                for name, value in attributes
                if f"{path}.{name}" not in names and f"{qualname(cls)}.{name}" not in names
            }
        )
        return Node(node.tag, [*parts, counted], node.label)

    def _met(self, path: str, value: object) -> str:
        """Note an object by its path; several of one path get numbers."""
        number, place = 1, path
        while place in self.met:
            number += 1
            place = f"{path} ({number})"
        self.met[place] = value
        return place

    def _blame(self, path: str, culprit: object, refusal: Refused) -> Exception:
        inside = refusal.inside
        reason, remedy, kind = refusal.reason, refusal.remedy, type_name(type(culprit))
        where = self.readable_path(path)
        if inside is not None:
            reason, remedy, kind = inside.reason, inside.remedy, inside.type_name
            where += inside.path.removeprefix("value")
        if remedy in ("", DEFAULT_REMEDY):
            remedy = self._remedy(self._from_names(path), inside, kind)
        return UnsupportedFunction(self.name, where, kind, reason, remedy)

    def _remedy(self, path: str, inside: UnsupportedValue | None, kind: str) -> str:
        """What to do about an object at a path that has no fingerprint."""
        name, rest = _ends(path)
        rest += "" if inside is None else inside.path.removeprefix("value")
        item = rest[2:-2] if rest.startswith("['") and rest.endswith("']") else ""
        cls = self._class_named(name) if item.isidentifier() else None
        owner = next((met for path, met in self.met.items() if path.endswith(f".{name}")), None)
        if cls is not None:
            name, rest = f"{qualname(cls)}.{item}", ""
        elif module_name(type(owner)).partition(".")[0] == "threading":  # a condition, an event
            kind, rest = LOCKS[0], ""
        if name and not rest:
            leave = f"out with {self.leaving_out(name)}."
            if kind in LOCKS:
                return f"No result depends on a lock: leave it {leave}"
            return f"{self.counting}and leave the thing itself {leave}"
        marker = self._marker(owner, rest)
        if marker and kind in LOCKS:
            return f"No result depends on a lock: leave it out with {marker}."
        if marker:
            return f"{self.counting}and leave the attribute out with {marker}."
        return (
            f"{self.counting}keep the thing itself in a global of its own, and leave that out with "
            f"{self.leaving_out('THAT_GLOBAL')}."
        )

    def _marker(self, owner: object, rest: str) -> str:
        """The marker above a class of the user by which an attribute does not count."""
        *path, attribute = rest.removeprefix(".").split(".")
        for step in path:
            owner = (instance_dict(owner) or {}).get(step)
        cls = type(owner)
        if not attribute.isidentifier() or self.describer.home(module_name(cls)).kind != "user":
            return ""
        return f"@whorl.exclude({attribute!r}) above class {class_name(cls)}"

    def _class_named(self, name: str) -> type | None:
        """The class that was met under a name, or under a dotted name that ends in it."""
        for path, met in self.met.items():
            if path.startswith("class:") and f".{name}".endswith(f".{qualname(cast('type', met))}"):
                return cast("type", met)
        return None

    def readable_path(self, path: str) -> str:
        """A path in a graph as names: `helper -> LOCK`."""
        return readable(self._from_names(path))

    def _from_names(self, path: str) -> str:
        """A path that begins with a class of an argument as if the class were a global."""
        number, _, rest = path.removeprefix("value[").partition("]")
        root = self.roots[int(number)] if number.isdigit() else None
        if not derives(type(root), type) or number == "0":
            return path
        return f"value[0].__globals__['{qualname(cast('type', root))}']{rest}"


def module_of(function: types.FunctionType) -> str:
    """The name of a function's module in every process."""
    return known_module_name(str(function.__globals__.get("__name__", "")))


def readable(path: str) -> str:
    """`value[0].__globals__['helper'].__globals__['LOCK']` -> `helper -> LOCK`."""
    names = []
    for step in path.removeprefix("value[0]").split(".__globals__[")[1:]:
        name, _, rest = step.partition("]")
        names.append(name.strip("'") + rest.replace("['", ".").replace("']", ""))
    return " -> ".join(names) if names else path.replace("value[0]", "the function", 1)


def _ends(path: str) -> tuple[str, str]:
    """The last global or captured variable on a path, and the rest of the path."""
    _, separator, after = path.rpartition(".__globals__[")
    if not separator:
        _, _, after = path.rpartition(".__closure__[")
    name, _, rest = after.partition("]")
    return name.strip("'"), rest
