"""Reductions of arrays and expressions: sums, extremes, tests, places, products.

A sum of floats is pairwise, as NumPy's: blocks of 128 elements with eight sums each, and the blocks
by twos, so that its error grows with the logarithm of the number of elements. Along an axis that
is not the last one rows are added to rows, as NumPy does it.
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
from whorl.kernels.types import BOOL, F64, I64, WEAK_INT, Scalar, VectorType, promote

from .arithmetic import binary, cast, compare, constant, scalar_type, truth
from .array_expressions import elementwise, expression_of, is_array, raise_if, source_text
from .array_memory import new_array
from .array_statements import loop_nest
from .frame import Frame
from .known_calls import Handler, KnownCall
from .made_arrays import element_type
from .operands import Access, ArrayOf, Elementwise, Known, Operand, Value, describe
from .run_values import is_scalar

__all__ = ["REDUCTIONS", "REDUCTION_METHODS", "matrix_product", "sum_in_order"]

Indices = tuple[ir.Expr, ...]
_BLOCK: Final = 128
_SUMS: Final = 8
_LEVELS: Final = 48  # of blocks by twos: more than memory has


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
    return ir.Op(f"f{name}" if type.is_float else name, type, (left, right))


SUM: Final = Reduction("sum", partial(binary, "add"), 0, _wide)
PRODUCT: Final = Reduction("prod", partial(binary, "mul"), 1, _wide)
LEAST: Final = Reduction("min", partial(_extreme, "min"), None, lambda element: element)
MOST: Final = Reduction("max", partial(_extreme, "max"), None, lambda element: element)
ANY: Final = Reduction("any", lambda a, b: ir.Op("or", BOOL, (a, b)), 0, lambda element: BOOL)
ALL: Final = Reduction("all", lambda a, b: ir.Op("and", BOOL, (a, b)), 1, lambda element: BOOL)


# -- one number of all elements ---------------------------------------------------------


def _for_each(
    frame: Frame,
    value: Elementwise,
    extents: Sequence[ir.Expr],
    body: Callable[[Indices, Access], None],
    scope: int = 0,
) -> None:
    """Loops over indices: with and without stretched axes, where that is left to the run."""
    lowering = frame.lowering

    def nest(access: Access) -> ir.Block:
        block: ir.Block = []
        with lowering.writing(block):
            loop_nest(frame, extents, lambda indices: body(indices, access))
        return block

    fast = nest(Access(is_broadcast=False, scope=scope))
    if value.conditions:
        slow = nest(Access(is_broadcast=True, scope=scope))
        lowering.emit(ir.If(every(value.conditions), fast, slow))
    else:
        lowering.block.extend(fast)


def _converted(value: Elementwise, type: Scalar) -> Elementwise:
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


def _reduce_all(frame: Frame, node: ast.AST, value: Elementwise, how: Reduction) -> ir.Expr:
    """What all elements become together."""
    lowering, type = frame.lowering, value.element
    value = replace(value, extents=tuple(map(lowering.keep, value.extents)))
    if how is SUM and type.is_float:
        return _sum_all(frame, value)
    result = ir.Local(how.name, type)
    if how.first is None:
        _check_not_empty(frame, node, value.extents, how.name)
        begin = value.at(tuple(ir.ZERO for _ in value.extents), Access())
        lowering.emit(ir.Set(result, begin))
    else:
        lowering.emit(ir.Set(result, constant(how.first, type)))

    def body(indices: Indices, access: Access) -> None:
        element = lowering.keep(value.at(indices, access))
        lowering.emit(ir.Set(result, how.combine(ir.Get(result), element)))

    _for_each(frame, value, value.extents, body)
    return ir.Get(result)


def _check_not_empty(frame: Frame, node: ast.AST, extents: Sequence[ir.Expr], name: str) -> None:
    run = [extent for extent in extents if not isinstance(extent, ir.Const) or extent.value == 0]
    if run:
        is_empty = every([test("eq", extent, ir.ZERO) for extent in run], "or")
        text = f"an array without elements has no {name} in {source_text(node)}"
        raise_if(frame, node, is_empty, "ValueError", text)


class _Cascade:
    """A sum of many numbers that are added by twos."""

    def __init__(self, frame: Frame, type: Scalar) -> None:
        self._lowering = frame.lowering
        self._type = type
        self._sums = ir.Local("sums", VectorType(type, (_LEVELS,)))
        self._count = ir.Local("blocks", WEAK_INT)
        self._lowering.emit(ir.Set(self._count, ir.ZERO))

    def _walk(
        self, body: Callable[[ir.Expr, ir.Expr], None], test_of: Callable[[ir.Expr], ir.Expr]
    ) -> ir.Expr:
        """Go through the levels as long as a test of the rest of the count holds."""
        lowering = self._lowering
        level, rest = ir.Local("level", WEAK_INT), ir.Local("rest", WEAK_INT)
        lowering.emit(ir.Set(level, ir.ZERO))
        lowering.emit(ir.Set(rest, ir.Get(self._count)))
        block: ir.Block = []
        with lowering.writing(block):
            body(ir.Get(level), ir.Get(rest))
            lowering.emit(ir.Set(level, binary("add", ir.Get(level), ir.ONE)))
            lowering.emit(ir.Set(rest, binary("shr", ir.Get(rest), ir.ONE)))
        lowering.emit(ir.While(lowering.label("levels"), [], test_of(ir.Get(rest)), block))
        return ir.Get(level)

    def _is_odd(self, rest: ir.Expr) -> ir.Expr:
        return test("ne", binary("and", rest, ir.ONE), ir.ZERO)

    def add(self, number: ir.Expr) -> None:
        """Add a number: two of a level become one of the next."""
        lowering = self._lowering
        carry = ir.Local("carry", self._type)
        lowering.emit(ir.Set(carry, number))

        def up(level: ir.Expr, rest: ir.Expr) -> None:
            both = binary("add", ir.Component(self._sums, level), ir.Get(carry))
            lowering.emit(ir.Set(carry, both))

        level = self._walk(up, self._is_odd)
        lowering.emit(ir.SetComponent(ir.Component(self._sums, level), ir.Get(carry)))
        lowering.emit(ir.Set(self._count, binary("add", ir.Get(self._count), ir.ONE)))

    def total(self) -> ir.Expr:
        """The sum of what was added."""
        lowering = self._lowering
        result = ir.Local("sum", self._type)
        is_empty = test("eq", ir.Get(self._count), ir.ZERO)
        zeros = constant(0.0, self._type), constant(-0.0, self._type)  # -0.0 + x is x
        lowering.emit(ir.Set(result, ir.Op("select", self._type, (is_empty, *zeros))))

        def collect(level: ir.Expr, rest: ir.Expr) -> None:
            more = binary("add", ir.Get(result), ir.Component(self._sums, level))
            lowering.emit(ir.If(self._is_odd(rest), [ir.Set(result, more)], []))

        self._walk(collect, lambda rest: test("ne", rest, ir.ZERO))
        return ir.Get(result)


def _sum_all(frame: Frame, value: Elementwise) -> ir.Expr:
    cascade = _Cascade(frame, value.element)

    def body(indices: Indices, access: Access) -> None:
        _add_row(frame, value.extents[-1], lambda i: value.at((*indices, i), access), cascade)

    _for_each(frame, value, value.extents[:-1], body)
    return cascade.total()


def _add_row(
    frame: Frame, length: ir.Expr, at: Callable[[ir.Expr], ir.Expr], cascade: _Cascade
) -> None:
    """Add the elements of a row to a sum, block by block."""
    lowering = frame.lowering
    type = cascade._type  # of the same module
    size = ir.Const(WEAK_INT, _BLOCK)
    begin = ir.Local("begin", WEAK_INT)
    block: ir.Block = []
    with lowering.writing(block):
        first = ir.Get(begin)
        end = lowering.keep(ir.Op("min", WEAK_INT, (binary("add", first, size), length)))
        count = binary("sub", end, first)
        eights = binary("and", count, ir.Const(WEAK_INT, -_SUMS))
        middle = lowering.keep(binary("add", first, eights))
        sums = [ir.Local(f"sum{i}", type) for i in range(_SUMS)]
        for each in sums:
            lowering.emit(ir.Set(each, constant(-0.0, type)))

        def add_eight(index: ir.Expr) -> None:
            for offset, each in enumerate(sums):
                more = binary("add", ir.Get(each), at(_plus(index, offset)))
                lowering.emit(ir.Set(each, more))

        _count(frame, first, middle, _SUMS, add_eight)
        parts: list[ir.Expr] = [ir.Get(each) for each in sums]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [binary("add", one, other) for one, other in pairs]
        result = ir.Local("sum", type)
        lowering.emit(ir.Set(result, parts[0]))

        def add_one(index: ir.Expr) -> None:
            lowering.emit(ir.Set(result, binary("add", ir.Get(result), at(index))))

        _count(frame, middle, end, 1, add_one)
        cascade.add(ir.Get(result))
    label = lowering.label("blocks")
    lowering.emit(ir.For(label, begin, ir.ZERO, length, size, block))


def _plus(index: ir.Expr, offset: int) -> ir.Expr:
    return binary("add", index, ir.Const(WEAK_INT, offset)) if offset else index


def _count(
    frame: Frame, start: ir.Expr, stop: ir.Expr, step: int, body: Callable[[ir.Expr], None]
) -> None:
    count = ir.Local("i", WEAK_INT)
    block: ir.Block = []
    with frame.lowering.writing(block):
        body(ir.Get(count))
    label = frame.lowering.label("elements")
    by = ir.Const(WEAK_INT, step)
    frame.lowering.emit(ir.For(label, count, start, stop, by, block))


# -- along axes -------------------------------------------------------------------------


def _axes(call: KnownCall, operand: Operand | None, ndim: int) -> tuple[int, ...] | None:
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
    lowering, type = frame.lowering, value.element
    value = replace(value, extents=tuple(map(lowering.keep, value.extents)))
    extents = [ir.ONE if i in axes else extent for i, extent in enumerate(value.extents)]
    kept = [extent for i, extent in enumerate(value.extents) if i not in axes]
    result = new_array(frame, node, type, extents, how.name)
    scope = lowering.scope()

    def place(indices: Indices, scope: int = 0) -> ir.Element:
        own = tuple(ir.ZERO if i in axes else index for i, index in enumerate(indices))
        return ir.Element(result, own, (True,) * len(own), scope=scope)

    if how is SUM and type.is_float and axes == (value.ndim - 1,):

        def row(indices: Indices, access: Access) -> None:
            cascade = _Cascade(frame, type)
            _add_row(frame, value.extents[-1], lambda i: value.at((*indices, i), access), cascade)
            lowering.emit(ir.SetElement(place((*indices, ir.ZERO), scope), cascade.total()))

        _for_each(frame, value, value.extents[:-1], row, scope)
        return result
    if how.first is None:
        run = [extent for i, extent in enumerate(value.extents) if i in axes]
        if kept:
            empty = every([test("eq", extent, ir.ZERO) for extent in run], "or")
            filled = every([test("ne", extent, ir.ZERO) for extent in kept])
            text = f"an axis without elements has no {how.name} in {source_text(node)}"
            raise_if(frame, node, test("and", empty, filled), "ValueError", text)

    def begin(indices: Indices, access: Access) -> None:
        first = value.at(indices, access) if how.first is None else constant(how.first, type)
        lowering.emit(ir.SetElement(place(indices, scope), first))

    def body(indices: Indices, access: Access) -> None:
        element = lowering.keep(value.at(indices, access))
        combined = how.combine(place(indices), element)
        lowering.emit(ir.SetElement(place(indices, scope), combined))

    _for_each(frame, value, extents, begin, scope)
    _for_each(frame, value, value.extents, body, scope)
    return result


def _without_axes(array: ir.ArrayRef, axes: tuple[int, ...]) -> ir.ArrayRef:
    """An array without some axes, whose length is 1."""
    extents = tuple(extent for i, extent in enumerate(array.extents) if i not in axes)
    type = replace(array.type, ndim=len(extents))
    return ir.ArrayRef(type, array.base, extents, None, array.path, owner=array.owner)


def _reduced(call: KnownCall, how: Reduction) -> Operand:
    given = call.bound("a", "axis", "dtype", "out", "keepdims")
    operand = given["a"]
    assert operand is not None
    if given["out"] is not None:
        call.refuse("out is not supported here", "Assign the result to a part of the array.")
    keepdims = given["keepdims"] is not None and bool(call.known_value(given["keepdims"]))
    value = expression_of(call.frame, operand)
    type = element_type(call, given["dtype"]) or how.result(value.element.strong)
    axes = _axes(call, given["axis"], value.ndim)
    return _result(call, operand, value, type, how, axes, keepdims=keepdims)


def _result(
    call: KnownCall,
    operand: Operand,
    value: Elementwise,
    type: Scalar,
    how: Reduction,
    axes: tuple[int, ...] | None,
    *,
    keepdims: bool,
) -> Operand:
    frame = call.frame
    if not value.extents:
        return Value(frame.lowering.keep(_converted(value, type).at((), Access())))
    if axes is None or len(axes) == value.ndim:
        if not keepdims:
            flat = _flat(value, operand)
            return Value(_reduce_all(frame, call.node, _converted(flat, type), how))
        axes = tuple(range(value.ndim))
    if not axes:
        return _converted(value, type)
    array = _reduce_axes(frame, call.node, _converted(value, type), how, axes)
    return ArrayOf(array if keepdims else _without_axes(array, axes))


def _size(value: Elementwise, axes: tuple[int, ...] | None) -> ir.Expr:
    extents = value.extents if axes is None else [value.extents[axis] for axis in axes]
    return total((ir.ONE, *extents), "mul")


def _mean(call: KnownCall) -> Operand:
    given = call.bound("a", "axis", "dtype", "out", "keepdims")
    operand = given["a"]
    assert operand is not None
    keepdims = given["keepdims"] is not None and bool(call.known_value(given["keepdims"]))
    value = expression_of(call.frame, operand)
    element = value.element.strong
    type = element_type(call, given["dtype"]) or (element if element.is_float else F64)
    axes = _axes(call, given["axis"], value.ndim)
    return _mean_of(call, operand, value, type, axes, keepdims=keepdims)


def _mean_of(
    call: KnownCall,
    operand: Operand,
    value: Elementwise,
    type: Scalar,
    axes: tuple[int, ...] | None,
    *,
    keepdims: bool,
) -> Operand:
    sums = _result(call, operand, value, type, SUM, axes, keepdims=keepdims)
    count = call.frame.lowering.keep(cast(_size(value, axes), type))
    return _each(call, lambda expr: binary("div", expr, count), sums)


def _each(call: KnownCall, make: Callable[..., ir.Expr], *operands: Operand) -> Operand:
    """A function of numbers, or of the elements of arrays."""
    if any(map(is_array, operands)):
        return elementwise(call.frame, call.node, make, operands)
    return Value(call.frame.lowering.keep(make(*map(call.number, operands))))


def _variance(is_root: bool, call: KnownCall) -> Operand:
    given = call.bound("a", "axis", "dtype", "out", "ddof", "keepdims")
    operand = given["a"]
    assert operand is not None
    keepdims = given["keepdims"] is not None and bool(call.known_value(given["keepdims"]))
    value = expression_of(call.frame, operand)
    element = value.element.strong
    type = element_type(call, given["dtype"]) or (element if element.is_float else F64)
    axes = _axes(call, given["axis"], value.ndim)
    mean = _mean_of(call, operand, value, type, axes, keepdims=True)
    if isinstance(mean, Elementwise):
        mean = ArrayOf(call.frame.lowering.syntax.stored(call.frame, call.node, mean))

    def squared(expr: ir.Expr, middle: ir.Expr) -> ir.Expr:
        apart = call.frame.lowering.keep(binary("sub", cast(expr, type), middle))
        return binary("mul", apart, apart)

    squares = elementwise(call.frame, call.node, squared, (operand, mean))
    sums = _result(call, squares, squares, type, SUM, axes, keepdims=keepdims)
    count = cast(_size(value, axes), type)
    if given["ddof"] is not None:
        count = binary("sub", count, cast(call.number(given["ddof"]), type))
    count = call.frame.lowering.keep(ir.Op("fmax", type, (count, constant(0, type))))

    def make(expr: ir.Expr) -> ir.Expr:
        variance = binary("div", expr, count)
        return ir.Op("sqrt", type, (variance,)) if is_root else variance

    return _each(call, make, sums)


def _peak_to_peak(call: KnownCall) -> Operand:
    most, least = _reduced(replace(call), MOST), _reduced(replace(call), LEAST)
    return _each(call, partial(binary, "sub"), most, least)


def _count_nonzero(call: KnownCall) -> Operand:
    given = call.bound("a", "axis")
    assert given["a"] is not None
    is_not_zero = elementwise(call.frame, call.node, lambda e: cast(truth(e), BOOL), [given["a"]])
    axes = _axes(call, given["axis"], is_not_zero.ndim)
    return _result(call, is_not_zero, is_not_zero, I64, SUM, axes, keepdims=False)


# -- places -----------------------------------------------------------------------------


def _place(is_max: bool, call: KnownCall) -> Operand:
    """`argmin`, `argmax`: where the first of the least or largest elements is; NaN comes first."""
    given = call.bound("a", "axis", "out", "keepdims")
    operand = given["a"]
    assert operand is not None
    frame, lowering = call.frame, call.frame.lowering
    name = "argmax" if is_max else "argmin"
    value = expression_of(frame, operand)
    axes = _axes(call, given["axis"], value.ndim)
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

        _for_each(frame, value, extents, body)
        return ir.Get(where)

    if axes is None:
        _check_not_empty(frame, call.node, value.extents, name)
        return Value(search(value.extents, value.at))
    (axis,) = axes
    _check_not_empty(frame, call.node, [value.extents[axis]], name)
    kept = [extent for i, extent in enumerate(value.extents) if i != axis]
    result = new_array(frame, call.node, I64, kept, name)

    def each(indices: Indices) -> None:
        def at(place: Indices, access: Access) -> ir.Expr:
            return value.at((*indices[:axis], *place, *indices[axis:]), access)

        where = search([value.extents[axis]], at)
        element = ir.Element(result, indices, (True,) * len(indices))
        lowering.emit(ir.SetElement(element, where))

    loop_nest(frame, kept, each)
    if not kept:
        return Value(ir.Element(result, (), ()))
    return ArrayOf(result)


def _cumulative(how: Reduction, call: KnownCall) -> Operand:
    """`cumsum`, `cumprod`."""
    given = call.bound("a", "axis", "dtype")
    operand = given["a"]
    assert operand is not None
    frame, lowering = call.frame, call.frame.lowering
    value = expression_of(frame, operand)
    type = element_type(call, given["dtype"]) or how.result(value.element.strong)
    axes = _axes(call, given["axis"], value.ndim)
    if axes is None and value.ndim != 1:
        call.refuse(f"{call.function} of several dimensions needs an axis", "Write a.ravel().")
    (axis,) = axes or (0,)
    value = _converted(value, type)
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

    _for_each(frame, value, value.extents, body)
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

    _for_each(frame, value, value.extents, body)
    return Value(ir.Get(result))


# -- products ---------------------------------------------------------------------------


def matrix_product(frame: Frame, node: ast.AST, left: Operand, right: Operand) -> Operand:
    """`left @ right` for one and two dimensions."""
    a, b = expression_of(frame, left), expression_of(frame, right)
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        frame.refuse(
            node, f"`@` of {describe(left)} and {describe(right)}", "Loop over the first axis."
        )
    lowering = frame.lowering
    type = promote(a.element, b.element).strong
    inner, other = lowering.keep(a.extents[-1]), lowering.keep(b.extents[0])
    if inner != other:
        shapes = [*a.extents, *b.extents]
        words = [
            f"({', '.join('{}' for _ in each.extents)}{',' * (each.ndim == 1)})" for each in (a, b)
        ]
        text = f"the shapes {words[0]} and {words[1]} do not fit together in {source_text(node)}"
        raise_if(frame, node, test("ne", inner, other), "ValueError", text, shapes)
    a, b = (_stored(frame, node, each, cast_to=type) for each in (a, b))
    if a.ndim == 1 and b.ndim == 1:
        product = elementwise(frame, node, partial(binary, "mul"), (a, b), keeps=False)
        product = replace(product, conditions=())
        return Value(_reduce_all(frame, node, product, SUM))
    access = Access(is_broadcast=False, scope=lowering.scope())
    rows, columns = a.extents[:-1], b.extents[1:]
    result = new_array(frame, node, type, (*rows, *columns), "product", is_checked=False)

    def place(indices: Indices, scope: int = 0) -> ir.Element:
        return ir.Element(result, indices, (True,) * len(indices), scope=scope)

    if not columns and type.is_float:  # each row a sum

        def row(indices: Indices) -> None:
            cascade = _Cascade(frame, type)
            (i,) = indices

            def at(k: ir.Expr) -> ir.Expr:
                return binary("mul", a.at((i, k), access), b.at((k,), access))

            _add_row(frame, inner, at, cascade)
            lowering.emit(ir.SetElement(place(indices, access.scope), cascade.total()))

        loop_nest(frame, rows, row)
        return ArrayOf(result)

    def clear(indices: Indices) -> None:
        lowering.emit(ir.SetElement(place(indices), constant(0, type)))

    loop_nest(frame, result.extents, clear)

    def step(indices: Indices) -> None:
        i, k, j = indices[: len(rows)], indices[len(rows)], indices[len(rows) + 1 :]
        product = binary("mul", a.at((*i, k), access), b.at((k, *j), access))
        more = binary("add", place((*i, *j)), product)
        lowering.emit(ir.SetElement(place((*i, *j), access.scope), more))

    loop_nest(frame, (*rows, inner, *columns), step)
    return ArrayOf(result)


def _stored(frame: Frame, node: ast.AST, value: Elementwise, cast_to: Scalar) -> Elementwise:
    """An expression that costs no more than reading memory."""
    if len(value.arrays) != 1 or value.conditions or value.vectors or value.element != cast_to:
        converted = _converted(value, cast_to)
        return expression_of(frame, ArrayOf(frame.lowering.syntax.stored(frame, node, converted)))
    return value


def _dot(call: KnownCall) -> Operand:
    given = call.bound("a", "b", required=2)
    left, right = given["a"], given["b"]
    assert left is not None
    assert right is not None
    if is_scalar(left) or is_scalar(right):
        return _each(call, partial(binary, "mul"), left, right)
    return matrix_product(call.frame, call.node, left, right)


def _outer(call: KnownCall) -> Operand:
    given = call.bound("a", "b", required=2)
    assert given["a"] is not None
    assert given["b"] is not None
    left, right = (expression_of(call.frame, each) for each in (given["a"], given["b"]))
    if (left.ndim, right.ndim) != (1, 1):
        call.refuse("np.outer of arrays with several dimensions", "Write a.ravel().")

    def at(indices: Indices, access: Access) -> ir.Expr:
        i, j = indices[-2:]
        return binary("mul", left.at((i,), access), right.at((j,), access))

    one, other = (ir.Get(ir.Local("element", each.element)) for each in (left, right))
    return Elementwise(
        scalar_type(binary("mul", one, other)),
        (*left.extents, *right.extents),
        at,
        (*left.arrays, *right.arrays),
        (*left.vectors, *right.vectors),
        (*left.conditions, *right.conditions),
    )


def _norm(call: KnownCall) -> Operand:
    given = call.bound("x", "ord", "axis", "keepdims")
    operand = given["x"]
    assert operand is not None
    if given["ord"] is not None and call.known_value(given["ord"]) not in (None, 2, "fro"):
        call.refuse("np.linalg.norm is the root of the sum of squares in a kernel")
    value = expression_of(call.frame, operand)
    type = value.element.strong if value.element.is_float else F64

    def square(expr: ir.Expr) -> ir.Expr:
        return binary("mul", cast(expr, type), cast(expr, type))

    squares = elementwise(call.frame, call.node, square, [operand])
    axes = _axes(call, given["axis"], value.ndim)
    keepdims = given["keepdims"] is not None and bool(call.known_value(given["keepdims"]))
    sums = _result(call, squares, squares, type, SUM, axes, keepdims=keepdims)
    return _each(call, lambda expr: ir.Op("sqrt", type, (expr,)), sums)


def _trace(call: KnownCall) -> Operand:
    given = call.bound("a")
    assert given["a"] is not None
    value = expression_of(call.frame, given["a"])
    if value.ndim != 2:
        call.refuse("np.trace is for two dimensions")
    length = call.frame.lowering.keep(ir.Op("min", WEAK_INT, value.extents))
    diagonal = replace(
        value,
        extents=(length,),
        at=lambda indices, access: value.at((indices[-1], indices[-1]), access),
    )
    type = _wide(value.element.strong)
    return Value(_reduce_all(call.frame, call.node, _converted(diagonal, type), SUM))


def _of(how: Reduction) -> Handler:
    return lambda call: _reduced(call, how)


REDUCTION_METHODS: Final[dict[str, Handler]] = {
    "sum": _of(SUM),
    "prod": _of(PRODUCT),
    "min": _of(LEAST),
    "max": _of(MOST),
    "any": _of(ANY),
    "all": _of(ALL),
    "mean": _mean,
    "var": partial(_variance, False),
    "std": partial(_variance, True),
    "argmin": partial(_place, False),
    "argmax": partial(_place, True),
    "cumsum": partial(_cumulative, SUM),
    "cumprod": partial(_cumulative, PRODUCT),
    "dot": _dot,
    "trace": _trace,
}
"""Methods of arrays; the array is the first argument."""
REDUCTIONS: Final[dict[str, Handler]] = {
    **{f"numpy.{name}": handler for name, handler in REDUCTION_METHODS.items()},
    "numpy.amin": _of(LEAST),
    "numpy.amax": _of(MOST),
    "numpy.ptp": _peak_to_peak,
    "numpy.count_nonzero": _count_nonzero,
    "numpy.matmul": _dot,
    "numpy.vdot": _dot,
    "numpy.outer": _outer,
    "numpy.linalg.norm": _norm,
}
"""By the name that a function has of its own: a program can bind it to any other."""
