"""Tables and columns of polars: by names, dtypes and values.

How a column is divided into chunks, whether polars knows that it is sorted, and what memory holds
where a value is missing make no difference.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from ..refusal import Refused
from ..tokens import Node, unlabelled
from .rule import Kind, RuleContext, derives_from

__all__ = ["KINDS"]


def _table(value: Any, context: RuleContext) -> Node:
    columns = [(column.name, _column(column)) for column in value.get_columns()]
    parts = (context.class_node(type(value)), value.height, columns)
    return Node(b"polars table", parts, unlabelled)


def _series(value: Any, context: RuleContext) -> Node:
    parts = (context.class_node(type(value)), value.name, _column(value))
    return Node(b"polars series", parts, unlabelled)


def _column(column: Any) -> tuple[object, ...]:
    """The dtype of a column, which values are missing, and the other ones."""
    missing = None
    if column.null_count():
        missing = column.is_null().to_numpy()
        column = column.drop_nulls()
    return repr(column.dtype), len(column), missing, _values(column)


def _values(column: Any) -> object:
    """The values of a column in which none is missing."""
    polars: Any = sys.modules["polars"]
    dtype = column.dtype
    if (dtype.is_numeric() and not dtype.is_decimal()) or dtype == polars.Boolean:
        return column.to_numpy()
    if dtype.is_temporal():
        return column.to_physical().to_numpy()
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        texts = column.cast(polars.String)
        return texts.str.len_bytes().to_numpy(), texts.str.join("").item() if len(texts) else ""
    if isinstance(dtype, polars.Struct):
        return [_column(column.struct.field(field.name)) for field in dtype.fields]
    if isinstance(dtype, polars.List):
        lengths = column.list.len()
        return lengths.to_numpy(), _column(column.filter(lengths > 0).explode())
    if isinstance(dtype, polars.Array) and 0 not in dtype.shape:
        return _column(column.explode())
    return column.to_list()


def _query(value: Any, context: RuleContext) -> Node:
    raise Refused(
        "it is a query: what it gives depends on files and functions that it names",
        "Pass the table that it gives (`.collect()`).",
    )


KINDS: Final[tuple[Kind, ...]] = (
    (lambda cls: derives_from(cls, "polars", "DataFrame"), _table),
    (lambda cls: derives_from(cls, "polars", "Series"), _series),
    (lambda cls: derives_from(cls, "polars", "LazyFrame"), _query),
)
