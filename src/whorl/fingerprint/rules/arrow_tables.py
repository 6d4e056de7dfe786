"""Tables, columns and scalars of Arrow: by schema and values.

How a column is divided into chunks, and where a slice begins in memory, make no difference.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from ..tokens import Node, unlabelled
from .rule import Kind, RuleContext, derives_from

__all__ = ["KINDS"]


def _table(value: Any, context: RuleContext) -> Node:
    """A table or a batch of records; the metadata of its schema counts."""
    columns = [_column(column) for column in value.columns]
    parts = (context.class_node(type(value)), _bytes(value.schema.serialize()), len(value), columns)
    return Node(b"arrow table", parts, unlabelled)


def _array(value: Any, context: RuleContext) -> Node:
    return Node(b"arrow array", (context.class_node(type(value)), _column(value)), unlabelled)


def _scalar(value: Any, context: RuleContext) -> Node:
    arrow: Any = sys.modules["pyarrow"]
    content = _column(arrow.array([value.as_py()], value.type))
    return Node(b"arrow scalar", (context.class_node(type(value)), content), unlabelled)


def _schema(value: Any, context: RuleContext) -> Node:
    parts = (context.class_node(type(value)), _bytes(value.serialize()))
    return Node(b"arrow schema", parts, unlabelled)


def _column(column: Any) -> tuple[object, ...]:
    """The type of a column, its length and its values."""
    if hasattr(column, "combine_chunks"):
        chunks = column.chunks
        column = chunks[0] if len(chunks) == 1 else column.combine_chunks()
        if hasattr(column, "combine_chunks"):  # too large for one array, or without any
            column = column.chunks
            return "in chunks", len(column), [_column(chunk) for chunk in column]
    return str(column.type), len(column), _values(column)


def _values(column: Any) -> object:
    """The values of an array, by its memory where that is simple."""
    arrow: Any = sys.modules["pyarrow"]
    kind, types = column.type, arrow.types
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind)
    if not column.null_count and is_number and not types.is_interval(kind):
        numbers = np.frombuffer(column.buffers()[1] or b"", f"i{kind.bit_width // 8}")
        return numbers[column.offset : column.offset + len(column)]
    sink = arrow.BufferOutputStream()
    batch = arrow.record_batch([column], ["column"])
    with arrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return _bytes(sink.getvalue())


def _bytes(buffer: Any) -> object:
    return np.frombuffer(buffer, np.uint8)


KINDS: Final[tuple[Kind, ...]] = (
    (lambda cls: derives_from(cls, "pyarrow", "Table", "RecordBatch"), _table),
    (lambda cls: derives_from(cls, "pyarrow", "Array", "ChunkedArray"), _array),
    (lambda cls: derives_from(cls, "pyarrow", "Scalar"), _scalar),
    (lambda cls: derives_from(cls, "pyarrow", "Schema"), _schema),
)
