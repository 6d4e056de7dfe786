"""Small vectors and matrices of fixed shape: operators on them, written out per component."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from whorl.kernels import ir
from whorl.kernels.types import WEAK_INT, Scalar, VectorType, promote

from .arithmetic import OPERATORS, NotPossible, as_float, binary, cast, scalar_type, unary
from .frame import Frame
from .joins import components, whole
from .operands import Items, Known, Operand, Value, Vec, ViewOperand, describe
from .run_values import decide, is_scalar, number

__all__ = [
    "ATTRIBUTES",
    "LARGEST",
    "binary_of",
    "copy_of",
    "cross",
    "dot",
    "filled",
    "index_of",
    "new",
    "norm",
    "part_of",
    "rows",
    "set_all",
    "together",
    "total",
    "unary_of",
    "vector_of",
]

LARGEST: Final = 256  # components of one vector
NO_STEP: Final = "the step of a slice is an int that is known at compile time, not 0"


def new(frame: Frame, shape: tuple[int, ...], exprs: Sequence[ir.Expr], name: str = "v") -> Vec:
    """A vector of these components, all of one type: that which they have together."""
    together = scalar_type(exprs[0])
    for expr in exprs[1:]:
        together = promote(together, scalar_type(expr))
    local = ir.Local(name, VectorType(together.strong, shape))
    vector = whole(local)
    for component, expr in zip(components(vector), exprs, strict=True):
        frame.lowering.emit(ir.SetComponent(component, cast(expr, together.strong)))
    return vector


def vector_of(frame: Frame, items: Sequence[Operand], element: Scalar | None = None) -> Vec:
    """A vector of numbers, or a matrix of rows."""
    if not items:
        raise NotPossible("a vector has at least one component")
    if all(isinstance(item, Items | Vec) for item in items):
        lines = [_line(item) for item in items]
        if len({len(line) for line in lines}) != 1:
            raise NotPossible("the rows of a matrix are of one length")
        exprs = [expr for line in lines for expr in line]
        shape: tuple[int, ...] = (len(lines), len(lines[0]))
    else:
        exprs, shape = _line(Items(tuple(items))), (len(items),)
    if element is not None:
        exprs = [cast(expr, element) for expr in exprs]
    if len(exprs) > LARGEST:
        raise NotPossible(
            f"a vector of {len(exprs)} components; they have at most {LARGEST}",
            "Make it an array, and pass it in.",
        )
    return new(frame, shape, exprs)


def _line(operand: Operand) -> list[ir.Expr]:
    if isinstance(operand, Vec):
        if len(operand.shape) != 1:
            raise NotPossible("matrices are made of numbers or of rows")
        return list(components(operand))
    assert isinstance(operand, Items)
    for item in operand.items:
        if not is_scalar(item):
            raise NotPossible(f"a component is a number, not {describe(item)}")
    return [number(item) for item in operand.items]


def filled(frame: Frame, shape: tuple[int, ...], value: ir.Expr) -> Vec:
    """A vector of equal components."""
    size = VectorType(scalar_type(value).strong, shape).size
    if not 0 < size <= LARGEST:
        raise NotPossible(
            f"a vector of {size} components; they have 1 to {LARGEST}",
            "Make it an array, and pass it in.",
        )
    return new(frame, shape, [frame.lowering.keep(value)] * size)


def rows(vec: Vec) -> list[Operand]:
    """What iterating over a vector yields: numbers, or the rows of a matrix."""
    if len(vec.shape) == 1:
        return [Value(component) for component in components(vec)]
    return [
        Vec(vec.local, vec.shape[1:], vec.begin + i * vec.steps[0], vec.steps[1:])
        for i in range(vec.shape[0])
    ]


# -- operators --------------------------------------------------------------------------


def binary_of(
    frame: Frame, node: ast.AST, op: ast.operator, left: Operand, right: Operand
) -> Operand:
    """An operator on vectors, or on a vector and a number."""
    if isinstance(op, ast.MatMult):
        if not (isinstance(left, Vec) and isinstance(right, Vec)):
            frame.refuse(node, f"`@` of {describe(left)} and {describe(right)}")
        return dot(frame, left, right)
    name, sign, _ = OPERATORS[type(op)]
    sides = together(left, right)
    if sides is None:
        frame.refuse(node, f"`{sign}` of {describe(left)} and {describe(right)}: they do not fit")
    shape, (left, right) = sides
    return elementwise(frame, shape, lambda a, b: binary(name, a, b), left, right)


def together(*operands: Operand) -> tuple[tuple[int, ...], Sequence[Operand]] | None:
    """Vectors and numbers in the shape that they have together, by NumPy's rules; None if they do
    not fit."""
    if not all(isinstance(side, Vec) or is_scalar(side) for side in operands):
        return None
    try:
        shape = np.broadcast_shapes(*(side.shape for side in operands if isinstance(side, Vec)))
    except ValueError:
        return None
    return shape, [_stretched(s, shape) if isinstance(s, Vec) else s for s in operands]


def _stretched(vec: Vec, shape: tuple[int, ...]) -> Vec:
    """A vector in another shape, in which each of its components may be several times."""
    missing = len(shape) - len(vec.shape)
    own = zip(vec.shape, vec.steps, strict=True)
    steps = (*(0,) * missing, *(0 if extent == 1 else step for extent, step in own))
    return Vec(vec.local, shape, vec.begin, steps)


def elementwise(
    frame: Frame,
    shape: tuple[int, ...],
    make: Callable[..., ir.Expr],
    *operands: Operand,
) -> Vec:
    """A vector of what is made of each component; numbers are the same for every one."""
    size = VectorType(Scalar("f", 64), shape).size
    sides: list[Sequence[ir.Expr]] = []
    for operand in operands:
        if isinstance(operand, Vec):
            sides.append(components(operand))
        else:
            sides.append([frame.lowering.keep(number(operand))] * size)
    return new(frame, shape, [make(*parts) for parts in zip(*sides, strict=True)])


def unary_of(frame: Frame, name: str, vec: Vec) -> Vec:
    """A sign on a vector."""
    if name == "not":
        raise NotPossible("a vector is neither true nor false")
    return new(frame, vec.shape, [unary(name, component) for component in components(vec)])


def set_all(frame: Frame, vec: Vec, value: Operand) -> None:
    """Set every component of a vector, in place."""
    targets = components(vec)
    if isinstance(value, Vec):
        sides = together(vec, value)
        if sides is None or sides[0] != vec.shape:
            raise NotPossible(f"{describe(value)} does not fit into {describe(vec)}")
        (_, value) = sides[1]
        assert isinstance(value, Vec)
        exprs: list[ir.Expr] = [frame.lowering.keep(part) for part in components(value)]
    else:
        exprs = [frame.lowering.keep(number(value))] * len(targets)
    for target, expr in zip(targets, exprs, strict=True):
        frame.lowering.emit(ir.SetComponent(target, cast(expr, vec.element)))


def copy_of(frame: Frame, vec: Vec) -> Vec:
    """A vector of its own with the same components."""
    return new(frame, vec.shape, components(vec))


# -- products ---------------------------------------------------------------------------


def dot(frame: Frame, left: Vec, right: Vec) -> Operand:
    """`left @ right`: of two vectors a number; with a matrix, a vector or matrix."""
    if left.shape[-1] != right.shape[0]:
        raise NotPossible(f"{describe(left)} and {describe(right)} do not fit")
    if len(left.shape) == 1 and len(right.shape) == 1:
        pairs = list(zip(components(left), components(right), strict=True))
        return Value(frame.lowering.keep(_sum([binary("mul", a, b) for a, b in pairs])))
    lines = rows(left) if len(left.shape) == 2 else [left]
    columns = rows(turned(right)) if len(right.shape) == 2 else [right]
    exprs = []
    for line in lines:
        for column in columns:
            assert isinstance(line, Vec)
            assert isinstance(column, Vec)
            pairs = list(zip(components(line), components(column), strict=True))
            exprs.append(_sum([binary("mul", a, b) for a, b in pairs]))
    return new(frame, (*left.shape[:-1], *right.shape[1:]), exprs)


def _sum(exprs: list[ir.Expr]) -> ir.Expr:
    total = exprs[0]
    for expr in exprs[1:]:
        total = binary("add", total, expr)
    return total


def total(frame: Frame, vec: Vec) -> Operand:
    """The sum of all components."""
    return Value(frame.lowering.keep(_sum(list(components(vec)))))


def cross(frame: Frame, left: Vec, right: Vec) -> Vec:
    """The cross product of two vectors of three components."""
    if left.shape != (3,) or right.shape != (3,):
        raise NotPossible(f"cross is for two vectors of 3, not {describe(left)}, {describe(right)}")
    a, b = components(left), components(right)
    exprs = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        exprs.append(binary("sub", binary("mul", a[i], b[j]), binary("mul", a[j], b[i])))
    return new(frame, (3,), exprs)


def norm(frame: Frame, vec: Vec) -> Operand:
    """The length of a vector."""
    squares = _sum([binary("mul", a, a) for a in map(as_float, components(vec))])
    return Value(frame.lowering.keep(ir.Op("sqrt", squares.type, (squares,))))


def turned(vec: Vec) -> Vec:
    """A matrix with rows and columns exchanged: the same memory."""
    return Vec(vec.local, vec.shape[::-1], vec.begin, vec.steps[::-1])


# -- parts ------------------------------------------------------------------------------


def index_of(frame: Frame, node: ast.AST, operand: Operand) -> ir.Expr:
    """An index as a 64-bit integer."""
    if not is_scalar(operand) or not scalar_type(number(operand)).is_integer:
        remedy = "Convert it with int(...)." if is_scalar(operand) else "Write a loop over indices."
        frame.refuse(node, f"an index is an int, not {describe(operand)}", remedy)
    return cast(number(operand), WEAK_INT)


def component_of(frame: Frame, node: ast.AST, vec: Vec, indices: list[Any]) -> ir.Component:
    """One component, by an index for each axis."""
    place: ir.Expr = ir.Const(WEAK_INT, vec.begin)
    for axis, (index, extent, step) in enumerate(zip(indices, vec.shape, vec.steps, strict=True)):
        expr = index_of(frame, node, index)
        if isinstance(expr, ir.Const):
            constant = int(expr.value)
            if not -extent <= constant < extent:
                frame.refuse(node, f"index {constant} is out of bounds for axis {axis} of {vec}")
            expr = ir.Const(WEAK_INT, constant % extent)
        else:
            text = f"index {{0}} is out of bounds for axis {axis} of {describe(vec)}"
            site = frame.check(node, "IndexError", f"{text}, of size {{2}}")
            expr = ir.Op("wrap", WEAK_INT, (expr, ir.Const(WEAK_INT, extent)), site)
        place = _added(place, expr, step)
    return ir.Component(vec.local, place)


def _added(place: ir.Expr, index: ir.Expr, step: int) -> ir.Expr:
    if isinstance(place, ir.Const) and isinstance(index, ir.Const):
        return ir.Const(WEAK_INT, int(place.value) + int(index.value) * step)
    scaled = index if step == 1 else binary("mul", index, ir.Const(WEAK_INT, step))
    return scaled if isinstance(place, ir.Const) and place.value == 0 else binary(
        "add", place, scaled)  # fmt: skip


def part_of(frame: Frame, node: ast.AST, vec: Vec, indices: list[Any]) -> Operand:
    """A component, a row, or a slice of a vector."""
    if len(indices) > len(vec.shape):
        frame.refuse(node, f"{len(indices)} indices for {describe(vec)}")
    if len(indices) == len(vec.shape) and not any(isinstance(i, tuple) for i in indices):
        return Value(component_of(frame, node, vec, indices))
    begin = vec.begin
    shape: list[int] = []
    steps: list[int] = []
    every = [*indices, *[(None, None, None)] * (len(vec.shape) - len(indices))]
    for axis, (index, extent, step) in enumerate(zip(every, vec.shape, vec.steps, strict=True)):
        if isinstance(index, tuple):
            values = [None if side is None else _known_index(frame, node, side) for side in index]
            if values[2] == 0:
                frame.refuse(node, NO_STEP)
            places = range(extent)[slice(*values)]
            if not places:
                frame.refuse(node, "an empty slice of a vector")
            begin += places[0] * step
            shape.append(len(places))
            steps.append(step * places.step)
        else:
            place = _known_index(frame, node, index)
            if not -extent <= place < extent:
                frame.refuse(node, f"index {place} is out of bounds for axis {axis} of {vec}")
            begin += range(extent)[place] * step
    return Vec(vec.local, tuple(shape), begin, tuple(steps))


def _known_index(frame: Frame, node: ast.AST, operand: Operand) -> int:
    """An index of a row or slice, which has to be known now."""
    if isinstance(operand, ViewOperand):
        operand = decide(operand)
    if is_scalar(operand) and not isinstance(operand, Known):
        frame.refuse(
            node,
            "a row or slice of a vector is taken at indices that are known at compile time",
            "Index it down to a number, or unroll the loop with whorl.static(range(...)).",
        )
    value = operand.value if isinstance(operand, Known) else None
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        frame.refuse(node, f"an index is an int, not {describe(operand)}")
    return int(value)


ATTRIBUTES: Final[dict[str, Callable[[Vec], Operand]]] = {
    "shape": lambda vec: Known(vec.shape),
    "size": lambda vec: Known(VectorType(vec.element, vec.shape).size),
    "ndim": lambda vec: Known(len(vec.shape)),
    "dtype": lambda vec: Known(vec.element.dtype),
    "T": turned,
}
