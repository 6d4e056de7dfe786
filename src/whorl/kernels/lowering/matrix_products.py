"""Products of arrays: `@`, `np.dot`, `np.matmul`, `np.vdot`, `np.outer`.

A product of two matrices of floats in memory goes to a routine of BLAS if it is large, which is
known at run time, and if this process has such a routine. All others are loops: rows of the right
matrix are added to rows of the result, and a matrix times a vector is a sum for each row, of
which nothing is stored before. Of stacks of matrices, each is such a product.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from typing import Final

from whorl.fast_dataclasses import dataclass, replace
from whorl.kernels import ir
from whorl.kernels.overlap import test
from whorl.kernels.types import WEAK_INT, Scalar, promote

from .arithmetic import binary, constant, scalar_type
from .array_expressions import (
    elementwise,
    expression_of,
    fit,
    raise_if,
    shape_text,
    source_text,
)
from .array_memory import new_array
from .array_shapes import SHAPE_METHODS
from .array_statements import loop_nest, materialised
from .blas_calls import by_routine, part_of
from .complex_functions import conjugate
from .frame import Frame
from .known_calls import Given, Handler, KnownCall, KnownFunction
from .operands import Access, ArrayOf, Elementwise, Operand, Value, describe
from .out_arrays import taking_out
from .pairwise_sums import Cascade, add_row, count_from
from .reductions import SUM, converted, each_element, reduce_all
from .run_values import is_scalar, resolve

__all__ = ["PRODUCTS", "PRODUCT_METHODS", "matrix_product"]

Indices = tuple[ir.Expr, ...]
_BLOCK: Final = 64  # rows of the right matrix that are used again while they are near


@dataclass(frozen=True, slots=True)
class Factor:
    """One side of a product: a stack of matrices, or a vector."""

    value: Elementwise
    memory: ir.ArrayRef | None  # None: its elements are worked out where they are needed
    is_vector: bool

    @property
    def stack(self) -> tuple[ir.Expr, ...]:
        """The extents before those of a matrix."""
        return self.value.extents[: -1 if self.is_vector else -2]


def matrix_product(frame: Frame, node: ast.AST, left: Operand, right: Operand) -> Operand:
    """`left @ right`: stacks of matrices are brought together as NumPy does it."""
    return _product(frame, node, left, right, is_dot=False)


def _product(
    frame: Frame, node: ast.AST, left: Operand, right: Operand, *, is_dot: bool
) -> Operand:
    lowering = frame.lowering
    a, b = expression_of(frame, left), expression_of(frame, right)
    for each, operand in ((a, left), (b, right)):
        if not each.ndim:
            frame.refuse(node, f"`@` is for arrays, not for {describe(operand)}", "Write `*`.")
    type = promote(a.element, b.element).strong
    inner = lowering.keep(a.extents[-1])
    _check_inner(frame, node, a, b, inner, b.extents[-2 if b.ndim > 1 else -1])
    if a.ndim == 1 and b.ndim == 1:
        product = elementwise(frame, node, partial(_times, type), (a, b), keeps=False)
        return Value(reduce_all(frame, node, replace(product, conditions=()), SUM))
    # A matrix times a vector uses each element of the matrix once: it needs no memory.
    is_fused = b.ndim == 1 and type.is_inexact
    one = _factor(frame, node, left, a, type, is_stored=not is_fused)
    other = _factor(frame, node, right, b, type, is_stored=True)
    if is_dot and a.ndim > 1 and b.ndim > 1:
        stack = (*one.stack, *other.stack)
    else:
        stack = _fitted_stack(frame, node, one, other)
    rows, columns = a.extents[-2:-1], b.extents[-1:] if b.ndim > 1 else ()
    extents = (*stack, *rows, *columns)
    if is_dot and a.ndim > 1 and b.ndim > 1:
        extents = (*one.stack, *rows, *other.stack, *columns)
    result = new_array(frame, node, type, extents, "product")

    def one_product(indices: Indices) -> None:
        if is_dot and a.ndim > 1 and b.ndim > 1:
            first, second = indices[: len(one.stack)], indices[len(one.stack) :]
            target = part_of(frame, result, (*first, None, *second, None))
        else:
            first = _own(one.stack, indices)
            second = _own(other.stack, indices)
            whole = (None,) * (len(extents) - len(indices))
            target = part_of(frame, result, (*indices, *whole))
        _multiply(frame, node, target, one, other, first, second, inner)

    loop_nest(frame, stack, one_product)
    return ArrayOf(result)


def _times(type: Scalar, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """A product of two numbers; of bools, whether both hold."""
    if type.kind == "b":
        return ir.Op("and", type, (left, right))
    return binary("mul", left, right)


def _plus(type: Scalar, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if type.kind == "b":
        return ir.Op("or", type, (left, right))
    return binary("add", left, right)


def _check_inner(
    frame: Frame, node: ast.AST, a: Elementwise, b: Elementwise, inner: ir.Expr, other: ir.Expr
) -> None:
    """End the launch with a ValueError where the lengths of the inner axes differ."""
    other = frame.lowering.keep(other)
    if inner == other:
        return
    words = f"{shape_text(a.extents)} and {shape_text(b.extents)}"
    text = f"the shapes {words} do not fit together in {source_text(frame, node)}"
    values = [*a.extents, *b.extents]
    raise_if(frame, node, test("ne", inner, other), "ValueError", text, values)


def _factor(
    frame: Frame,
    node: ast.AST,
    operand: Operand,
    value: Elementwise,
    type: Scalar,
    *,
    is_stored: bool,
) -> Factor:
    is_vector = value.ndim == 1
    operand = resolve(operand)
    if isinstance(operand, ArrayOf) and value.element == type:
        return Factor(value, operand.array, is_vector)
    value = converted(value, type)
    if not is_stored and not value.conditions:
        return Factor(value, None, is_vector)
    array = materialised(frame, node, value).array
    return Factor(expression_of(frame, ArrayOf(array)), array, is_vector)


def _fitted_stack(frame: Frame, node: ast.AST, one: Factor, other: Factor) -> tuple[ir.Expr, ...]:
    """The extents of the stacks of both sides together."""
    if not one.stack or not other.stack:
        return one.stack or other.stack
    stacks = [
        Elementwise(each.value.element, each.stack, lambda indices, access: ir.ZERO)
        for each in (one, other)
    ]
    return fit(frame, node, stacks)[0]


def _own(stack: Sequence[ir.Expr], indices: Indices) -> Indices:
    """The indices into a stack; an axis of length 1 has one matrix for all of them."""
    own = indices[len(indices) - len(stack) :]
    return tuple(
        ir.Op("select", WEAK_INT, (test("eq", extent, ir.ONE), ir.ZERO, index))
        for extent, index in zip(stack, own, strict=True)
    )


def _multiply(
    frame: Frame,
    node: ast.AST,
    target: ir.ArrayRef,
    one: Factor,
    other: Factor,
    first: Indices,
    second: Indices,
    inner: ir.Expr,
) -> None:
    """Set a matrix, or a vector, to the product of two of the stacks, by their indices there."""
    lowering = frame.lowering
    loops: ir.Block = []
    with lowering.writing(loops):
        _multiply_in_loops(frame, target, one, other, first, second, inner)
    if one.memory is None or other.memory is None or not target.type.element.is_inexact:
        lowering.block.extend(loops)
        return
    whole = (None,) * (1 if one.is_vector else 2), (None,) * (1 if other.is_vector else 2)
    parts = (
        part_of(frame, one.memory, (*first, *whole[0])),
        part_of(frame, other.memory, (*second, *whole[1])),
    )
    condition, block = by_routine(frame, node, target, *parts)
    lowering.emit(ir.If(condition, block, loops))


def _multiply_in_loops(
    frame: Frame,
    target: ir.ArrayRef,
    one: Factor,
    other: Factor,
    first: Indices,
    second: Indices,
    inner: ir.Expr,
) -> None:
    lowering, type = frame.lowering, target.type.element
    access = Access(is_broadcast=False, scope=lowering.scope())

    def left(*indices: ir.Expr) -> ir.Expr:
        return one.value.at((*first, *indices), access)

    def right(*indices: ir.Expr) -> ir.Expr:
        return other.value.at((*second, *indices), access)

    def place(*indices: ir.Expr, scope: int = 0) -> ir.Element:
        return ir.Element(target, indices, (True,) * len(indices), scope=scope)

    if other.is_vector and type.is_inexact:  # each row is a sum

        def row(indices: Indices) -> None:
            cascade = Cascade(frame, type)
            add_row(frame, inner, lambda k: binary("mul", left(*indices, k), right(k)), cascade)
            lowering.emit(ir.SetElement(place(*indices, scope=access.scope), cascade.total()))

        loop_nest(frame, target.extents, row, is_free=True)
        return

    def clear(indices: Indices) -> None:
        lowering.emit(ir.SetElement(place(*indices), constant(0, type)))

    loop_nest(frame, target.extents, clear, is_free=True)
    rows = () if one.is_vector else target.extents[:1]
    columns = target.extents[len(rows) :]

    def block(begin: ir.Expr) -> None:
        size = ir.Const(WEAK_INT, _BLOCK)
        end = lowering.keep(ir.Op("min", WEAK_INT, (binary("add", begin, size), inner)))

        def row(i: Indices) -> None:
            def step(k: ir.Expr) -> None:
                factor = lowering.keep(left(*i, k))

                def add(j: Indices) -> None:
                    more = _times(type, factor, right(k, *j))
                    combined = _plus(type, place(*i, *j), more)
                    lowering.emit(ir.SetElement(place(*i, *j, scope=access.scope), combined))

                loop_nest(frame, columns, add)

            count_from(frame, begin, end, step)

        loop_nest(frame, rows, row, is_free=True)

    count_from(frame, ir.ZERO, inner, block, step=_BLOCK)


# -- functions --------------------------------------------------------------------------


def _given(call: KnownCall) -> tuple[Operand, Operand]:
    given = call.bound("a", "b", required=2)
    return _both(given, "a", "b")


def _both(given: Given, *names: str) -> tuple[Operand, Operand]:
    left, right = (given[name] for name in names)
    assert left is not None
    assert right is not None
    return left, right


def _dot(call: KnownCall, given: Given) -> Operand:
    left, right = _both(given, "a", "b")
    if is_scalar(left) or is_scalar(right):
        return each_element(call, partial(binary, "mul"), left, right)
    return _product(call.frame, call.node, left, right, is_dot=True)


def _matmul(call: KnownCall, given: Given) -> Operand:
    return matrix_product(call.frame, call.node, *_both(given, "x1", "x2"))


def _flat(call: KnownCall, operand: Operand) -> Operand:
    """An array with several dimensions as one with one, as `ravel` makes it."""
    if expression_of(call.frame, operand).ndim < 2:
        return operand
    return SHAPE_METHODS["ravel"](replace(call, args=[operand], named={}))


def _vdot(call: KnownCall) -> Operand:
    """The product with the conjugate of the left side, both as one axis."""
    left, right = (_flat(call, each) for each in _given(call))
    if is_scalar(left) or is_scalar(right):
        return each_element(call, lambda a, b: binary("mul", conjugate(a), b), left, right)
    left = elementwise(call.frame, call.node, conjugate, (left,))
    return matrix_product(call.frame, call.node, left, right)


def _outer(call: KnownCall, given: Given) -> Operand:
    left, right = (expression_of(call.frame, _flat(call, each)) for each in _both(given, "a", "b"))
    if 0 in (left.ndim, right.ndim):
        call.refuse("np.outer of a number", "Write `*`.")

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


_DOT: Final = KnownFunction(taking_out(_dot), "a, b, out=None")
PRODUCT_METHODS: Final[dict[str, Handler]] = {"dot": _DOT}
"""Methods of arrays; the array is the first argument."""
PRODUCTS: Final[dict[str, Handler]] = {
    "numpy.dot": _DOT,
    "numpy.matmul": KnownFunction(taking_out(_matmul), "x1, x2, out=None"),
    "numpy.vdot": _vdot,
    "numpy.outer": KnownFunction(taking_out(_outer), "a, b, out=None"),
}
"""By the name that a function has of its own."""
