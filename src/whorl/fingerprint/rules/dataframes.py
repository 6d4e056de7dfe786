"""Tables, indices and columns of pandas: their labels, columns and attributes.

Nothing here imports pandas. Internal data of pandas does not count: its own numbers, its caches,
and which columns are neighbours in memory.
"""

from __future__ import annotations

from typing import Any, Final

from ..layout import layout_of, state_of
from ..refusal import Refused
from ..tokens import Node, unlabelled
from .reduction import reduced
from .rule import Kind, RuleContext, derives_from

__all__ = ["KINDS"]

_OWN: Final = frozenset(
    (
        "_mgr", "_attrs", "_flags", "_item_cache", "_is_copy", "_cacher", "_name", "_names", "_id",
        "_cache", "_references", "_data", "_range", "_levels", "_codes", "_sortorder", "_engine",
        "_typ", "_metadata",
    )
)  # fmt: skip
"""Attributes that are in the pickled state in another form, or that are caches."""


def _part(value: Any, context: RuleContext) -> Node:
    """An index, a column or the type of one, by its pickled state."""
    return _node(value, _without_caches(reduced(value)), context)


def _without_caches(state: object) -> object:
    """The pickled state without caches."""
    if type(state) is tuple:
        return tuple(_without_caches(part) for part in state if not _is_cache(part))
    if type(state) is dict:
        return {name: part for name, part in state.items() if name != "_cache"}
    return state


def _is_cache(state: object) -> bool:
    """Whether this is a dictionary with nothing but a cache in it."""
    return type(state) is dict and [*state] == ["_cache"]


def _table(value: Any, context: RuleContext) -> Node:
    """A DataFrame or Series by its pickled state, with its columns one by one."""
    state = value.__getstate__()
    try:
        manager = state.pop("_mgr")
        columns = {place: column for block in manager.blocks for place, column in _columns(block)}
        axes = list(manager.axes)
    except (AttributeError, KeyError, TypeError) as error:
        raise Refused(f"the columns of this version of pandas cannot be read ({error})") from error
    parts = (axes, [columns[place] for place in sorted(columns)], state)
    return _node(value, parts, context)


def _columns(block: Any) -> list[tuple[int, object]]:
    """The columns of a block, each with its number."""
    places, values = block.mgr_locs.as_array.tolist(), block.values
    if values.ndim == 1:
        return [(places[0], values)]
    return list(zip(places, values, strict=True))


def _node(value: object, content: object, context: RuleContext) -> Node:
    """The content of a value, and other attributes that are set on it."""
    state = state_of(layout_of(type(value), object, {}), value)
    beside = {name: part for name, part in state.items() if name not in _OWN}
    return Node(b"pandas", (context.class_node(type(value)), content, beside), unlabelled)


KINDS: Final[tuple[Kind, ...]] = (
    (
        lambda cls: (
            derives_from(cls, "pandas", "Index")
            or derives_from(cls, "pandas.api.extensions", "ExtensionArray", "ExtensionDtype")
        ),
        _part,
    ),
    (lambda cls: derives_from(cls, "pandas", "DataFrame", "Series"), _table),
)
