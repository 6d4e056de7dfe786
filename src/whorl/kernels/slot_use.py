"""A program in, the arrays of which it uses nothing but the address out.

A launch does not look up the extents and strides of these, and leaves their words as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import ir
from .types import ArrayType
from .walk import expressions_of, parts_of, statements_in

__all__ = ["lean_slots"]


def lean_slots(function: ir.Function) -> tuple[int, ...]:
    """The numbers of the slots whose extents and strides are not used."""
    blocks = [*function.blocks, *(block for _, block in function.resumed)]
    waiting = [
        expression
        for block in blocks
        for statement in statements_in(block)
        for expression in expressions_of(statement)
    ]
    used: set[int] = set()
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, ir.Extent | ir.Stride):
            used.add(expression.slot.index)
        waiting += _used(expression) if isinstance(expression, ir.Element) else parts_of(expression)
    return tuple(
        slot.index
        for slot in function.slots
        if isinstance(slot.type, ArrayType) and slot.index not in used
    )


def _used(element: ir.Element) -> Iterator[ir.Expr]:
    """What the address of an element is computed of: see `emit.writer.Writer.address`."""
    array, indices = element.array, element.indices
    yield array.base
    yield from indices
    if not indices:
        return
    yield from array.strides or ()
    innermost = 0 if array.strides is None and array.type.layout == "C" else len(indices) - 1
    for axis, (index, extent) in enumerate(zip(indices, array.extents, strict=True)):
        is_scaled = array.strides is None and axis != innermost
        is_wrapped = not element.direct[axis] and not _is_from_start(index)
        if is_scaled or is_wrapped or element.site >= 0:
            yield extent


def _is_from_start(index: ir.Expr) -> bool:
    return isinstance(index, ir.Const) and index.value >= 0
