"""Reductions of arrays and expressions, of all elements or along axes: sums, extremes, tests.

A sum of floats is pairwise, see `pairwise_sums`. Along an axis that is not the last one rows are
added to rows, as NumPy does it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from whorl.fast_dataclasses import dataclass, replace
from whorl.kernels import ir
from whorl.kernels.overlap import every, test, total
from whorl.kernels.types import BOOL, I64, WEAK_INT, Scalar

from .arithmetic import binary, cast, constant, scalar_type, truth
from .array_expressions import (
    elementwise,
    is_array,
    raise_if,
    source_text,
    stretched_places,
    turned,
)
from .array_memory import new_array
from .array_statements import loop_nest
from .complex_functions import complex_extreme
from .frame import Frame
from .known_calls import KnownCall
from .operands import Access, ArrayOf, Elementwise, Known, Operand, Value
from .pairwise_sums import Cascade, add_row, count_from, sum_by_chunks
from .subscripts import transposed

__all__ = [
    "ALL",
    "ANY",
    "LEAST",
    "MOST",
    "PRODUCT",
    "SUM",
    "Reduction",
    "axes_of",
    "check_not_empty",
    "converted",
    "each_element",
    "for_each",
    "neutral",
    "reduce_all",
    "reduced",
]

Indices = tuple[ir.Expr, ...]
_COLUMNS: Final = 512  # of a strip in which one thread adds rows to rows


@dataclass(frozen=True, slots=True)
class Reduction:
    """How the elements of an array become one."""

    name: str
    combine: Callable[[ir.Expr, ir.Expr], ir.Expr]
    first: float | None  # what it begins with; None: with the first element, which has to exist
    result: Callable[[Scalar], Scalar]


def _wide(element: Scalar) -> Scalar:
    """The type of sums and products: small integers are added as large ones."""
    if element.kind in "bi":
        return I64
    return Scalar("u", 64) if element.kind == "u" else element


def _extreme(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    type = scalar_type(left)
    if type.kind == "b":
        return ir.Op({"min": "and", "max": "or"}[name], type, (left, right))
    if type.is_complex:
        return complex_extreme(name, left, right)
    return ir.Op(f"f{name}" if type.is_float else name, type, (left, right))


SUM: Final = Reduction("sum", partial(binary, "add"), 0, _wide)
PRODUCT: Final = Reduction("prod", partial(binary, "mul"), 1, _wide)
LEAST: Final = Reduction("min", partial(_extreme, "min"), None, lambda element: element)
MOST: Final = Reduction("max", partial(_extreme, "max"), None, lambda element: element)
ANY: Final = Reduction("any", lambda a, b: ir.Op("or", BOOL, (a, b)), 0, lambda element: BOOL)
ALL: Final = Reduction("all", lambda a, b: ir.Op("and", BOOL, (a, b)), 1, lambda element: BOOL)


def neutral(how: Reduction, type: Scalar) -> float:
    """What changes no extreme: the lowest number of a type under `max`, the highest under `min`."""
    is_least = how.name == "min"
    if type.is_inexact:
        return float("inf" if is_least else "-inf")
    if type.kind == "b":
        return int(is_least)
    limits = np.iinfo(type.dtype)
    return int(limits.max if is_least else limits.min)


# -- one number of all elements ---------------------------------------------------------


def for_each(
    frame: Frame,
    value: Elementwise,
    extents: Sequence[ir.Expr],
    body: Callable[[Indices, Access], None],
    scope: int = 0,
    *,
    is_free: bool = False,
    reductions: tuple[ir.Reduction, ...] = (),
) -> None:
    """Loops over indices: with and without stretched axes, where that is left to the run."""
    lowering = frame.lowering

    def nest(access: Access) -> ir.Block:
        block: ir.Block = []
        with lowering.writing(block):
            if access.is_broadcast:
                stretched = stretched_places(frame, {each: each for each in value.arrays})
                access = replace(access, stretched=stretched)
            loop_nest(
                frame,
                extents,
                lambda indices: body(indices, access),
                is_free=is_free,
                is_rare=access.is_broadcast,
                reductions=reductions,
            )
        return block

    fast = nest(Access(is_broadcast=False, scope=scope))
    if value.conditions:
        slow = nest(Access(is_broadcast=True, scope=scope))
        lowering.emit(ir.If(every(value.conditions), fast, slow))
    else:
        lowering.block.extend(fast)


def converted(value: Elementwise, type: Scalar) -> Elementwise:
    """An expression whose elements are of another type."""
    inner = value.at

    def at(indices: Indices, access: Access) -> ir.Expr:
        element = inner(indices, access)
        return cast(truth(element) if type.kind == "b" else element, type)

    return replace(value, element=type, at=at)


def _flat(value: Elementwise, operand: Operand) -> Elementwise:
    """An array that lies in order, as one axis."""
    if isinstance(operand, ArrayOf) and operand.array.type.layout in ("C", "F"):
        array = operand.array
        size = total((ir.ONE, *array.extents), "mul")
        type = replace(array.type, ndim=1, layout="C")
        flat = ir.ArrayRef(type, array.base, (size,), None, array.path, owner=array.owner)

        def at(indices: Indices, access: Access) -> ir.Expr:
            return ir.Element(flat, indices[-1:], (True,))

        return Elementwise(type.element, (size,), at, (flat,))
    return value


def reduce_all(frame: Frame, node: ast.AST, value: Elementwise, how: Reduction) -> ir.Expr:
    """What all elements become together."""
    lowering, type = frame.lowering, value.element
    value = replace(value, extents=tuple(map(lowering.keep, value.extents)))
    if how is SUM and type.is_inexact:
        return _sum_all(frame, node, value)
    result = ir.Local(how.name, type)
    if how.first is None:
        check_not_empty(frame, node, value.extents, how.name)
        begin = value.at(tuple(ir.ZERO for _ in value.extents), Access())
        lowering.emit(ir.Set(result, begin))
    else:
        lowering.emit(ir.Set(result, constant(how.first, type)))

    def body(indices: Indices, access: Access) -> None:
        element = lowering.keep(value.at(indices, access))
        lowering.emit(ir.Set(result, how.combine(ir.Get(result), element)))

    part_name = _PARTS.get(how.name)
    # Complex numbers have no order; what has no name is done by one thread.
    is_free = part_name is not None and (not type.is_complex or how.first is not None)
    if how.name in ("min", "max") and type.is_float:
        part_name = f"f{part_name}"
    parts = () if part_name is None else (ir.Reduction(part_name, result),)
    for_each(frame, value, value.extents, body, is_free=is_free, reductions=parts)
    return ir.Get(result)


_PARTS: Final = {
    "sum": "add", "prod": "mul", "min": "min", "max": "max", "any": "max", "all": "min",
}  # fmt: skip
"""How the results of several threads become one, by the name of a reduction."""


def check_not_empty(frame: Frame, node: ast.AST, extents: Sequence[ir.Expr], name: str) -> None:
    """End the launch where there is no element to begin with."""
    run = [extent for extent in extents if not isinstance(extent, ir.Const) or extent.value == 0]
    if run:
        is_empty = every([test("eq", extent, ir.ZERO) for extent in run], "or")
        text = f"an array without elements has no {name} in {source_text(frame, node)}"
        raise_if(frame, node, is_empty, "ValueError", text)


def _sum_all(frame: Frame, node: ast.AST, value: Elementwise) -> ir.Expr:
    if frame.lowering.function.parallel and not frame.lowering.parallel_depth:
        return _sum_in_parallel(frame, node, value)
    cascade = Cascade(frame, value.element)

    def body(indices: Indices, access: Access) -> None:
        add_row(frame, value.extents[-1], lambda i: value.at((*indices, i), access), cascade)

    for_each(frame, value, value.extents[:-1], body)
    return cascade.total()


def _sum_in_parallel(frame: Frame, node: ast.AST, value: Elementwise) -> ir.Expr:
    lowering = frame.lowering
    result = ir.Local("sum", value.element)

    def by_chunks(access: Access) -> ir.Block:
        block: ir.Block = []
        with lowering.writing(block):
            chunks = sum_by_chunks(
                frame, node, value.element, value.extents, lambda indices: value.at(indices, access)
            )
            lowering.emit(ir.Set(result, chunks))
        return block

    fast = by_chunks(Access(is_broadcast=False))
    if value.conditions:
        lowering.emit(ir.If(every(value.conditions), fast, by_chunks(Access())))
    else:
        lowering.block.extend(fast)
    return ir.Get(result)


# -- along axes -------------------------------------------------------------------------


def axes_of(call: KnownCall, operand: Operand | None, ndim: int) -> tuple[int, ...] | None:
    """The axes that are reduced; None for all."""
    if operand is None or (isinstance(operand, Known) and operand.value is None):
        return None
    axes = call.known_value(operand)
    axes = axes if isinstance(axes, tuple) else (axes,)
    for axis in axes:
        if not isinstance(axis, int | np.integer) or not -ndim <= axis < ndim:
            call.refuse(f"there is no axis {axis!r} of an array with {ndim} dimensions")
    return tuple(sorted({axis % ndim for axis in axes}))


def _reduce_axes(
    frame: Frame, node: ast.AST, value: Elementwise, how: Reduction, axes: tuple[int, ...]
) -> ir.ArrayRef:
    """An array of what the elements along some axes become; these have the length 1 in it."""
    if value.ndim > 1 and value.arrays and all(a.type.layout == "F" for a in value.arrays):
        mirrored = tuple(sorted(value.ndim - 1 - axis for axis in axes))
        return transposed(_reduce_rows(frame, node, turned(value), how, mirrored))
    return _reduce_rows(frame, node, value, how, axes)


def _reduce_rows(
    frame: Frame, node: ast.AST, value: Elementwise, how: Reduction, axes: tuple[int, ...]
) -> ir.ArrayRef:
    """The same, where the elements along the last axis lie side by side."""
    lowering, type = frame.lowering, value.element
    value = replace(value, extents=tuple(map(lowering.keep, value.extents)))
    extents = [ir.ONE if i in axes else extent for i, extent in enumerate(value.extents)]
    kept = [extent for i, extent in enumerate(value.extents) if i not in axes]
    result = new_array(frame, node, type, extents, how.name)
    scope = lowering.scope()

    def place(indices: Indices, scope: int = 0) -> ir.Element:
        own = tuple(ir.ZERO if i in axes else index for i, index in enumerate(indices))
        return ir.Element(result, own, (True,) * len(own), scope=scope)

    if how is SUM and type.is_inexact and value.ndim - 1 in axes:
        rest = [axis for axis in range(value.ndim) if axis not in axes]
        inner = [value.extents[axis] for axis in axes[:-1]]

        def one(indices: Indices, access: Access) -> None:
            cascade = Cascade(frame, type)
            every_index: list[ir.Expr] = [ir.ZERO] * value.ndim
            for axis, index in zip(rest, indices, strict=True):
                every_index[axis] = index

            def row(along: Indices) -> None:
                for axis, index in zip(axes, along, strict=False):
                    every_index[axis] = index
                begin = tuple(every_index[:-1])
                add_row(frame, value.extents[-1], lambda i: value.at((*begin, i), access), cascade)

            loop_nest(frame, inner, row)
            lowering.emit(ir.SetElement(place(tuple(every_index), scope), cascade.total()))

        for_each(frame, value, kept, one, scope, is_free=True)
        return result
    if how.first is None:
        run = [extent for i, extent in enumerate(value.extents) if i in axes]
        if kept:
            empty = every([test("eq", extent, ir.ZERO) for extent in run], "or")
            filled = every([test("ne", extent, ir.ZERO) for extent in kept])
            text = f"an axis without elements has no {how.name} in {source_text(frame, node)}"
            raise_if(frame, node, test("and", empty, filled), "ValueError", text)

    def begin(indices: Indices, access: Access) -> None:
        first = value.at(indices, access) if how.first is None else constant(how.first, type)
        lowering.emit(ir.SetElement(place(indices, scope), first))

    def body(indices: Indices, access: Access) -> None:
        element = lowering.keep(value.at(indices, access))
        combined = how.combine(place(indices), element)
        lowering.emit(ir.SetElement(place(indices, scope), combined))

    for_each(frame, value, extents, begin, scope, is_free=True)
    _for_each_of_axes(frame, value, axes, body, scope)
    return result


def _for_each_of_axes(
    frame: Frame,
    value: Elementwise,
    axes: tuple[int, ...],
    body: Callable[[Indices, Access], None],
    scope: int,
) -> None:
    """Loops over indices, of which those along an axis that is not reduced may run at once."""
    lowering = frame.lowering
    is_parallel = lowering.function.parallel and not lowering.parallel_depth
    if is_parallel and 0 not in axes:
        inner = value.extents[1:]

        def rows(first: Indices, access: Access) -> None:
            loop_nest(frame, inner, lambda indices: body((*first, *indices), access))

        for_each(frame, value, value.extents[:1], rows, scope, is_free=True)
    elif is_parallel and value.ndim - 1 not in axes:
        length, size = value.extents[-1], ir.Const(WEAK_INT, _COLUMNS)
        more = binary("add", length, ir.Const(WEAK_INT, _COLUMNS - 1))
        strips = lowering.keep(binary("floordiv", more, size))

        def strip(number: Indices, access: Access) -> None:
            begin = lowering.keep(binary("mul", number[0], size))
            end = lowering.keep(ir.Op("min", WEAK_INT, (binary("add", begin, size), length)))

            def row(outer: Indices) -> None:
                count_from(frame, begin, end, lambda last: body((*outer, last), access))

            loop_nest(frame, value.extents[:-1], row)

        for_each(frame, value, (strips,), strip, scope, is_free=True)
    else:
        for_each(frame, value, value.extents, body, scope)


def _without_axes(array: ir.ArrayRef, axes: tuple[int, ...]) -> ir.ArrayRef:
    """An array without some axes, whose length is 1."""
    extents = tuple(extent for i, extent in enumerate(array.extents) if i not in axes)
    type = replace(
        array.type, ndim=len(extents), layout="C" if len(extents) < 2 else array.type.layout
    )
    return ir.ArrayRef(type, array.base, extents, None, array.path, owner=array.owner)


def reduced(
    call: KnownCall,
    operand: Operand,
    value: Elementwise,
    type: Scalar,
    how: Reduction,
    axes: tuple[int, ...] | None,
    *,
    keepdims: bool = False,
) -> Operand:
    """What the elements along some axes become, or all: a number, or an array."""
    frame = call.frame
    if not value.extents:
        return Value(frame.lowering.keep(converted(value, type).at((), Access())))
    if axes is None or len(axes) == value.ndim:
        if not keepdims:
            flat = _flat(value, operand)
            return Value(reduce_all(frame, call.node, converted(flat, type), how))
        axes = tuple(range(value.ndim))
    if not axes:
        return converted(value, type)
    array = _reduce_axes(frame, call.node, converted(value, type), how, axes)
    return ArrayOf(array if keepdims else _without_axes(array, axes))


def each_element(call: KnownCall, make: Callable[..., ir.Expr], *operands: Operand) -> Operand:
    """A function of numbers, or of the elements of arrays."""
    if any(map(is_array, operands)):
        return elementwise(call.frame, call.node, make, operands)
    return Value(call.frame.lowering.keep(make(*map(call.number, operands))))
