"""Variables, arrays and datasets of xarray: dimensions, values, coordinates and attributes.

What xarray has looked up or loaded before makes no difference. Values that are still in a file are
read for the digest.
"""

from __future__ import annotations

from typing import Any, Final

from ..tokens import Node, unlabelled
from .rule import Kind, RuleContext, derives_from

__all__ = ["KINDS"]


def _variable(value: Any, context: RuleContext) -> Node:
    return _node(value, _parts(value), context)


def _array(value: Any, context: RuleContext) -> Node:
    return _node(value, (value.name, _parts(value.variable), _coordinates(value)), context)


def _dataset(value: Any, context: RuleContext) -> Node:
    variables = [(name, _parts(value.variables[name])) for name in value.data_vars]
    parts = (variables, _coordinates(value), dict(value.attrs), dict(value.encoding))
    return _node(value, parts, context)


def _parts(variable: Any) -> tuple[object, ...]:
    """A variable: dimensions, values, attributes, and how it is to be written to files."""
    return variable.dims, variable.data, dict(variable.attrs), dict(variable.encoding)


def _coordinates(value: Any) -> list[object]:
    """The coordinates in their order, each with the class of its index."""
    indexes = value.xindexes
    return [
        (name, _parts(value.coords[name].variable), _index_name(indexes.get(name)))
        for name in value.coords
    ]


def _index_name(index: object) -> str | None:
    return None if index is None else f"{type(index).__module__}.{type(index).__qualname__}"


def _node(value: object, parts: object, context: RuleContext) -> Node:
    return Node(b"xarray", (context.class_node(type(value)), parts), unlabelled)


KINDS: Final[tuple[Kind, ...]] = (
    (lambda cls: derives_from(cls, "xarray", "Dataset"), _dataset),
    (lambda cls: derives_from(cls, "xarray", "DataArray"), _array),
    (lambda cls: derives_from(cls, "xarray", "Variable"), _variable),
)
