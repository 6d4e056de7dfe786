"""Calls of BLAS: a product of two matrices, or of a matrix and a vector, that lie in memory.

BLAS has matrices by columns. What lies by rows is the transposed matrix there, so the product of
two matrices by rows is that of the two in the other order.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from whorl.fast_dataclasses import dataclass, replace
from whorl.kernels import ir
from whorl.kernels.overlap import arithmetic, every, item_size, test, total
from whorl.kernels.types import POINTER, WEAK_INT, Scalar

from .arithmetic import constant
from .array_expressions import expression_of, raise_if
from .array_statements import loop_nest, materialised
from .frame import Frame
from .joins import OneArray, all_at_once, new_variable, settings
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Known, Operand, Value
from .pairwise_sums import count_from
from .run_values import resolve

__all__ = ["ROUTINE_CALLS", "by_routine", "part_of"]

_LARGE: Final = 16**3  # products of two numbers: below, a call costs more than it saves
_LARGE_MATRIX: Final = 64**2  # elements of a matrix that is multiplied with a vector
_LONGEST: Final = 2**31 - 1  # of an axis: the integers of a BLAS may have 32 bits
_KINDS: Final = {("f", 32): "s", ("f", 64): "d", ("c", 64): "c", ("c", 128): "z"}
_LETTER: Final = Scalar("u", 8)


def part_of(frame: Frame, array: ir.ArrayRef, indices: Sequence[ir.Expr | None]) -> ir.ArrayRef:
    """The part of an array at some indices; None is a whole axis."""
    if all(index is None for index in indices):
        return array
    keep = frame.lowering.keep
    strides = array.all_strides
    offset = total([
        arithmetic("mul", index, stride)
        for index, stride in zip(indices, strides, strict=True)
        if index is not None
    ])  # fmt: skip
    axes = [axis for axis, index in enumerate(indices) if index is None]
    base = keep(ir.Op("offset", POINTER, (array.base, offset)))
    type = replace(array.type, ndim=len(axes), layout="strided")
    extents = tuple(array.extents[axis] for axis in axes)
    own = tuple(keep(strides[axis]) for axis in axes)
    return ir.ArrayRef(type, base, extents, own, array.path, owner=array.owner)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix as BLAS takes it."""

    base: ir.Expr
    distance: ir.Expr  # of two rows, or two columns, in elements
    is_turned: ir.Expr  # whether it lies by columns


def by_routine(
    frame: Frame, node: ast.AST, target: ir.ArrayRef, left: ir.ArrayRef, right: ir.ArrayRef
) -> tuple[ir.Expr, ir.Block]:
    """Whether a product is one for BLAS, and the call that sets the target to it."""
    element = target.type.element
    kind = _KINDS[element.kind, element.bits]
    extents = dict.fromkeys((*left.extents, *right.extents))
    is_matrix = left.type.ndim == 2 and right.type.ndim == 2
    is_square = is_matrix and _is_turned(left, right)
    name = f"{kind}{'syrk' if is_square else 'gemm' if is_matrix else 'gemv'}"
    work = total((*left.extents, *right.extents[-1:]), "mul")
    if not is_matrix:
        work = total(max(left, right, key=lambda each: each.type.ndim).extents, "mul")
    limit = ir.Const(WEAK_INT, _LARGE if is_matrix else _LARGE_MATRIX)
    tests = [test("ne", ir.Routine(name), ir.ZERO), test("ge", work, limit)]
    longest = ir.Const(WEAK_INT, _LONGEST)
    tests += [test("le", extent, longest) for extent in extents]
    block: ir.Block = []
    with frame.lowering.writing(block):
        since = ir.Local("since", WEAK_INT)
        frame.lowering.emit(ir.Mark(since))
        if is_square:
            _syrk(frame, name, target, left, right)
        elif is_matrix:
            _gemm(frame, node, name, target, left, right)
        elif left.type.ndim == 2:
            _gemv(frame, node, name, target, left, right, is_left=True)
        else:
            _gemv(frame, node, name, target, right, left, is_left=False)
        frame.lowering.emit(ir.Sweep(since))
    return every(tests), block


def _gemm(
    frame: Frame,
    node: ast.AST,
    name: str,
    target: ir.ArrayRef,
    left: ir.ArrayRef,
    right: ir.ArrayRef,
) -> None:
    a, b = (_matrix(frame, node, each) for each in (left, right))
    one, zero = (constant(number, target.type.element) for number in (1, 0))
    rows, columns = target.extents
    distance = arithmetic("floordiv", target.all_strides[0], item_size(target))
    frame.lowering.emit(ir.RoutineCall(name, (
        _letter(b.is_turned, "T", "N"), _letter(a.is_turned, "T", "N"),
        columns, rows, left.extents[1], one, b.base, b.distance, a.base, a.distance,
        zero, target.base, arithmetic("max", distance, arithmetic("max", columns, ir.ONE)),
    )))  # fmt: skip


def _is_turned(one: ir.ArrayRef, other: ir.ArrayRef) -> bool:
    """Whether two matrices in order are the same memory, one of them with its axes in reverse."""
    layouts = {one.type.layout, other.type.layout}
    return one.base == other.base and one.extents == other.extents[::-1] and layouts == {"C", "F"}


def _syrk(
    frame: Frame, name: str, target: ir.ArrayRef, left: ir.ArrayRef, right: ir.ArrayRef
) -> None:
    """A matrix times itself with its axes in reverse: half of the product, and a mirror image."""
    one, zero = (constant(number, target.type.element) for number in (1, 0))
    rows, inner = left.extents
    is_right = right.type.layout == "C"  # by columns, it is the left one
    frame.lowering.emit(ir.RoutineCall(name, (
        ir.Const(_LETTER, ord("L")), ir.Const(_LETTER, ord("N" if is_right else "T")),
        rows, inner, one, right.base, arithmetic("max", rows if is_right else inner, ir.ONE),
        zero, target.base, arithmetic("floordiv", target.all_strides[0], item_size(target)),
    )))  # fmt: skip

    def mirror(indices: tuple[ir.Expr, ...]) -> None:
        (row,) = indices

        def column(j: ir.Expr) -> None:
            here, there = (
                ir.Element(target, place, (True, True)) for place in ((row, j), (j, row))
            )
            frame.lowering.emit(ir.SetElement(here, there))

        count_from(frame, ir.ZERO, row, column)

    loop_nest(frame, (rows,), mirror)


def _gemv(
    frame: Frame,
    node: ast.AST,
    name: str,
    target: ir.ArrayRef,
    matrix: ir.ArrayRef,
    vector: ir.ArrayRef,
    *,
    is_left: bool,
) -> None:
    """A matrix times a vector, or a vector times a matrix."""
    a, x = _matrix(frame, node, matrix), _vector(frame, node, vector)
    one, zero = (constant(number, target.type.element) for number in (1, 0))
    rows, columns = matrix.extents
    # By columns, the first extent of BLAS is that of the rows; by rows, of the columns.
    first, second = (
        arithmetic("select", a.is_turned, *pair) for pair in ((rows, columns), (columns, rows))
    )
    letter = _letter(a.is_turned, "N", "T") if is_left else _letter(a.is_turned, "T", "N")
    steps = [arithmetic("floordiv", each.all_strides[0], item_size(each)) for each in (x, target)]
    frame.lowering.emit(ir.RoutineCall(name, (
        letter, first, second, one, a.base, a.distance, x.base, steps[0], zero, target.base,
        steps[1],
    )))  # fmt: skip


def _letter(test_: ir.Expr, yes: str, no: str) -> ir.Expr:
    letters = (ir.Const(_LETTER, ord(letter)) for letter in (yes, no))
    return ir.Op("select", _LETTER, (test_, *letters))


def _matrix(frame: Frame, node: ast.AST, array: ir.ArrayRef) -> Matrix:
    """A matrix whose rows, or whose columns, lie in order: a copy, if it is no such one."""
    keep = frame.lowering.keep
    if array.type.layout in ("C", "F"):
        is_turned = array.type.layout == "F"
        distance = arithmetic("max", array.extents[0 if is_turned else 1], ir.ONE)
        return Matrix(array.base, distance, ir.Const(Scalar("b", 8), is_turned))
    is_by_rows = keep(_is_in_order(array, 0, 1))
    array = _copied_unless(frame, node, array, test("or", is_by_rows, _is_in_order(array, 1, 0)))
    # A copy lies by rows.
    is_turned_ = keep(test("not", _is_in_order(array, 0, 1)))
    step = arithmetic("select", is_turned_, *reversed(array.all_strides))
    least = arithmetic("select", is_turned_, *array.extents)
    distance = arithmetic("floordiv", step, item_size(array))
    distance = keep(arithmetic("max", distance, arithmetic("max", least, ir.ONE)))
    return Matrix(array.base, distance, is_turned_)


def _is_in_order(array: ir.ArrayRef, outer: int, inner: int) -> ir.Expr:
    """That elements along the inner axis are neighbours, and what lies along the outer one is
    apart by a number of elements."""
    size, strides = item_size(array), array.all_strides
    least = arithmetic("mul", array.extents[inner], size)
    is_apart = every([
        test("ge", strides[outer], least),
        test("eq", arithmetic("fmod", strides[outer], size), ir.ZERO),
    ])  # fmt: skip
    return every([
        test("eq", strides[inner], size),
        test("or", is_apart, test("le", array.extents[outer], ir.ONE)),
    ])  # fmt: skip


def _vector(frame: Frame, node: ast.AST, array: ir.ArrayRef) -> ir.ArrayRef:
    """A vector whose elements lie apart by a number of elements: a copy, if it is no such one."""
    if array.type.layout == "C":
        return array
    (stride,), size = array.all_strides, item_size(array)
    is_forward = test("ge", stride, size)
    is_whole = test("eq", arithmetic("fmod", stride, size), ir.ZERO)
    return _copied_unless(frame, node, array, test("and", is_forward, is_whole))


def _copied_unless(
    frame: Frame, node: ast.AST, array: ir.ArrayRef, condition: ir.Expr
) -> ir.ArrayRef:
    """An array, or a copy of it where a test does not hold."""
    lowering = frame.lowering
    into = new_variable(OneArray(replace(array.type, layout="strided")), "into")
    assert isinstance(into, ArrayOf)
    direct = all_at_once(settings(into, ArrayOf(array)))
    through: ir.Block = []
    with lowering.writing(through):
        value = expression_of(frame, ArrayOf(array))
        copy = materialised(frame, node, value, "copy", "C")
        lowering.block.extend(all_at_once(settings(into, copy)))
    lowering.emit(ir.If(condition, direct, through))
    return into.array


# -- routines that the library calls ----------------------------------------------------

_MISSING: Final = (
    "this process has no LAPACK: install NumPy from PyPI, which brings one, or SciPy, and call "
    "again"
)


def _lapack(call: KnownCall) -> Operand:
    """`lapack(name, ...)`: a routine with arrays, numbers and letters; its result is `info`."""
    name, *operands = map(resolve, call.args)
    routine = call.known_value(name)
    frame, lowering = call.frame, call.frame.lowering
    is_missing = test("eq", ir.Routine(routine), ir.ZERO)
    raise_if(frame, call.node, is_missing, "RuntimeError", _MISSING)
    args: list[ir.Expr] = []
    for operand in operands:
        match operand:
            case Known(str() as letter):
                args.append(ir.Const(_LETTER, ord(letter)))
            case ArrayOf(array) if array.type.ndim:
                args.append(array.base)
            case _:
                args.append(lowering.keep(call.number(operand)))
    info = ir.Local("info", WEAK_INT)
    lowering.emit(ir.RoutineCall(routine, tuple(args), info))
    return Value(ir.Get(info))


def _integer_bytes(call: KnownCall) -> Operand:
    return Value(ir.Routine("integer_bytes"))


ROUTINE_CALLS: Final[dict[str, Handler]] = {
    "whorl.library.lapack": _lapack,
    "whorl.library.integer_bytes": _integer_bytes,
}
"""By the name that a function has of its own."""
