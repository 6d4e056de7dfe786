"""Lowers subscripts: an element, a part of an array, or an item."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.types import WEAK_BOOL, WEAK_INT, is_scalar_value
from whorl.reads.view import AbsentRead
from whorl.signals import pass_on

from . import vectors
from .arithmetic import scalar_type
from .data_classes import is_instance
from .frame import Frame
from .joins import Apart, all_at_once, join, new_variable, settings
from .operands import (
    Access,
    ArrayOf,
    Elementwise,
    Items,
    Iteration,
    Known,
    Named,
    Operand,
    Value,
    Vec,
    ViewOperand,
    describe,
)
from .run_values import decide, is_scalar, number, resolve
from .sharing import copied

__all__ = ["array_part", "element_of", "fail_unless", "is_new_axis", "subscript", "transposed"]


def subscript(frame: Frame, node: ast.Subscript, owner: Operand, indices: list[Any]) -> Operand:
    """What an index leads to. A slice is a triple of operands or None."""
    if isinstance(owner, ViewOperand):
        if isinstance(owner.view.peek(), np.ndarray):
            owner = decide(owner)
        else:
            return _item_of_place(frame, node, owner, indices)
    match owner:
        case ArrayOf(array):
            return array_part(frame, node, array, spread(indices))
        case Elementwise():
            return _part_of_expression(frame, node, owner, spread(indices))
        case Vec():
            return vectors.part_of(frame, node, owner, spread(indices))
        case Items() if not is_instance(owner):
            return _item(frame, node, owner, indices)
        case Iteration():
            return _counted_item(frame, node, owner, indices)
        case Known(value):
            return _item_of_known(frame, node, value, indices)
        case Named(items):
            match indices:
                case [Known(str() as name)] if name in items:
                    return items[name]
            frame.refuse(node, f"this is none of the {describe(owner)}")
    frame.refuse(node, f"{describe(owner)} has no items")


def spread(indices: list[Any]) -> list[Any]:
    """Indices with tuples of indices written out."""
    indices_out: list[Any] = []
    for index in indices:
        match index:
            case Items(items) if not index.is_list:  # a list would choose several elements
                indices_out += spread(list(items))
            case Known(slice() as value):
                sides = (value.start, value.stop, value.step)
                indices_out.append(tuple(None if side is None else Known(side) for side in sides))
            case Known(value) if isinstance(value, tuple):
                indices_out += [Known(item) for item in value]
            case ViewOperand(view) if isinstance(view.peek(), tuple):
                indices_out += [index.then(view.item(i)) for i in range(view.len())]
            case _:
                indices_out.append(index)
    return indices_out


# -- items of tuples, lists and dicts ---------------------------------------------------


def _item_of_place(
    frame: Frame, node: ast.Subscript, owner: ViewOperand, indices: list[Any]
) -> Operand:
    value = owner.view.peek()
    key = _known_key(indices)
    if key is None:
        is_table = isinstance(value, tuple | list) and all(map(is_scalar_value, value))
        if is_table and owner.view.path.root != "arg":
            return _item_of_known(frame, node, owner.view.value(), indices)
        if isinstance(value, tuple | list) and len(indices) == 1 and is_scalar(indices[0]):
            count = owner.view.len()
            items: list[Operand] = [owner.then(owner.view.item(i)) for i in range(count)]
            return _item_of_run(frame, node, items, indices[0])
        frame.refuse(
            node,
            f"{describe(owner)} is indexed by a value of the run",
            "Make it a NumPy array, or index it by something known at compile time.",
        )
    if isinstance(key.value, slice):
        return _item_of_known(frame, node, owner.view.value(), indices)
    try:
        return owner.then(owner.view.item(key.value))
    except AbsentRead:
        frame.refuse(node, f"{owner.view.path} has no item {key.value!r}")


def _known_key(indices: list[Any]) -> Known | None:
    """The key, if it is known now."""
    keys = []
    for index in indices:
        sides = index if isinstance(index, tuple) else (index,)
        values = [None if side is None else _known_index(side) for side in sides]
        if any(value is _RUN for value in values):
            return None
        keys.append(slice(*values) if isinstance(index, tuple) else values[0])
    return Known(keys[0] if len(keys) == 1 else tuple(keys))


_RUN = object()


def _known_index(operand: Operand) -> Any:
    """The value of an index, or _RUN if only the run knows it."""
    if isinstance(operand, ViewOperand):
        operand = decide(operand)
    match operand:
        case Known(value):
            return value
        case Items(items):
            values = tuple(map(_known_index, items))
            return _RUN if any(value is _RUN for value in values) else values
    return _RUN


def _item(frame: Frame, node: ast.Subscript, owner: Items, indices: list[Any]) -> Operand:
    key = _known_key(indices)
    if key is None:
        if len(indices) == 1 and is_scalar(indices[0]):
            return _item_of_run(frame, node, list(owner.items), indices[0])
        frame.refuse(
            node,
            f"a slice of a {'list' if owner.is_list else 'tuple'} by values of the run",
            "Make it an array: np.array(...).",
        )
    try:
        item = owner.items[key.value]
    except (TypeError, IndexError, ValueError) as error:
        frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    return owner.with_items(item) if isinstance(item, tuple) else item


def _item_of_run(
    frame: Frame, node: ast.Subscript, items: list[Operand], index: Operand
) -> Operand:
    """An item by an index that only the run knows: all items are of one kind."""
    if not items:
        frame.refuse(node, "there are no items")
    operands = [resolve(item) for item in items]
    try:
        template = join(operands)
    except Apart as error:
        frame.refuse(
            node,
            f"items of different kinds are indexed by a value of the run: this {error}",
            "Index them by something that is known at compile time.",
        )
    variable = new_variable(template, "item")
    size = ir.Const(WEAK_INT, len(items))
    text = "index {0} is out of range, of size {2}"
    site = frame.check(node, "IndexError", text)
    expr = vectors.index_of(frame, node, index)
    place = frame.lowering.keep(ir.Op("wrap", WEAK_INT, (expr, size), site))
    written: list[ir.Block] = []
    for operand in operands:
        copied(frame, variable, operand, frame.names.values())
        written.append(all_at_once(settings(variable, operand)))
    block = written.pop()
    for count, these in reversed(list(enumerate(written))):
        is_it = ir.Op("eq", WEAK_BOOL, (place, ir.Const(WEAK_INT, count)))
        block = [ir.If(is_it, these, block)]
    frame.lowering.block.extend(block)
    return variable


def _counted_item(
    frame: Frame, node: ast.Subscript, owner: Iteration, indices: list[Any]
) -> Operand:
    """An item of a range or list whose length only the run knows."""
    is_indexed = owner.bounds is not None or owner.is_list or frame.source.caller is not None
    if not is_indexed or len(indices) != 1 or isinstance(indices[0], tuple):
        frame.refuse(node, f"{owner.words} is not indexed like this", "Write a loop over it.")
    text = f"index {{0}} is out of range of {owner.words}, of size {{2}}"
    site = frame.check(node, "IndexError", text)
    index = vectors.index_of(frame, node, indices[0])
    place = ir.Op("wrap", WEAK_INT, (index, owner.extents[0]), site)
    return owner.item((frame.lowering.keep(place),))


def _item_of_known(frame: Frame, node: ast.Subscript, value: Any, indices: list[Any]) -> Operand:
    key = _known_key(indices)
    if key is not None:
        try:
            return Known(value[key.value])
        except Exception as error:
            pass_on(error)
            frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    items = [Known(item) for item in value] if isinstance(value, tuple | list) else []
    if not items or not all(is_scalar_value(item.value) for item in items):
        frame.refuse(
            node,
            f"a {type(value).__name__} is indexed by a value of the run",
            "Make it a NumPy array, or a tuple of numbers.",
        )
    table = vectors.vector_of(frame, items)
    return vectors.part_of(frame, node, table, spread(indices))


# -- elements and parts of arrays -------------------------------------------------------


def element_of(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> ir.Element:
    """One element of an array."""
    exprs = tuple(vectors.index_of(frame, node, index) for index in indices)
    unsigned = tuple(
        is_scalar(index) and scalar_type(number(index)).kind == "u" for index in indices
    )
    site = -1
    if exprs:
        text = f"index {{}} is out of bounds for axis {{}} of {array.path or 'an array'}"
        site = frame.check(node, "IndexError", f"{text}, of size {{}}")
    return ir.Element(array, exprs, unsigned, site)


def _part_of_expression(
    frame: Frame, node: ast.AST, value: Elementwise, indices: list[Any]
) -> Operand:
    """An element of an expression, or a part of the array that it makes."""
    if len(indices) != value.ndim or not all(map(is_scalar, indices)):
        array = frame.lowering.syntax.stored(frame, node, value)
        return array_part(frame, node, array, indices)
    places = []
    for axis, (index, extent) in enumerate(zip(indices, value.extents, strict=True)):
        written = frame.lowering.keep(vectors.index_of(frame, node, index))
        place = frame.lowering.keep(wrapped(written, extent))
        site = frame.check(node, "IndexError", f"index {{}} is out of bounds for axis {axis}")
        fail_unless(frame, ir.Op("ult", WEAK_BOOL, (place, extent)), site, written)
        places.append(place)
    return Value(frame.lowering.keep(value.at(tuple(places), Access())))


def check_writeable(frame: Frame, node: ast.AST, array: ir.ArrayRef) -> None:
    """Refuse to write into an array that is read-only."""
    if not array.type.writeable:
        frame.refuse(
            node,
            f"{array.path or 'this array'} is read-only",
            "Pass a copy, or an array that may be written to; results of whorl.cached may not.",
        )


def array_part(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> Operand:
    """An element, or the part of an array that some indices leave."""
    own = [index for index in indices if not is_new_axis(index)]
    indices = _without_ellipsis(indices, array.type.ndim - len(own))
    own = [index for index in indices if not is_new_axis(index)]
    if len(own) > array.type.ndim:
        frame.refuse(
            node,
            f"{len(own)} indices for {array.path or 'an array'} of type {array.type}",
            f"It has {array.type.ndim} dimension{'s' * (array.type.ndim != 1)}.",
        )
    is_element = len(own) == array.type.ndim and not any(isinstance(i, tuple) for i in own)
    if is_element and len(own) == len(indices):
        return Value(element_of(frame, node, array, own))
    return ArrayOf(_slice(frame, node, array, indices))


def is_new_axis(index: Any) -> bool:
    """Whether an index is `None`, np.newaxis: it takes no axis of the array, and makes one."""
    if isinstance(index, ViewOperand) and index.view.peek() is None:
        index = decide(index)
    return isinstance(index, Known) and index.value is None


def _without_ellipsis(indices: list[Any], missing: int) -> list[Any]:
    for place, index in enumerate(indices):
        if isinstance(index, Known) and index.value is ...:
            everything = [(None, None, None)] * (missing + 1)
            return [*indices[:place], *everything, *indices[place + 1 :]]
    return indices


def _slice(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> ir.ArrayRef:
    """A part of an array, as NumPy would: a view of the same memory."""
    keep = frame.lowering.keep_large
    offset: ir.Expr = ir.ZERO
    extents: list[ir.Expr] = []
    strides_kept: list[ir.Expr] = []
    chosen: list[ir.Expr | None] = []
    own = sum(not is_new_axis(index) for index in indices)
    indices = indices + [(None, None, None)] * (array.type.ndim - own)
    rest = iter(zip(array.extents, map(keep, array.all_strides), strict=True))
    for axis, index in enumerate(indices):
        if is_new_axis(index):
            extents.append(ir.ONE)
            strides_kept.append(ir.ZERO)
            continue
        extent, stride = next(rest)
        if isinstance(index, tuple):
            begin, length, step = _bounds(frame, node, index, extent)
            extents.append(length)
            strides_kept.append(keep(_times(stride, step)))
            chosen.append(None)
        else:
            written = frame.lowering.keep(vectors.index_of(frame, node, index))
            begin = frame.lowering.keep(wrapped(written, extent))
            chosen.append(written)
            text = f"index {{}} is out of bounds for axis {axis} of {array.path or 'an array'}"
            inside = ir.Op("ult", WEAK_BOOL, (begin, extent))
            site = frame.check(node, "IndexError", f"{text}, of size {{}}")
            fail_unless(frame, inside, site, written, extent)
        offset = _plus(offset, _times(begin, stride))
    base = array.base
    if not _is_zero(offset):
        base = keep(ir.Op("offset", array.base.type, (array.base, offset)))
    layout = _layout_of_part(array.type.layout, indices)
    type = replace(array.type, ndim=len(extents), layout=layout)
    strides_left = tuple(strides_kept) if type.has_strides else None
    return ir.ArrayRef(
        type,
        base,
        tuple(extents),
        strides_left,
        array.path,
        (array, tuple(chosen)),
        array.owner,
    )


def fail_unless(frame: Frame, test: ir.Expr, site: int, *values: ir.Expr) -> None:
    """End the launch where a test does not hold, if there is a site: in debug."""
    if site >= 0:
        fail = ir.Raise(site, values)
        frame.lowering.emit(ir.If(ir.Op("not", WEAK_BOOL, (test,)), [fail], []))


def _layout_of_part(layout: str, indices: list[Any]) -> str:
    """Whether what is left lies without gaps."""

    if any(map(is_new_axis, indices)):
        return "strided"

    def is_whole(index: Any) -> bool:
        return isinstance(index, tuple) and all(part is None for part in index)

    def is_run(index: Any) -> bool:
        return isinstance(index, tuple) and index[2] is None

    ordered = indices if layout == "C" else indices[::-1]
    if layout not in ("C", "F"):
        return "strided"
    rest = list(ordered)
    while rest and not isinstance(rest[0], tuple):
        rest.pop(0)
    if not rest or (is_run(rest[0]) and all(map(is_whole, rest[1:]))):
        return layout
    return "strided"


def wrapped(index: ir.Expr, extent: ir.Expr) -> ir.Expr:
    """An index with negative ones counted from the end."""
    if isinstance(index, ir.Const):
        return index if index.value >= 0 else _plus(extent, index)
    is_negative = ir.Op("lt", WEAK_BOOL, (index, ir.ZERO))
    return ir.Op("select", WEAK_INT, (is_negative, _plus(index, extent), index))


def _bounds(
    frame: Frame, node: ast.AST, index: tuple[Any, ...], extent: ir.Expr
) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """Begin, length and step of a slice, clamped as Python does it."""
    keep = frame.lowering.keep
    lower, upper = (_slice_bound(frame, node, side) for side in index[:2])
    step = _slice_bound(frame, node, index[2]) or ir.ONE
    if step == ir.ZERO:
        frame.refuse(node, "the step of a slice is zero")
    if not isinstance(step, ir.Const):
        return _bounds_of_run(frame, node, lower, upper, keep(step), extent)
    first = 0 if lower is None else _constant(lower)
    last = 0 if upper is None else _constant(upper)
    is_up = int(step.value) > 0
    is_to_end = upper is None or (last is not None and last < 0)
    if step == ir.ONE and first is not None and first >= 0 and last is not None and is_to_end:
        # From the front to the end, or to so many before it.
        begin = _least(ir.Const(WEAK_INT, first), extent)
        if first == last:
            return begin, extent, step
        cut = ir.Const(WEAK_INT, first - last)
        return begin, _most(ir.Op("sub", WEAK_INT, (extent, cut)), ir.ZERO), step

    behind = extent if is_up else _plus(extent, ir.Const(WEAK_INT, -1))
    least = ir.ZERO if is_up else ir.Const(WEAK_INT, -1)

    def clamped(side: ir.Expr | None, default: ir.Expr) -> ir.Expr:
        if side is None:
            return default
        place = keep(wrapped(keep(side), extent))
        return keep(_least(_most(place, least), behind))

    if lower is None and upper is None:  # all, or every so many
        begin = ir.ZERO if is_up else _most(behind, ir.ZERO)
        length = extent
    else:
        begin = clamped(lower, ir.ZERO if is_up else behind)
        end = clamped(upper, extent if is_up else ir.Const(WEAK_INT, -1))
        length = ir.Op("sub", WEAK_INT, (end, begin) if is_up else (begin, end))
    size = abs(int(step.value))
    if size != 1:
        rounded = _plus(length, ir.Const(WEAK_INT, size - 1))
        length = ir.Op("floordiv", WEAK_INT, (rounded, ir.Const(WEAK_INT, size)))
    if lower is None and upper is None:
        return begin, length, step
    length = keep(_most(length, ir.ZERO))
    if step == ir.ONE and _is_of_one(lower, upper):
        length = ir.Op("min", WEAK_INT, (length, ir.ONE))
    # An empty part of an array begins inside of it, too.
    return keep(_most(begin, ir.ZERO)), length, step


def _is_of_one(lower: ir.Expr | None, upper: ir.Expr | None) -> bool:
    """Whether a slice takes one element at most, as the source says: `x[2:3]`, `x[k:k + 1]`."""
    match lower, upper:
        case (None, ir.Const(_, 1)) | (ir.Const(_, -1), None):
            return True
        case ir.Const(_, first), ir.Const(_, last):
            return last - first == 1 and (first >= 0 or last < 0)
        case _, ir.Op("add", args=(begin, ir.Const(_, 1))):
            return lower is not None and begin == lower
    return False


def _bounds_of_run(
    frame: Frame,
    node: ast.AST,
    lower: ir.Expr | None,
    upper: ir.Expr | None,
    step: ir.Expr,
    extent: ir.Expr,
) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """The same for a step that only the run knows."""
    keep = frame.lowering.keep
    site = frame.lowering.site("ValueError", "the step of a slice is zero", frame.line(node))
    frame.lowering.emit(ir.If(ir.Op("eq", WEAK_BOOL, (step, ir.ZERO)), [ir.Raise(site, ())], []))
    is_up = keep(ir.Op("gt", WEAK_BOOL, (step, ir.ZERO)))

    def either(up: ir.Expr, down: ir.Expr) -> ir.Expr:
        return keep(ir.Op("select", WEAK_INT, (is_up, up, down)))

    minus = ir.Const(WEAK_INT, -1)
    behind, least = either(extent, _plus(extent, minus)), either(ir.ZERO, minus)

    def clamped(side: ir.Expr | None, default: ir.Expr) -> ir.Expr:
        if side is None:
            return default
        return keep(_least(_most(keep(wrapped(keep(side), extent)), least), behind))

    begin = clamped(lower, either(ir.ZERO, behind))
    end = clamped(upper, either(extent, minus))
    span = either(
        ir.Op("sub", WEAK_INT, (end, begin)),
        ir.Op("sub", WEAK_INT, (begin, end)),
    )
    size = keep(ir.Op("abs", WEAK_INT, (step,)))
    rounded = _plus(span, _plus(size, minus))
    length = keep(_most(ir.Op("floordiv", WEAK_INT, (rounded, size)), ir.ZERO))
    return keep(_most(begin, ir.ZERO)), length, step


def _slice_bound(frame: Frame, node: ast.AST, operand: Operand | None) -> ir.Expr | None:
    """A bound or the step of a slice; None if it is not there, or None."""
    if operand is None or is_new_axis(operand):
        return None
    return vectors.index_of(frame, node, operand)


def _constant(expr: ir.Expr) -> int | None:
    return int(expr.value) if isinstance(expr, ir.Const) else None


def _least(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if isinstance(left, ir.Const) and left.value == 0:
        return left
    return ir.Op("min", WEAK_INT, (left, right))


def _most(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Op("max", WEAK_INT, (left, right))


def transposed(array: ir.ArrayRef) -> ir.ArrayRef:
    """The array with its axes in reverse."""
    layout = {"C": "F", "F": "C"}.get(array.type.layout, "strided")
    if array.type.ndim < 2:
        layout = array.type.layout
    strides = None if array.strides is None else array.strides[::-1]
    type = replace(array.type, layout=layout)
    return ir.ArrayRef(
        type, array.base, array.extents[::-1], strides, array.path, owner=array.owner
    )


def _is_zero(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.value == 0


def _plus(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if _is_zero(left):
        return right
    if _is_zero(right):
        return left
    return ir.Op("add", WEAK_INT, (left, right))


def _times(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, ir.Const) and one.value == 1:
            return other
        if _is_zero(one):
            return ir.ZERO
    return ir.Op("mul", WEAK_INT, (left, right))
