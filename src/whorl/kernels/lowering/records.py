"""Records: arrays of NumPy's structured dtypes, of which a kernel reads and sets fields.

`p[i].x`, `p["x"][i]` and `p[i]["x"]` are the same: a field is an array with the strides of the
records, which begins a little later.
"""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.types import POINTER, WEAK_INT, ArrayType, scalar_of_dtype

from . import vectors
from .frame import Frame
from .operands import ArrayOf, Known, Operand, Records, Value, ViewOperand, describe
from .run_values import is_scalar, resolve
from .subscripts import array_part, spread, subscript

__all__ = ["RECORD_ATTRIBUTES", "as_records", "field_of", "fields_of", "item_of", "record_at"]

RECORD_ATTRIBUTES: Final = ("shape", "size", "ndim", "dtype")


def as_records(operand: Operand) -> Records | None:
    """An operand that is an array of records, or one of them; None for all others."""
    operand = resolve(operand)
    return operand if isinstance(operand, Records) else None


def fields_of(records: Records) -> dict[str, Any]:
    """The fields by name: dtype and offset."""
    return {name: records.dtype.fields[name] for name in records.dtype.names}


def field_of(frame: Frame, node: ast.AST, records: Records, name: str) -> Operand:
    """A field: of an array an array, of one record what is in it."""
    fields = fields_of(records)
    if name not in fields:
        frame.refuse(
            node,
            f"{describe(records)} has no field {name!r}",
            f"It has {', '.join(map(repr, fields))}.",
        )
    dtype, offset, *_ = fields[name]
    array = records.array
    inner, shape = dtype.subdtype or (dtype, ())
    extents = tuple(ir.Const(WEAK_INT, extent) for extent in shape)
    steps = [inner.itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    strides = tuple(ir.Const(WEAK_INT, step) for step in steps)
    base = array.base
    if offset:
        base = ir.Op("offset", POINTER, (base, ir.Const(WEAK_INT, offset)))
    element = None if inner.names else scalar_of_dtype(inner)
    if element is None and not inner.names:
        frame.refuse(
            node,
            f"the field {name!r} of {describe(records)} is of {inner}",
            "Fields of a kernel hold numbers and bools in native byte order, and records of these.",
        )
    type = ArrayType(
        element or array.type.element,
        array.type.ndim + len(shape),
        "strided",
        array.type.writeable,
        alignment=_alignment(records, inner, offset),
    )
    place = ir.ArrayRef(
        type,
        base,
        (*array.extents, *extents),
        (*array.all_strides, *strides),
        f"{array.path}.{name}",
        owner=array.owner,
    )
    if inner.names and not (shape and records.indices):
        return Records(place, inner, records.indices)
    if inner.names:  # several records in one
        part = array_part(frame, node, place, list(records.indices))
        assert isinstance(part, ArrayOf)
        return Records(part.array, inner)
    if records.indices or not place.type.ndim:
        return array_part(frame, node, place, list(records.indices))
    return ArrayOf(place)


def _alignment(records: Records, inner: Any, offset: int) -> str:
    """Whether each such field lies where the processor likes to have it."""
    size = inner.alignment if inner.names else np.dtype(inner.str).alignment
    outer, before = records.dtype, records.array.type.alignment
    is_multiple = offset % size == 0 and outer.itemsize % size == 0
    if before == "none" or not is_multiple:
        return "none"
    is_sure = outer.alignment % size == 0 or inner.names
    return "sure" if is_sure and before == "sure" else "likely"


def item_of(frame: Frame, node: ast.Subscript, owner: Operand, indices: list[Any]) -> Operand:
    """What an index leads to, of records and of all else."""
    if isinstance(owner, ViewOperand | Records):
        records = as_records(owner)
        if records is not None:
            return _part_of_records(frame, node, records, indices)
    return subscript(frame, node, owner, indices)


def _part_of_records(frame: Frame, node: ast.AST, records: Records, indices: list[Any]) -> Operand:
    """A field, one record, or a part of the array."""
    indices = spread(indices)
    match indices:
        case [Known(str() as name)]:
            return field_of(frame, node, records, name)
    if records.indices or not records.array.type.ndim:
        frame.refuse(node, f"{describe(records)} is indexed by the names of its fields")
    for index in indices:
        if not isinstance(index, tuple) and not is_scalar(index) and not _is_plain(index):
            frame.refuse(
                node,
                f"records are selected by ints and slices, not by {describe(index)}",
                "Select from a field: p['x'][mask].",
            )
    if len(indices) == records.array.type.ndim and all(map(is_scalar, indices)):
        keep = frame.lowering.keep
        places = [Value(keep(vectors.index_of(frame, node, index))) for index in indices]
        return replace(records, indices=tuple(places))
    part = array_part(frame, node, records.array, indices)
    assert isinstance(part, ArrayOf)
    return replace(records, array=part.array)


def _is_plain(index: Any) -> bool:
    return isinstance(index, Known) and (index.value is None or index.value is ...)


def record_at(records: Records, index: ir.Expr) -> Records:
    """A record of a one-dimensional array."""
    return replace(records, indices=(Value(index),))
