"""Tables, indices and columns of pandas: their labels, columns and what is said about them.

Nothing here imports pandas. What pandas keeps for itself does not count: numbers of its own, what
it has worked out for earlier questions, and which columns lie beside each other in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from ..layout import layout_of, state_of
from ..lookup import derives
from ..refusal import Refused
from ..tokens import Node, unlabelled
from .reduction import reduced
from .rule import Kind, RuleContext

__all__ = ["KINDS"]

_OWN: Final = frozenset(
    (
        "_mgr", "_attrs", "_flags", "_item_cache", "_is_copy", "_cacher", "_name", "_names", "_id",
        "_cache", "_references", "_data", "_range", "_levels", "_codes", "_sortorder", "_engine",
        "_typ", "_metadata",
    )
)  # fmt: skip
"""Attributes that pickle is told of in another way, or that are mere caches."""


def _is_of(*places: tuple[str, str]) -> Callable[[type], bool]:
    """A test whether a class derives from one of these classes, given as module and name."""

    def is_kind(cls: type) -> bool:
        bases = (getattr(sys.modules.get(module), name, None) for module, name in places)
        return any(base is not None and derives(cls, base) for base in bases)

    return is_kind


def _part(value: Any, context: RuleContext) -> Node:
    """An index, a column or the type of one: what it gives to pickle."""
    return _node(value, _without_caches(reduced(value)), context)


def _without_caches(given: object) -> object:
    """What was given to pickle, less what was worked out for earlier questions."""
    if type(given) is tuple:
        return tuple(_without_caches(part) for part in given if not _is_cache(part))
    if type(given) is dict:
        return {name: held for name, held in given.items() if name != "_cache"}
    return given


def _is_cache(given: object) -> bool:
    """Whether a dictionary holds nothing but a cache, and would not be there without it."""
    return type(given) is dict and [*given] == ["_cache"]


def _table(value: Any, context: RuleContext) -> Node:
    """A DataFrame or Series: what it gives to pickle, with its columns one by one."""
    said = value.__getstate__()
    try:
        manager = said.pop("_mgr")
        columns = {place: held for block in manager.blocks for place, held in _columns(block)}
        axes = list(manager.axes)
    except (AttributeError, KeyError, TypeError) as error:
        raise Refused(
            f"this pandas keeps its columns in a way that is not known ({error})"
        ) from error
    parts = (axes, [columns[place] for place in sorted(columns)], said)
    return _node(value, parts, context)


def _columns(block: Any) -> list[tuple[int, object]]:
    """The columns of a block, each with its number."""
    places, held = block.mgr_locs.as_array.tolist(), block.values
    if held.ndim == 1:
        return [(places[0], held)]
    return list(zip(places, held, strict=True))


def _node(value: object, content: object, context: RuleContext) -> Node:
    """What a value holds, and what somebody has set on it beside."""
    state = state_of(layout_of(type(value), object, {}), value)
    beside = {name: held for name, held in state.items() if name not in _OWN}
    return Node(b"pandas", (context.class_node(type(value)), content, beside), unlabelled)


KINDS: Final[tuple[Kind, ...]] = (
    (
        _is_of(
            ("pandas", "Index"),
            ("pandas.api.extensions", "ExtensionArray"),
            ("pandas.api.extensions", "ExtensionDtype"),
        ),
        _part,
    ),
    (_is_of(("pandas", "DataFrame"), ("pandas", "Series")), _table),
)
