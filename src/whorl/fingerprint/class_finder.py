"""Finds the user's classes in values.

A function may call the methods of its arguments, so the code of their classes is part of what it
reads. The walk follows what a fingerprint counts: excluded fields are not entered.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from whorl.fast_dataclasses import NamedTuple

from .describe import Describer
from .layout import Layout, state_of
from .markers import Marker
from .names import known_module_name
from .static_lookup import derives, module_name, qualname
from .tokens import LEAVES, Node
from .walk import walk

__all__ = ["ClassFinder"]

Children = Callable[[Any], Iterable[object]]

_LEAF_IDS: Final = frozenset(map(id, (*LEAVES, bytes)))


class _Row(NamedTuple):
    """A class: how to get from an instance to its parts, and whether the class counts."""

    cls: type  # kept alive: the table has its address
    children: Children
    counts: bool


class ClassFinder:
    """The classes in values, by the rules of one describer.

    `also` tells which classes of libraries are listed as well.

    >>> from whorl.fingerprint.policy import Policy
    >>> find = ClassFinder(Describer(Policy()))
    >>> find([1, {"a": [2.0]}])  # no class of the user
    ()
    """

    def __init__(
        self, describer: Describer, also: Callable[[type], bool] = lambda cls: False
    ) -> None:
        self._describer = describer
        self._also = also
        self._known = dict(_CONTAINERS)  # by address

    def __call__(self, values: Iterable[object]) -> tuple[type, ...]:
        """The user's classes in some values, in an order that is the same in every process."""
        classes: dict[int, type] = {}
        met: dict[int, object] = {}
        pending: list[object] = list(values)
        known = self._known
        try:
            while pending:
                value = pending.pop()
                cls = type(value)
                if id(cls) in _LEAF_IDS or id(value) in met:
                    continue
                met[id(value)] = value
                row = known.get(id(cls)) or self._learn(cls)
                if row.counts:
                    classes[id(cls)] = cls
                pending += row.children(value)
        finally:
            walk.forget()
        return tuple(sorted(classes.values(), key=_order))

    def functions(self, values: Iterable[object]) -> tuple[types.FunctionType, ...]:
        """The functions in some values, without those that only other code leads to."""
        functions: dict[int, types.FunctionType] = {}
        met: dict[int, object] = {}
        pending: list[object] = list(values)
        try:
            while pending:
                value = pending.pop()
                cls = type(value)
                if cls is types.FunctionType:
                    functions[id(value)] = cast("types.FunctionType", value)
                elif cls is types.MethodType:
                    method = cast("types.MethodType", value)
                    pending += (method.__func__, method.__self__)
                elif id(cls) not in _LEAF_IDS and id(value) not in met:
                    met[id(value)] = value
                    if not derives(cls, type, types.ModuleType):
                        pending += (self._known.get(id(cls)) or self._learn(cls)).children(value)
        finally:
            walk.forget()
        return tuple(functions.values())

    def _learn(self, cls: type) -> _Row:
        describer = self._describer
        rule = describer.class_rule(cls)
        is_users = describer.home(module_name(cls)).kind == "user"
        counts = (is_users or self._also(cls)) and not isinstance(rule, Marker)
        layout = None if rule is not None else describer.plain_layout(cls)
        children: Children = self._described
        if layout is not None and not layout.markers:
            children = _plain(layout)
        row = _Row(cls, children, counts)
        if len(self._known) > 10_000:  # short-lived classes must not pile up
            self._known.clear()
            self._known.update(_CONTAINERS)
        self._known[id(cls)] = row
        return row

    def _described(self, value: object) -> Iterable[object]:
        return _parts(self._describer(value))


def _plain(layout: Layout) -> Children:
    if layout.has_dict or any(type(name) is not str for name, _ in layout.slots):
        return lambda value: state_of(layout, value).values()
    getters = [slot.__get__ for _, slot in layout.slots]

    def objects(value: object) -> list[object]:
        try:
            return [x for get in getters if id(type(x := get(value))) not in _LEAF_IDS]
        except AttributeError:  # one is not set
            return list(state_of(layout, value).values())

    return objects


def _parts(node: Node) -> list[object]:
    return [*node.values, *(part for item in node.items or () for part in item)]


def _keys_and_values(value: dict[object, object]) -> list[object]:
    return [*dict.keys(value), *dict.values(value)]


_CONTAINERS: Final = {
    id(row.cls): row
    for row in (
        *(_Row(cls, iter, False) for cls in (list, tuple, set, frozenset)),
        _Row(dict, _keys_and_values, False),
        _Row(Node, _parts, False),
    )
}


def _order(cls: type) -> tuple[str, str]:
    return known_module_name(module_name(cls)), qualname(cls)
