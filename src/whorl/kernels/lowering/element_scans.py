"""Walks over elements in their order: places of extremes, running sums, Python's `sum`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import test
from whorl.kernels.types import BOOL, I64, promote

from .arithmetic import binary, cast, compare, constant, scalar_type
from .array_creation import element_type
from .array_expressions import by_rule, expression_of
from .array_memory import new_array
from .array_shapes import SHAPE_METHODS
from .array_statements import loop_nest
from .frame import Frame
from .known_calls import Given, KnownCall
from .operands import Access, ArrayOf, Operand, Value
from .reductions import Reduction, axes_of, check_not_empty, converted, for_each

__all__ = ["place_of_extreme", "running_reduction", "sum_in_order"]

Indices = tuple[ir.Expr, ...]


def place_of_extreme(is_max: bool, call: KnownCall, given: Given) -> Operand:
    """`argmin`, `argmax`: where the first of the least or largest elements is; NaN comes first."""
    operand = given["a"]
    assert operand is not None
    frame, lowering = call.frame, call.frame.lowering
    keepdims = given["keepdims"] is not None and bool(call.known_value(given["keepdims"]))
    name = "argmax" if is_max else "argmin"
    value = expression_of(frame, operand)
    axes = axes_of(call, given["axis"], value.ndim)
    value = replace(value, extents=tuple(map(lowering.keep, value.extents)))

    def is_better(element: ir.Expr, best: ir.Expr) -> ir.Expr:
        if scalar_type(element).kind == "b":
            element, best = cast(element, I64), cast(best, I64)
        better = compare("gt" if is_max else "lt", element, best)
        if not scalar_type(element).is_float:
            return better
        is_nan, was_nan = (ir.Op("isnan", BOOL, (each,)) for each in (element, best))
        return ir.Op("and", BOOL, (
            ir.Op("not", BOOL, (was_nan,)), ir.Op("or", BOOL, (is_nan, better))
        ))  # fmt: skip

    def search(extents: Sequence[ir.Expr], at: Callable[[Indices, Access], ir.Expr]) -> ir.Expr:
        best, where = ir.Local("best", value.element), ir.Local("where", I64)
        now = ir.Local("now", I64)
        lowering.emit(ir.Set(best, at(tuple(ir.ZERO for _ in extents), Access())))
        lowering.emit(ir.Set(where, constant(0, I64)))
        lowering.emit(ir.Set(now, constant(0, I64)))

        def body(indices: Indices, access: Access) -> None:
            element = lowering.keep(at(indices, access))
            better: ir.Block = [ir.Set(best, element), ir.Set(where, ir.Get(now))]
            lowering.emit(ir.If(is_better(element, ir.Get(best)), better, []))
            lowering.emit(ir.Set(now, binary("add", ir.Get(now), constant(1, I64))))

        for_each(frame, value, extents, body)
        return ir.Get(where)

    if axes is None:
        check_not_empty(frame, call.node, value.extents, name)
        where = Value(search(value.extents, value.at))
        return shaped(frame, where, (ir.ONE,) * value.ndim) if keepdims else where
    (axis,) = axes
    check_not_empty(frame, call.node, [value.extents[axis]], name)
    kept = [extent for i, extent in enumerate(value.extents) if i != axis]
    result = new_array(frame, call.node, I64, kept, name)

    def each(indices: Indices) -> None:
        def at(place: Indices, access: Access) -> ir.Expr:
            return value.at((*indices[:axis], *place, *indices[axis:]), access)

        where = search([value.extents[axis]], at)
        element = ir.Element(result, indices, (True,) * len(indices))
        lowering.emit(ir.SetElement(element, where))

    loop_nest(frame, kept, each)
    if keepdims:
        extents = (*result.extents[:axis], ir.ONE, *result.extents[axis:])
        type = replace(result.type, ndim=len(extents))
        return ArrayOf(ir.ArrayRef(type, result.base, extents, None, name, owner=result.owner))
    if not kept:
        return Value(ir.Element(result, (), ()))
    return ArrayOf(result)


def shaped(frame: Frame, number: Value, extents: tuple[ir.Expr, ...]) -> Operand:
    """A number as an array of one element."""
    kept = frame.lowering.keep(number.expr)
    return by_rule(number.type, extents, lambda indices: kept)


def running_reduction(how: Reduction, call: KnownCall, given: Given) -> Operand:
    """`cumsum`, `cumprod`."""
    operand = given["a"]
    assert operand is not None
    frame, lowering = call.frame, call.frame.lowering
    value = expression_of(frame, operand)
    type = element_type(call, given["dtype"]) or how.result(value.element.strong)
    axes = axes_of(call, given["axis"], value.ndim)
    if axes is None and value.ndim != 1:  # in the order of all elements
        ravel = SHAPE_METHODS["ravel"]
        value = expression_of(frame, ravel(replace(call, args=[operand], named={})))
    (axis,) = axes or (0,)
    value = converted(value, type)
    value = replace(value, extents=tuple(map(lowering.keep, value.extents)))
    result = new_array(frame, call.node, type, value.extents, how.name)

    def body(indices: Indices, access: Access) -> None:
        here = ir.Element(result, indices, (True,) * len(indices))
        before = tuple(
            binary("sub", index, ir.ONE) if i == axis else index for i, index in enumerate(indices)
        )
        last = ir.Element(result, before, (True,) * len(before))
        element = lowering.keep(value.at(indices, access))
        is_first = test("eq", indices[axis], ir.ZERO)
        more = ir.SetElement(here, how.combine(last, element))
        lowering.emit(ir.If(is_first, [ir.SetElement(here, element)], [more]))

    for_each(frame, value, value.extents, body)
    return ArrayOf(result)


def sum_in_order(call: KnownCall, operand: Operand, start: ir.Expr) -> Operand:
    """Python's `sum` of an array with one dimension: from left to right."""
    frame, lowering = call.frame, call.frame.lowering
    value = expression_of(frame, operand)
    if value.ndim != 1:
        call.refuse("sum of an array with several dimensions", "Write np.sum(..., axis=0).")
    type = promote(scalar_type(start), value.element)
    result = ir.Local("sum", type)
    lowering.emit(ir.Set(result, cast(start, type)))

    def body(indices: Indices, access: Access) -> None:
        element = cast(value.at(indices, access), type)
        lowering.emit(ir.Set(result, binary("add", ir.Get(result), element)))

    for_each(frame, value, value.extents, body)
    return Value(ir.Get(result))
