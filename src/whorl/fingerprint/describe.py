"""An object in, a node out: the content of the object, by the rule of its class.

The rule of a class is chosen once, special cases first:

    the policy's own rule for the nearest class along the MRO
    kinds of classes: metaclasses, modules, enums; refused ones such as files, sockets, mocks
    the table's rule for exactly this class
    copyreg or __reduce_ex__, for classes of extensions that hide state
    the code of the class, for instances that are called like functions
    content of the nearest class in the table + state, for subclasses of builtins
    state alone, for classes written in Python

Four modes use one set of rules:

    data      instances by their class's name; functions and classes by the digest of their code
    code      the inside of functions and classes: what they read is followed, and an
              instance brings its class's code along, since its methods may be called
    own code  like code, but globals are not followed: the identity of a class that no
              other process can import
    names     annotations: classes by name

The order of dicts and of attributes counts in all modes but the first: code can see it. Other
properties of code, such as docstrings, count only where code inspects them (`introspection`).
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, Final, cast
from weakref import WeakSet

from whorl.errors import UnsupportedValue

from .boundary import USER
from .digest import hash_hex
from .introspection import introspection_in
from .layout import Layout, Name, has_hidden_state, layout_of, state_of
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
from .names import known_by_name
from .policy import ClassRule, Policy
from .refusal import DEFAULT_REMEDY, Refused
from .rules import COVERS_ATTRIBUTES, KINDS, OWNED_NAMES, RULES, WHOLE, join_libraries
from .rules.assigned_names import assigned_to_compiled
from .rules.callables import code_leaf
from .rules.reduction import by_reduction
from .rules.rule import NAMED, Rule, RuleContext
from .static_lookup import (
    ABSENT,
    ClassTable,
    class_name,
    class_vars,
    dict_place,
    find,
    module_name,
    mro,
    type_name,
)
from .tokens import Node, marshalled, tag_of, unlabelled
from .value_graph import Graph
from .walk import walk

__all__ = ["WRAPPERS", "Describer", "forget_chosen_rules", "shape_tag"]

_Describe = Callable[[Any], Node]
"""A rule with its context."""

WRAPPERS: Final[Mapping[Marker, Callable[[object], object]]] = {
    ordered: InOrder,
    by_type: ByType,
    by_identity: ByIdentity,
}


_describers: Final[WeakSet[Describer]] = WeakSet()


def forget_chosen_rules() -> None:
    """Have rules chosen anew for all classes: there is a new one."""
    for describer in list(_describers):
        describer.forget_choices()


class Describer(RuleContext):
    """The rules of one policy in one mode, chosen once per class."""

    def __init__(
        self,
        policy: Policy,
        mode: Mode = Mode.DATA,
        introspection: frozenset[Introspection] = frozenset(),
    ) -> None:
        super().__init__(policy, mode, introspection)
        self.choices = 0  # how often rules were chosen anew
        self._rules: ClassTable[_Describe] = ClassTable()
        self._named: ClassTable[tuple[object, ...]] = ClassTable()
        self._class_rules: ClassTable[ClassRule] = ClassTable(policy.rules)
        self._others: dict[tuple[Mode, frozenset[Introspection]], Describer]
        self._others = {(mode, introspection): self}
        _describers.add(self)

    def __call__(self, value: object) -> Node:
        """The node of a value that is no leaf. Raises `Refused`."""
        join_libraries()
        cls = type(value)
        rule = self._rules.get(cls)
        if rule is None:
            if len(self._rules) > 10_000:  # short-lived classes must not pile up
                self._rules.clear()
            rule = self._rules[cls] = self._choose(cls)
        return rule(value)

    def forget_choices(self) -> None:
        """Have rules chosen anew."""
        self.choices += 1
        self._rules.clear()

    def in_mode(self, mode: Mode) -> Describer:
        """The describer of the same policy in another mode."""
        return self._other(mode, self.introspection)

    def _other(self, mode: Mode, introspection: frozenset[Introspection]) -> Describer:
        other = self._others.get((mode, introspection))
        if other is None:
            other = Describer(self.policy, mode, introspection)
            other._others = self._others
            self._others[mode, introspection] = other
        return other

    # -- graphs -------------------------------------------------------------------------

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
        """The graphs of several values, and the describer for what the code in them inspects."""
        describer = self
        while True:
            graphs = [describer.graph(value, where) for value in values]
            if self.mode is not Mode.CODE:
                return describer, graphs
            inspected = describer.introspection.union(*map(introspection_in, graphs))
            if inspected == describer.introspection:
                return describer, graphs
            describer = describer._other(self.mode, inspected)

    def digest_in(self, mode: Mode, value: object, where: str = "") -> str:
        """The digest of a value in another mode, in hex; `where` is its path from here."""
        other = self.in_mode(mode)
        key = (mode.value, id(other), id(value))
        known = walk.codes.get(key)
        if known is not None:
            return known[1]
        if key in walk.under_way:
            raise Refused("its annotations lead back to itself")
        try:
            walk.under_way.add(key)
            inspecting, (graph,) = other.graphs(value, where=f"value{where}")
        except UnsupportedValue as error:
            raise Refused(error.reason, error.remedy, inside=error) from error
        finally:
            walk.under_way.discard(key)
        digest = hash_hex(marshalled(graph.tokens))
        walk.codes[key] = (value, digest)
        if inspecting is not other:  # a part alone may inspect less
            return digest
        for part in graph.reached(types.FunctionType):
            part_digest = hash_hex(marshalled(graph.tokens_of(part)))
            walk.codes[mode.value, id(other), id(part)] = (part, part_digest)
        return digest

    # -- names --------------------------------------------------------------------------

    def class_parts(self, cls: type) -> tuple[object, ...]:
        """What identifies a class; one that was known by its name once is so for good."""
        known = self._named.get(cls)
        if known is None:
            known = super().class_parts(cls)
            if known[0] == NAMED:
                if len(self._named) > 10_000:  # short-lived classes must not pile up
                    self._named.clear()
                self._named[cls] = known
        return known

    def own_code(self, cls: type) -> Node | None:
        """The code of a class that its name does not identify; None for other classes."""
        return None if cls in self._named else super().own_code(cls)

    # -- choosing -----------------------------------------------------------------------

    def _choose(self, cls: type, *, by_policy: bool = True) -> _Describe:
        rule = self._rule_or_base(cls, by_policy=by_policy)
        return self._instance_rule(cls, rule) if isinstance(rule, type) else rule

    def structure(self, value: object) -> Node:
        """The node of a value by its content, whatever the policy says about its whole class."""
        return self._choose(type(value), by_policy=False)(value)

    def class_rule(self, cls: type) -> ClassRule | None:
        """The policy's rule for a class or the nearest of its bases."""
        if not self._class_rules:
            return None
        nearest = self._class_rules.nearest(cls)
        return None if nearest is None else self._class_rules.get(nearest)

    def counts_by_type(self, cls: type) -> bool:
        """Whether the policy has `by_type` for the whole class."""
        return self.class_rule(cls) is by_type

    def _rule_or_base(self, cls: type, *, by_policy: bool = True) -> _Describe | type:
        """The rule for all of a class, or the base to whose content its state is added."""
        join_libraries()
        own = self.class_rule(cls) if by_policy else None
        if own is not None and not isinstance(own, FieldRule):
            return self._policy_rule(cls, own)
        for is_kind, kind_rule in KINDS:
            if is_kind(cls):
                return self._bound(kind_rule)
        rule = RULES.get(cls)
        if rule is not None and (cls in WHOLE or not _has_dict(cls)) and own is None:
            return self._bound(rule)
        base = RULES.nearest(cls) or object
        if _is_compiled(cls):  # what a native one has in C follows from its function
            return self._instance_rule(cls, base)
        if has_hidden_state(cls, base):
            return self._bound(by_reduction)
        if self.mode is Mode.DATA and self._is_called_like_function(cls):
            return self._bound(code_leaf)
        return base

    def _bound(self, rule: Rule) -> _Describe:
        return lambda value: rule(value, self)

    def _is_called_like_function(self, cls: type) -> bool:
        """Whether instances are called, and so count by the code of their class."""
        call = find(cls, "__call__")
        return type(call) is types.FunctionType and self.home(module_name(cls)) == USER

    def _policy_rule(self, cls: type, own: Marker | Callable[[Any], object]) -> _Describe:
        if own is exclude:
            return lambda value: Node(b"excluded", (self.class_node(cls),))
        if isinstance(own, Marker):
            wrap = WRAPPERS[own]
            return lambda value: self(wrap(value))

        def replacement(value: object) -> Node:
            content = own(value)
            if any(part is value for part in gc.get_referents(content)) and content is not value:
                raise Refused(
                    "its rule returns something that holds the value itself",
                    "Let the rule return the parts that count.",
                )
            if self.class_rule(type(content)) is own:  # the same class again: by its structure
                content = self.structure(content)
            return Node(b"stands for", (self.class_node(cls), content), unlabelled)

        return replacement

    # -- instances ----------------------------------------------------------------------

    def plain_layout(self, cls: type) -> Layout | None:
        """The layout of a class that has state and nothing else; None for other classes."""
        return self.layout(cls, object) if self._rule_or_base(cls) is object else None

    def layout(self, cls: type, base: type) -> Layout:
        """Where instances of the class keep their state, under this policy."""
        unreadable = unreadable_markers(cls)
        if unreadable:
            name, text = unreadable[0]
            raise Refused(
                f"the annotation of field {name!r}, {text!r}, cannot be evaluated, so a marker "
                "in it would be lost",
                "Import its names at run time, or put the marker above the class: "
                '@whorl.exclude("field").',
            )
        rule = self.class_rule(cls)
        own = dict(rule.markers) if isinstance(rule, FieldRule) else {}
        owned = None if base in COVERS_ATTRIBUTES else OWNED_NAMES.get(base) or frozenset()
        layout = layout_of(cls, base, own, owned)
        if not layout.has_dict:
            _check_fields(cls, {**declared_markers(cls), **own})
        return layout

    def _instance_rule(self, cls: type, base: type) -> _Describe:
        layout = self.layout(cls, base)
        identity = self.class_parts(cls)
        local = not known_by_name(cls)
        head = self._instance_head(cls, base, local=local)
        in_order = self.mode is not Mode.DATA
        is_compiled = _is_compiled(cls)
        shapes: dict[tuple[Name, ...], tuple[tuple[Name, ...], bytes, Callable[[int], str]]] = {}

        def rule(value: object) -> Node:
            if local and known_by_name(cls):  # since a moment ago
                changed = self._rules[cls] = self._choose(cls)
                return changed(value)
            state = state_of(layout, value)
            if is_compiled:
                state.update(assigned_to_compiled(value, self))
            present = tuple(state)
            shape = shapes.get(present)
            if shape is None:
                if len(shapes) > 1024:
                    shapes.clear()
                names = present if in_order else tuple(sorted(present, key=_order))
                labels = [label for label, _ in head] + [_field_label(name) for name in names]
                shape = shapes[present] = names, shape_tag(identity, names), labels.__getitem__
            names, tag, label = shape
            values = [part(value) for _, part in head]
            if layout.markers:
                values += [self.marked(layout, name, state[name]) for name in names]
            else:
                values += [state[name] for name in names]
            return Node(tag, values, label, counted=False)

        return rule

    def _instance_head(
        self, cls: type, base: type, *, local: bool
    ) -> list[tuple[str, Callable[[Any], object]]]:
        """What comes before the state of an instance: labels, and functions of the instance."""
        head: list[tuple[str, Callable[[Any], object]]] = []
        if self.mode is Mode.CODE or (self.mode is Mode.OWN_CODE and local):
            head.append((".__class__", type))
        if self.mode is Mode.DATA and local:
            head.append((".__class__", lambda value: self.own_code(cls)))
        if base is not object:
            content = RULES.get(base)
            assert content is not None, "a base is a class that has a rule"
            head.append(("", self._bound(content)))
        return head

    def marked(self, layout: Layout, name: Name, value: object) -> object:
        """The value of a field, in the wrapper of its marker if it has one."""
        marker = layout.markers.get(name) if type(name) is str else None
        return value if marker is None else WRAPPERS[marker](value)


def shape_tag(identity: tuple[object, ...], names: tuple[Name, ...]) -> bytes:
    """The tag of an instance: its class and the names of its state."""
    return tag_of("instance", *identity, names)


def _order(name: Name) -> tuple[bool, Name]:
    return type(name) is tuple, name


def _check_fields(cls: type, markers: Mapping[str, Marker]) -> None:
    """Refuse a marker for a field that a class without a dictionary cannot have."""
    names = {name for c in mro(cls) for name in class_vars(c)}
    prefixes = tuple(f"_{class_name(c).lstrip('_')}" for c in mro(cls))
    for name in markers:
        if name not in names and not any(f"{prefix}{name}" in names for prefix in prefixes):
            slots = sorted(n for c in mro(cls) for n in class_vars(c).get("__slots__", ()))
            raise Refused(
                f"{markers[name]!r} names its field {name!r}, which it does not have",
                f"It has: {', '.join(slots) or 'no fields'}.",
            )


def _is_compiled(cls: type) -> bool:
    """Whether instances are kernels or cached functions, which have names of their own."""
    return find(cls, "__whorl_function__") is not ABSENT


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
