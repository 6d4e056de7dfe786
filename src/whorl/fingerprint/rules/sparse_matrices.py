"""Sparse matrices and arrays of SciPy: their state, without what SciPy has found out about it."""

from __future__ import annotations

from typing import Any, Final

from ..layout import layout_of, state_of
from ..static_lookup import derives
from ..tokens import Node, unlabelled
from .rule import Kind, RuleContext, derives_from

__all__ = ["KINDS"]

_CACHES: Final = frozenset(
    ("_has_sorted_indices", "_has_canonical_format", "has_canonical_format", "maxprint")
)
"""Attributes that follow from the indices once SciPy has looked at them, and how many to print."""


def _matrix(value: Any, context: RuleContext) -> Node:
    cls = type(value)
    state = state_of(layout_of(cls, object, {}), value)
    content = {name: part for name, part in state.items() if name not in _CACHES}
    if derives(cls, dict):  # a matrix by keys, whose items are in itself or in an attribute
        content["_dict"] = dict(value.items())
    return Node(b"sparse", (context.class_node(cls), content), unlabelled)


KINDS: Final[tuple[Kind, ...]] = (
    (lambda cls: derives_from(cls, "scipy.sparse", "sparray", "spmatrix"), _matrix),
)
