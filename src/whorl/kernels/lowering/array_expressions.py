"""Expressions over whole arrays: an operator, or a function of numbers, for each element.

Nothing is stored. An expression is an `Elementwise`: its element type, its extents, and what its
element at some indices is. The statement that needs it writes one loop nest, see
`array_statements`. Shapes are brought together as NumPy does it; lengths that are not known to fit
are compared at run time, before anything is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import every, test
from whorl.kernels.types import WEAK_INT, Scalar

from .arithmetic import NotPossible, binary, cast, constant, power, scalar_type
from .frame import Frame
from .operands import (
    Access,
    ArrayOf,
    Elementwise,
    Items,
    Operand,
    Vec,
    ViewOperand,
    describe,
)
from .run_values import is_scalar, number, resolve
from .vectors import vector_of

__all__ = [
    "array_binary",
    "array_power",
    "by_rule",
    "elementwise",
    "expression_of",
    "fit",
    "is_array",
    "is_same",
    "raise_if",
    "shape_text",
    "source_text",
    "turned",
]

_LONGEST = 60  # of a source text in a message


def is_array(operand: Operand) -> bool:
    """Whether an operand is an array with dimensions."""
    match operand:
        case ArrayOf(array):
            return array.type.ndim > 0
        case Elementwise():
            return operand.ndim > 0
        case ViewOperand():
            decided = resolve(operand)
            return isinstance(decided, ArrayOf) and is_array(decided)
    return False


# -- leaves -----------------------------------------------------------------------------


def expression_of(frame: Frame, operand: Operand) -> Elementwise:
    """An operand as an expression: an array, a vector, a list of numbers, or a number."""
    operand = resolve(operand)
    match operand:
        case Elementwise():
            return operand
        case ArrayOf(array) if array.type.ndim:
            return _array(array)
        case Vec():
            return _vector(operand)
        case Items(items):
            return _vector(vector_of(frame, [resolve(item) for item in items]))
    if not is_scalar(operand):
        raise NotPossible(f"{describe(operand)} is no array, and no number")
    expr = frame.lowering.keep(number(operand))
    return Elementwise(scalar_type(expr), (), lambda indices, access: expr)


def _array(array: ir.ArrayRef) -> Elementwise:
    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        own = _own_indices(array.extents, indices, access)
        scope = 0 if access.target is not None and is_same(array, access.target) else access.scope
        place = access.places.get(array, array)
        return ir.Element(place, own, (True,) * len(own), scope=scope)

    return Elementwise(array.type.element, array.extents, at, (array,))


def is_same(one: ir.ArrayRef, other: ir.ArrayRef) -> bool:
    """Whether two arrays are known to be the same part of the same memory."""
    return one.parts == other.parts and one.type.layout == other.type.layout


def _vector(vec: Vec) -> Elementwise:
    extents: tuple[ir.Expr, ...] = tuple(ir.Const(WEAK_INT, extent) for extent in vec.shape)

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        place: ir.Expr = ir.Const(WEAK_INT, vec.begin)
        own = _own_indices(extents, indices, access)
        for index, step in zip(own, vec.steps, strict=True):
            place = binary("add", place, binary("mul", index, ir.Const(WEAK_INT, step)))
        return ir.Component(vec.local, place)

    return Elementwise(vec.element, extents, at, vectors=(vec.local,))


def by_rule(
    element: Scalar,
    extents: tuple[ir.Expr, ...],
    make: Callable[[tuple[ir.Expr, ...]], ir.Expr],
) -> Elementwise:
    """An array whose elements follow from their indices."""

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        return make(_own_indices(extents, indices, access))

    return Elementwise(element, extents, at)


def _own_indices(
    extents: tuple[ir.Expr, ...], indices: tuple[ir.Expr, ...], access: Access
) -> tuple[ir.Expr, ...]:
    """The last indices; an axis of length 1 has one element for all of them."""
    own: list[ir.Expr] = []
    for extent, index in zip(extents, indices[len(indices) - len(extents) :], strict=True):
        if extent == ir.ONE:
            own.append(ir.ZERO)
        elif access.is_broadcast and not isinstance(extent, ir.Const):
            is_one = test("eq", extent, ir.ONE)
            own.append(ir.Op("select", WEAK_INT, (is_one, ir.ZERO, index)))
        else:
            own.append(index)
    return tuple(own)


# -- operations -------------------------------------------------------------------------


def elementwise(
    frame: Frame,
    node: ast.AST,
    make: Callable[..., ir.Expr],
    operands: Sequence[Operand],
    *,
    keeps: bool = True,
) -> Elementwise:
    """What a function makes of the elements of operands; `keeps` if it may use one twice."""
    parts = [expression_of(frame, operand) for operand in operands]
    extents, conditions = fit(frame, node, parts)
    keep = frame.lowering.keep

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        elements = [part.at(indices, access) for part in parts]
        return make(*(keep(element) if keeps else element for element in elements))

    # Of a number the element is the number itself: a constant may count as a constant.
    samples = [
        ir.Get(ir.Local("element", part.element)) if part.extents else part.at((), Access())
        for part in parts
    ]
    conditions += tuple(each for part in parts for each in part.conditions)
    return Elementwise(
        scalar_type(make(*samples)),
        extents,
        at,
        tuple(array for part in parts for array in part.arrays),
        tuple(local for part in parts for local in part.vectors),
        tuple(dict.fromkeys(conditions)),
    )


def array_binary(frame: Frame, node: ast.AST, name: str, left: Operand, right: Operand) -> Operand:
    """An operator on arrays, or on an array and a number."""
    if name == "pow":
        return elementwise(frame, node, array_power, (left, right))
    return elementwise(frame, node, lambda a, b: binary(name, a, b), (left, right), keeps=False)


def array_power(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """A power as NumPy has it for arrays: products only where NumPy multiplies."""
    a, b = scalar_type(left), scalar_type(right)
    if not (isinstance(right, ir.Const) and b.weak and a.is_float):
        result = power(left, right)
        if scalar_type(result).is_float:
            together = scalar_type(result)
            return ir.Op("pow", together, (cast(left, together), cast(right, together)))
        return result
    match float(right.value):
        case 2.0:
            return binary("mul", left, left)
        case 1.0:
            return left
        case 0.5:
            return ir.Op("sqrt", a, (left,))
        case -1.0:
            return binary("div", constant(1, a), left)
        case 0.0:
            return constant(1, a)
    return ir.Op("pow", a, (left, cast(right, a)))


def turned(value: Elementwise) -> Elementwise:
    """An expression with its axes in reverse."""
    ndim = value.ndim

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        return value.at(indices[len(indices) - ndim :][::-1], access)

    return replace(value, extents=value.extents[::-1], at=at)


# -- shapes -----------------------------------------------------------------------------


def fit(
    frame: Frame, node: ast.AST, parts: Sequence[Elementwise]
) -> tuple[tuple[ir.Expr, ...], tuple[ir.Expr, ...]]:
    """The extents of several expressions together, and the tests that no axis is stretched.

    Where they do not fit at run time, the launch ends with a ValueError.
    """
    keep = frame.lowering.keep
    ndim = max((part.ndim for part in parts), default=0)
    extents: list[ir.Expr] = []
    conditions: list[ir.Expr] = []
    problems: list[ir.Expr] = []
    for axis in range(-ndim, 0):
        lengths = [part.extents[axis] for part in parts if -axis <= part.ndim]
        others = [length for length in dict.fromkeys(lengths) if length != ir.ONE]
        extent = others[0] if others else ir.ONE
        for other in others[1:]:
            is_equal = keep(test("eq", extent, other))
            is_one, is_other_one = test("eq", extent, ir.ONE), test("eq", other, ir.ONE)
            problems.append(test("not", every((is_equal, is_one, is_other_one), "or")))
            conditions.append(is_equal)
            extent = keep(ir.Op("select", WEAK_INT, (is_one, other, extent)))
        extents.append(extent)
    if problems:
        shapes = [part.extents for part in parts if part.extents]
        _refuse_at_run_time(frame, node, every(problems, "or"), shapes)
    return tuple(extents), tuple(conditions)


def _refuse_at_run_time(
    frame: Frame, node: ast.AST, problem: ir.Expr, shapes: Sequence[tuple[ir.Expr, ...]]
) -> None:
    words = ", ".join(map(shape_text, shapes[:-1])) + f" and {shape_text(shapes[-1])}"
    text = f"the shapes {words} do not fit together in {source_text(node)}"
    raise_if(
        frame, node, problem, "ValueError", text, [extent for each in shapes for extent in each]
    )


def raise_if(
    frame: Frame,
    node: ast.AST,
    problem: ir.Expr,
    error: str,
    text: str,
    values: Sequence[ir.Expr] = (),
) -> None:
    """End the launch with an error where a test of the run holds, in debug and without."""
    types = (WEAK_INT,) * len(values)
    site = frame.lowering.site(error, text, frame.line(node), types)
    frame.lowering.emit(ir.If(problem, [ir.Raise(site, tuple(values))], []))


def shape_text(extents: Sequence[ir.Expr]) -> str:
    """A shape in the text of a site, with a place for each length."""
    return f"({', '.join('{}' for _ in extents)}{',' * (len(extents) == 1)})"


def source_text(node: ast.AST) -> str:
    """The source of a node in the text of a site."""
    text = ast.unparse(node)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3]}..."
    return f"`{text.replace('{', '{{').replace('}', '}}')}`"
