"""An object in, a node out: what the object says about itself, by the rule of its class.

A rule is chosen once per class, the odd cases first:

    the policy's own rule for the nearest class along the MRO
    kinds of classes: metaclasses, modules, enums; refused ones such as files, sockets, mocks
    the table's rule for exactly this class
    copyreg or __reduce_ex__, for classes of extensions that hide state
    the code of the class, for instances that are called like functions
    content of the nearest class in the table + state, for subclasses of builtins
    state alone, for classes written in Python

Four modes read one set of rules:

    data      instances by their class's name; functions and classes by the digest of their code
    code      the inside of functions and classes: what they read is followed, and an
              instance brings its class's code along, since its methods may be called
    own code  like code, but globals are not followed: the identity of a class that no
              other process can import
    names     annotations: classes by name

The order of dicts and of attributes counts in all modes but the first: code can see it. What
else code sees of other code only if it looks, such as docstrings, counts where it does (`sees`).
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, Final, cast

from whorl.errors import UnsupportedValue

from .boundary import USER, Home
from .class_table import ClassTable
from .digest import hash_hex
from .graph import Graph
from .introspection import introspection_in
from .layout import Layout, Name, has_hidden_state, layout_of, state_of
from .lookup import (
    class_name,
    class_vars,
    derives,
    dict_place,
    find,
    module_name,
    module_vars,
    mro,
    qualname,
    type_name,
)
from .markers import (
    FieldRule,
    Marker,
    by_identity,
    by_type,
    declared_markers,
    exclude,
    ordered,
    unreadable_markers,
)
from .modes import ByIdentity, ByType, InOrder, Introspection, Mode
from .names import import_name, is_started, known_by_name, known_module_name
from .policy import ClassRule, Policy
from .refusal import DEFAULT_REMEDY, Refused
from .rules import COVERS_ATTRIBUTES, KINDS, OWNED_NAMES, WHOLE, join_libraries, known_rules
from .rules.callables import code_leaf
from .rules.reduction import by_reduction
from .tokens import Node, marshalled, tag_of, unlabelled
from .walk import walk

__all__ = ["Describer", "Rule", "shape_tag"]

Rule = Callable[[Any], Node]

WRAPPERS: Final[Mapping[Marker, Callable[[object], object]]] = {
    ordered: InOrder,
    by_type: ByType,
    by_identity: ByIdentity,
}


class Describer:
    """The rules of one policy in one mode, chosen once per class."""

    def __init__(
        self, policy: Policy, mode: Mode = Mode.DATA, sees: frozenset[Introspection] = frozenset()
    ) -> None:
        self.policy = policy
        self.mode = mode
        self.sees = sees
        self._rules: ClassTable[Rule] = ClassTable()
        self._said_of: ClassTable[ClassRule] = ClassTable(policy.rules)
        self._others: dict[tuple[Mode, frozenset[Introspection]], Describer] = {(mode, sees): self}

    def __call__(self, value: object) -> Node:
        """The node of a value that is no leaf. Raises `Refused`."""
        join_libraries()
        return self.rule(type(value))(value)

    def rule(self, cls: type) -> Rule:
        """The rule for the instances of a class."""
        rule = self._rules.get(cls)
        if rule is None:
            if len(self._rules) > 10_000:  # classes that are made and dropped must not pile up
                self._rules.clear()
            rule = self._rules[cls] = self._choose(cls)
        return rule

    def in_mode(self, mode: Mode) -> Describer:
        """The same policy, asked another question."""
        return self._other(mode, self.sees)

    def seeing(self, sights: frozenset[Introspection]) -> Describer:
        """The same policy and question, where the code that asks looks at more."""
        return self._other(self.mode, self.sees | sights)

    def _other(self, mode: Mode, sees: frozenset[Introspection]) -> Describer:
        other = self._others.get((mode, sees))
        if other is None:
            other = Describer(self.policy, mode, sees)
            other._others = self._others
            self._others[mode, sees] = other
        return other

    def graph(self, value: object, where: str = "value") -> Graph:
        """Every object reachable from the value, with its tokens."""

        def blame(path: str, culprit: object, refusal: Refused) -> Exception:
            inside = refusal.inside
            if inside is not None:
                return UnsupportedValue(
                    where + path.removeprefix("value") + inside.path.removeprefix("value"),
                    inside.type_name,
                    inside.reason,
                    inside.remedy,
                )
            while any(type(culprit) is wrapper for wrapper in WRAPPERS.values()):
                culprit = cast("ByType", culprit).value  # isinstance would ask it for its class
            return UnsupportedValue(
                where + path.removeprefix("value"),
                type_name(type(culprit)),
                refusal.reason,
                refusal.remedy or DEFAULT_REMEDY,
            )

        return Graph(value, self, blame)

    def graphs(self, *values: object, where: str = "value") -> tuple[Describer, list[Graph]]:
        """The graphs of several values, and who sees all that the code in them looks at."""
        describer = self
        while True:
            graphs = [describer.graph(value, where) for value in values]
            if self.mode is not Mode.CODE:
                return describer, graphs
            sights = frozenset[Introspection]().union(*map(introspection_in, graphs))
            if sights <= describer.sees:
                return describer, graphs
            describer = describer.seeing(sights)

    def digest_in(self, mode: Mode, value: object, where: str = "") -> str:
        """The digest of a value under another mode, in hex; `where` it is in the one that asks."""
        other = self.in_mode(mode)
        key = (mode.value, id(other), id(value))
        known = walk.codes.get(key)
        if known is not None:
            return known[1]
        if key in walk.under_way:
            raise Refused("what it is annotated with leads back to itself")
        walk.under_way.add(key)
        try:
            looking, (graph,) = other.graphs(value, where=f"value{where}")
        except UnsupportedValue as error:
            raise Refused(error.reason, error.remedy, inside=error) from error
        finally:
            walk.under_way.discard(key)
        digest = hash_hex(marshalled(graph.tokens))
        walk.codes[key] = (value, digest)
        if looking is not other:  # what a part alone looks at may be less
            return digest
        for part in graph.reached(types.FunctionType):
            written = hash_hex(marshalled(graph.tokens_of(part)))
            walk.codes[mode.value, id(other), id(part)] = (part, written)
        return digest

    # -- choosing -----------------------------------------------------------------------

    def _choose(self, cls: type) -> Rule:
        found = self._rule_or_base(cls)
        return self._instance_rule(cls, found) if isinstance(found, type) else found

    def structure(self, value: object) -> Node:
        """What a value is made of, whatever the policy says of its whole class."""
        cls = type(value)
        found = self._rule_or_base(cls, heed=False)
        return (self._instance_rule(cls, found) if isinstance(found, type) else found)(value)

    def counts_by_type(self, cls: type) -> bool:
        """Whether the policy says so of the whole class."""
        return self._said(cls) is by_type

    def _rule_or_base(self, cls: type, *, heed: bool = True) -> Rule | type:
        """The rule that says all about a class, or the base to whose content its state is added."""
        said = self._said(cls) if heed else None
        if said is not None and not isinstance(said, FieldRule):
            return self._own_rule(cls, said)
        table = known_rules()
        for is_kind, kind_rule in KINDS:
            if is_kind(cls):
                return self._bound(kind_rule)
        rule = table.get(cls)
        if rule is not None and (cls in WHOLE or not _has_dict(cls)) and said is None:
            return self._bound(rule)
        base = table.nearest(cls) or object
        if has_hidden_state(cls, base):
            return self._bound(by_reduction)
        if self.mode is Mode.DATA and self.class_is_callable_code(cls):
            return self._bound(code_leaf)
        return base

    def plain_layout(self, cls: type) -> Layout | None:
        """The layout of a class that is its state and nothing else; for other classes None."""
        return self.layout(cls, object) if self._rule_or_base(cls) is object else None

    def _bound(self, rule: Callable[[Any, Describer], Node]) -> Rule:
        return lambda value: rule(value, self)

    def _said(self, cls: type) -> ClassRule | None:
        if not self._said_of:
            return None
        nearest = self._said_of.nearest(cls)
        return None if nearest is None else self._said_of.get(nearest)

    def _own_rule(self, cls: type, said: Marker | Callable[[Any], object]) -> Rule:
        if said is exclude:
            return lambda value: Node(b"excluded", (self.class_node(cls),))
        if isinstance(said, Marker):
            wrap = WRAPPERS[said]
            return lambda value: self(wrap(value))

        def stand_in(value: object) -> Node:
            found = said(value)
            if any(part is value for part in gc.get_referents(found)) and found is not value:
                raise Refused(
                    "its rule returns something that holds the value itself",
                    "Let the rule return the parts that count.",
                )
            if self._said(type(found)) is said:  # the same class again: what it is made of
                found = self.structure(found)
            return Node(b"stands for", (self.class_node(cls), found), unlabelled)

        return stand_in

    # -- instances ----------------------------------------------------------------------

    def layout(self, cls: type, base: type) -> Layout:
        """Where instances of the class keep their state, under this policy."""
        lost = unreadable_markers(cls)
        if lost:
            name, text = lost[0]
            raise Refused(
                f"the annotation of field {name!r}, {text!r}, cannot be evaluated, so a marker "
                "in it would be lost",
                "Import its names at run time, or put the marker above the class: "
                '@whorl.exclude("field").',
            )
        said = self._said(cls)
        own = dict(said.markers) if isinstance(said, FieldRule) else {}
        owned = None if base in COVERS_ATTRIBUTES else OWNED_NAMES.get(base) or frozenset()
        layout = layout_of(cls, base, own, owned)
        if not layout.has_dict:
            _check_fields(cls, {**declared_markers(cls), **own})
        return layout

    def _instance_rule(self, cls: type, base: type) -> Rule:
        layout = self.layout(cls, base)
        identity = self.class_parts(cls)
        head: list[tuple[str, Callable[[Any], object]]] = []
        if self._class_counts(cls):
            head.append((".__class__", type))
        local = not known_by_name(cls)
        in_order = self.mode is not Mode.DATA
        if self.mode is Mode.DATA and local:
            head.append((".__class__", lambda value: self.own_code(cls)))
        if base is not object:
            content = known_rules().get(base)
            assert content is not None, "a base is a class that has a rule"
            head.append(("", self._bound(content)))
        shapes: dict[tuple[Name, ...], tuple[tuple[Name, ...], bytes, Callable[[int], str]]] = {}

        def rule(value: object) -> Node:
            if local and known_by_name(cls):  # it has come to be known by a name since
                changed = self._rules[cls] = self._choose(cls)
                return changed(value)
            state = state_of(layout, value)
            held = tuple(state)
            shape = shapes.get(held)
            if shape is None:
                if len(shapes) > 1024:
                    shapes.clear()
                names = held if in_order else tuple(sorted(held, key=_order))
                labels = [label for label, _ in head] + [_field_label(name) for name in names]
                shape = shapes[held] = names, shape_tag(identity, names), labels.__getitem__
            names, tag, label = shape
            values = [part(value) for _, part in head]
            if layout.markers:
                values += [self.marked(layout, name, state[name]) for name in names]
            else:
                values += [state[name] for name in names]
            return Node(tag, values, label, counted=False)

        return rule

    def marked(self, layout: Layout, name: Name, value: object) -> object:
        """The value of a field as its marker says it counts."""
        marker = layout.markers.get(name) if type(name) is str else None
        return value if marker is None else WRAPPERS[marker](value)

    def _class_counts(self, cls: type) -> bool:
        """Whether an instance brings its class's code along."""
        if self.mode is Mode.CODE:
            return True
        return self.mode is Mode.OWN_CODE and not known_by_name(cls)

    def class_parts(self, cls: type) -> tuple[object, ...]:
        """What stands for a class in the tag of its instances."""
        if known_by_name(cls):
            return "class", known_module_name(module_name(cls)), qualname(cls)
        return "local class", qualname(cls)

    def own_code(self, cls: type) -> Node | None:
        """What distinguishes a class that its name does not stand for; None for others.

        Asked again for every walk: such a class can be changed like any other object.
        """
        if self.mode is not Mode.DATA or known_by_name(cls):
            return None
        return Node(b"own code", (self.digest_in(Mode.OWN_CODE, cls),), unlabelled)

    def class_node(self, cls: type) -> Node:
        """What stands for a class beside the values of an instance."""
        return Node(b"of", (*self.class_parts(cls), self.own_code(cls)), unlabelled)

    # -- code ---------------------------------------------------------------------------

    def home(self, module: str) -> Home:
        """Whose code a module is."""
        if not module:
            return USER
        loaded = sys.modules.get(module)
        while (
            loaded is None and "." in module
        ):  # one that was taken away, or never was: `numpy.rec`
            module = module.rpartition(".")[0]
            loaded = sys.modules.get(module)
        file = None
        if loaded is not None and derives(type(loaded), types.ModuleType):
            file = module_vars(loaded).get("__file__")
        known = known_module_name(module)
        return self.policy.boundary.home(known, file if type(file) is str else None)

    def home_of_globals(self, scope: Mapping[str, Any]) -> Home:
        """Whose code a function is, by its globals: they know better than a module's name."""
        module = scope.get("__name__")
        module = module if type(module) is str else ""
        loaded = sys.modules.get(module)
        if type(loaded) is types.ModuleType and module_vars(loaded) is scope:
            return self.home(module)
        file = scope.get("__file__")
        known = import_name(scope) if is_started(module) else module
        return self.policy.boundary.home(known, file if type(file) is str else None)

    def class_is_callable_code(self, cls: type) -> bool:
        """Whether instances are called, and so count by their class's code like functions do."""
        call = find(cls, "__call__")
        return type(call) is types.FunctionType and self.home(module_name(cls)) == USER


def shape_tag(identity: tuple[object, ...], names: tuple[Name, ...]) -> bytes:
    """The tag of an instance: its class and the names of what it holds."""
    return tag_of("instance", *identity, names)


def _order(name: Name) -> tuple[bool, Name]:
    return type(name) is tuple, name


def _check_fields(cls: type, markers: Mapping[str, Marker]) -> None:
    """A marker for a field that a class without a dictionary cannot have is a slip of the pen."""
    names = {name for c in mro(cls) for name in class_vars(c)}
    prefixes = tuple(f"_{class_name(c).lstrip('_')}" for c in mro(cls))
    for name in markers:
        if name not in names and not any(f"{prefix}{name}" in names for prefix in prefixes):
            slots = sorted(n for c in mro(cls) for n in class_vars(c).get("__slots__", ()))
            raise Refused(
                f"{markers[name]!r} is said of its field {name!r}, which it does not have",
                f"It has: {', '.join(slots) or 'no fields'}.",
            )


def _has_dict(cls: type) -> bool:
    return any(dict_place(c) is not None for c in mro(cls))


def _field_label(name: Name) -> str:
    match name:
        case ("class", field):
            return f".__class__.{field}"
        case ("keys",):
            return ".__dict__"
        case (_, field, *_):
            return f".{field}"
    assert isinstance(name, str)
    return f".{name}" if name.isidentifier() and not iskeyword(name) else f".__dict__[{name!r}]"
