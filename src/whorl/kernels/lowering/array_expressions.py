"""Expressions over whole arrays: an operator, or a function of numbers, for each element.

Nothing is stored. An expression is an `Elementwise`: its element type, its extents, and what its
element at some indices is. The statement that needs it writes one loop nest, see
`array_statements`. Shapes are brought together as NumPy does it; lengths that are not known to fit
are compared at run time, before anything is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Final

from numpy import ndindex

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.ir_walk import every_expression, every_part
from whorl.kernels.overlap import every, test
from whorl.kernels.small_vectors import SmallArray
from whorl.kernels.types import WEAK_INT, Scalar
from whorl.launch.scalar_functions import SCALAR_FUNCTIONS
from whorl.launch.slot_types import SMALL_EXTENT

from .arithmetic import NotPossible, binary, cast, constant, power, scalar_type
from .complex_functions import complex_reciprocal
from .frame import Frame
from .operands import (
    Access,
    ArrayOf,
    Elementwise,
    Items,
    Iteration,
    Operand,
    Vec,
    ViewOperand,
    describe,
)
from .run_values import is_scalar, number, resolve
from .vectors import LARGEST, new, vector_of

__all__ = [
    "FEW",
    "array_binary",
    "array_power",
    "array_product",
    "as_vector",
    "beside_vectors",
    "by_rule",
    "elementwise",
    "expression_of",
    "fit",
    "is_array",
    "is_expected",
    "is_one_at_most",
    "is_same",
    "is_stretched",
    "own_indices",
    "raise_if",
    "read_extents",
    "region_of",
    "shape_text",
    "small_vector",
    "source_text",
    "stretched_places",
    "turned",
    "with_small_extents",
]

_COSTLY: Final = frozenset(row.operation for row in SCALAR_FUNCTIONS if not row.is_whole)
FEW: Final = 16
"""Elements of an array that becomes a vector where it meets one, or a function of vectors."""
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
            return _array(with_small_extents(frame, array))
        case Vec():
            return _vector(operand)
        case Iteration():
            return _iteration(frame, operand)
        case Items(items):
            return _vector(vector_of(frame, [resolve(item) for item in items]))
    if not is_scalar(operand):
        raise NotPossible(f"{describe(operand)} is no array, and no number")
    expr = frame.lowering.keep(number(operand))
    return Elementwise(scalar_type(expr), (), lambda indices, access: expr)


def _iteration(frame: Frame, source: Iteration) -> Elementwise:
    """The numbers of a range, or of a comprehension."""

    def element(count: ir.Expr) -> ir.Expr:
        item = resolve(source.item((count,)))
        if not is_scalar(item):
            raise NotPossible(f"{describe(item)} is an item here, and no number")
        return number(item)

    with frame.lowering.writing([]):
        type = scalar_type(element(ir.Get(ir.Local("count", WEAK_INT))))

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        (own,) = own_indices(source.extents, indices, access)
        return element(own)

    return Elementwise(type, source.extents, at)


def with_small_extents(
    frame: Frame, array: ir.ArrayRef, *, everywhere: bool = False
) -> ir.ArrayRef:
    """A row of an argument, as of an (n, 3) array, with what is small of its shape known now.

    In a loop, and `everywhere` where it meets a small vector, such a row is one too: LLVM keeps its
    elements in registers if it knows how many there are. The length is a fact of the specialization
    then, and only then.
    """
    if not everywhere and not any(caller.loops for caller in frame.callers):
        return array
    extents: list[ir.Expr] = []
    for extent in array.extents:
        if not isinstance(extent, ir.Extent | ir.Const):
            return array
        if isinstance(extent, ir.Extent):
            view = frame.lowering.slots.arrays[extent.slot]
            if extent.axis == 0 or view.peek().shape[extent.axis] > SMALL_EXTENT:
                return array
            shape = view.attr("shape")
            extents.append(ir.Const(WEAK_INT, shape.item(extent.axis).value()))
        else:
            extents.append(extent)
    return replace(array, extents=tuple(extents))


def _array(array: ir.ArrayRef) -> Elementwise:
    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        place = access.places.get(array, array)
        if access.is_broadcast and array in access.stretched:
            place, access = access.stretched[array], replace(access, is_broadcast=False)
        own = own_indices(array.extents, indices, access)
        scope = 0 if access.target is not None and is_same(array, access.target) else access.scope
        return ir.Element(place, own, (True,) * len(own), scope=scope)

    return Elementwise(array.type.element, array.extents, at, (array,), is_plain=True)


def stretched_places(
    frame: Frame, places: Mapping[ir.ArrayRef, ir.ArrayRef]
) -> dict[ir.ArrayRef, ir.ArrayRef]:
    """Where arrays are, with a stride of 0 along the axes that have the length 1 at run time."""
    keep = frame.lowering.keep

    def stride(extent: ir.Expr, step: ir.Expr) -> ir.Expr:
        return keep(ir.Op("select", WEAK_INT, (test("eq", extent, ir.ONE), ir.ZERO, step)))

    return {
        array: replace(
            place,
            type=replace(place.type, layout="strided"),
            base=keep(place.base),
            strides=tuple(map(stride, place.extents, place.all_strides)),
        )
        for array, place in places.items()
        if any(not isinstance(extent, ir.Const) for extent in array.extents)
    }


def is_same(one: ir.ArrayRef, other: ir.ArrayRef) -> bool:
    """Whether two arrays are known to be the same part of the same memory."""
    return one.parts == other.parts and one.type.layout == other.type.layout


def _vector(vec: Vec) -> Elementwise:
    extents: tuple[ir.Expr, ...] = tuple(ir.Const(WEAK_INT, extent) for extent in vec.shape)

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        place: ir.Expr = ir.Const(WEAK_INT, vec.begin)
        own = own_indices(extents, indices, access)
        for index, step in zip(own, vec.steps, strict=True):
            place = binary("add", place, binary("mul", index, ir.Const(WEAK_INT, step)))
        return ir.Component(vec.local, place)

    return Elementwise(vec.element, extents, at, vectors=(vec.local,))


def small_vector(frame: Frame, operand: Operand, largest: int = LARGEST) -> Vec | None:
    """The numbers of a small array as a vector, if its shape can be known now: that of an argument,
    or of a part of one, becomes a fact. None of all others."""
    operand = resolve(operand)
    match operand:
        case ArrayOf(array) if array.type.ndim:
            extents = read_extents(frame, array.extents, largest)
            operand = ArrayOf(replace(array, extents=extents))
        case Elementwise(extents=extents):
            operand = replace(operand, extents=read_extents(frame, extents, largest))
    return as_vector(frame, operand)


def read_extents(frame: Frame, extents: tuple[ir.Expr, ...], largest: int) -> tuple[ir.Expr, ...]:
    """Lengths of arguments as facts; as they are, if not all are known or it is a large array."""
    arrays = frame.lowering.slots.arrays
    sizes: list[int] = []
    for extent in extents:
        if not isinstance(extent, ir.Extent | ir.Const):
            return extents
        if isinstance(extent, ir.Const):
            sizes.append(int(extent.value))
            continue
        size = arrays[extent.slot].peek().shape[extent.axis]
        if largest <= FEW and size > SMALL_EXTENT:  # a type of arguments does not say it
            return extents
        sizes.append(size)
    if prod(sizes) > largest:
        return extents
    return tuple(
        ir.Const(WEAK_INT, arrays[extent.slot].attr("shape").item(extent.axis).value())
        if isinstance(extent, ir.Extent)
        else extent
        for extent in extents
    )


def beside_vectors(frame: Frame, operands: Sequence[Operand]) -> list[Operand]:
    """Operands of which one is a small vector: small arrays that fit are vectors, too."""
    vec = next((each for each in operands if isinstance(each, Vec)), None)
    if vec is None and sum(map(is_array, operands)) > 1:
        vec = next((each for each in map(partial(_made_outside, frame), operands) if each), None)
    if vec is None:
        return list(operands)
    return [_beside_vector(frame, each, vec) for each in operands]


def _made_outside(frame: Frame, operand: Operand) -> Vec | None:
    """A vector that `whorl.vec` has made in plain Python: an argument, or a global."""
    match operand:
        case ArrayOf(ir.ArrayRef(extents=(ir.Extent(slot), *_))) if (
            type(frame.lowering.slots.arrays[slot].peek()) is SmallArray
        ):
            return small_vector(frame, operand, FEW)
    return None


def _beside_vector(frame: Frame, operand: Operand, vec: Vec) -> Operand:
    """An operand beside a small vector: as one of its own, if it is a small array that fits."""
    if not is_array(operand):
        return operand
    if expression_of(frame, operand).ndim > len(vec.shape):
        return operand
    small = small_vector(frame, operand, FEW)
    return operand if small is None else small


def as_vector(frame: Frame, operand: Operand) -> Vec | None:
    """The numbers of a small array of known shape as a vector; None of all others."""
    if isinstance(operand, Vec):
        return operand
    if not is_array(operand):
        return None
    value = expression_of(frame, operand)
    shape = tuple(int(each.value) for each in value.extents if isinstance(each, ir.Const))
    if len(shape) != value.ndim or not 0 < prod(shape) <= LARGEST:
        return None
    places = [tuple(ir.Const(WEAK_INT, index) for index in each) for each in ndindex(*shape)]
    return new(frame, shape, [value.at(place, Access()) for place in places])


def by_rule(
    element: Scalar,
    extents: tuple[ir.Expr, ...],
    make: Callable[[tuple[ir.Expr, ...]], ir.Expr],
) -> Elementwise:
    """An array whose elements follow from their indices."""

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        return make(own_indices(extents, indices, access))

    return Elementwise(element, extents, at)


def region_of(array: ir.ArrayRef) -> ir.ArrayRef:
    """The memory of an array whose elements are read at other indices than those of an expression:
    with an axis of a stride that no part of an array has, so that it is never one that is set."""
    type = replace(array.type, ndim=array.type.ndim + 1, layout="strided")
    extents, strides = (ir.ONE, *array.extents), (ir.ONE, *array.all_strides)
    return ir.ArrayRef(type, array.base, extents, strides, array.path, owner=array.owner)


def is_one_at_most(extent: ir.Expr) -> bool:
    """Whether an axis is known to have one element, or none: `x[:, k:k + 1]`."""
    match extent:
        case ir.Op("min", args=(_, ir.Const(_, 1))):
            return True
    return False


def is_expected(extent: ir.Expr, other: ir.Expr) -> ir.Expr:
    """The test that two axes are as they mostly are together: equally long, or the second has one
    element, if it has no more than that."""
    if is_one_at_most(extent) == is_one_at_most(other):
        return test("eq", extent, other)
    return test("eq", extent if is_one_at_most(extent) else other, ir.ONE)


def own_indices(
    extents: tuple[ir.Expr, ...], indices: tuple[ir.Expr, ...], access: Access
) -> tuple[ir.Expr, ...]:
    """The last indices; an axis of length 1 has one element for all of them."""
    own: list[ir.Expr] = []
    for extent, index in zip(extents, indices[len(indices) - len(extents) :], strict=True):
        if extent == ir.ONE or is_one_at_most(extent):
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
    parts = [
        _array(frame.lowering.syntax.stored(frame, node, part))
        if is_stretched(part, extents)
        else part
        for part in parts
    ]
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
    element, is_costly = _kind_of(frame, make, samples)
    return Elementwise(
        element,
        extents,
        at,
        tuple(array for part in parts for array in part.arrays),
        tuple(local for part in parts for local in part.vectors),
        tuple(dict.fromkeys(conditions)),
        is_costly=is_costly or any(part.is_costly for part in parts),
    )


def is_stretched(part: Elementwise, extents: tuple[ir.Expr, ...]) -> bool:
    """Whether each element of an expression would be evaluated several times, which costs more
    than storing all of them once."""
    if not part.is_costly or not part.ndim:
        return False
    new = len(extents) - part.ndim
    pairs = zip(part.extents, extents[new:], strict=True)
    is_wider = any(own == ir.ONE != extent for own, extent in pairs)
    return is_wider or any(extent != ir.ONE for extent in extents[:new])


def _kind_of(
    frame: Frame, make: Callable[..., ir.Expr], samples: Sequence[ir.Expr]
) -> tuple[Scalar, bool]:
    """The type of what a function makes, and whether that is costly; what it writes to make it is
    dropped."""
    block: ir.Block = []
    with frame.lowering.writing(block):
        result = make(*samples)
    every_expr = (*every_part(result), *every_expression(block))
    is_costly = any(isinstance(each, ir.Op) and each.name in _COSTLY for each in every_expr)
    return scalar_type(result), is_costly


def array_binary(frame: Frame, node: ast.AST, name: str, left: Operand, right: Operand) -> Operand:
    """An operator on arrays, or on an array and a number."""
    if name == "pow":
        return elementwise(frame, node, array_power, (left, right))
    make = array_product if name == "mul" else partial(binary, name)
    return elementwise(frame, node, make, (left, right), keeps=False)


def array_product(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """A product as NumPy's loops over arrays have it: where the processor multiplies and adds in
    one step, so do those of complex numbers."""
    result = binary("mul", left, right)
    if isinstance(result, ir.Op) and scalar_type(result).is_complex:
        return ir.Op("fused_mul", result.type, result.args)
    return result


def array_power(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """A power as NumPy has it for arrays: products only where NumPy multiplies."""
    a, b = scalar_type(left), scalar_type(right)
    if not (isinstance(right, ir.Const) and b.weak and a.is_inexact):
        result = power(left, right)
        if scalar_type(result).is_float:
            together = scalar_type(result)
            return ir.Op("pow", together, (cast(left, together), cast(right, together)))
        return result
    match float(right.value):
        case 2.0:
            return array_product(left, left)
        case 1.0:
            return left
        case 0.5:
            return ir.Op("sqrt", a, (left,))
        case -1.0 if a.is_complex:
            return complex_reciprocal(left)
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

    if ndim < 2:
        return value
    arrays = tuple(map(region_of, value.arrays))
    return replace(value, extents=value.extents[::-1], at=at, arrays=arrays, is_plain=False)


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
        others.sort(key=is_one_at_most)
        extent = others[0] if others else ir.ONE
        for other in others[1:]:
            is_equal = keep(test("eq", extent, other))
            is_one, is_other_one = test("eq", extent, ir.ONE), test("eq", other, ir.ONE)
            problems.append(test("not", every((is_equal, is_one, is_other_one), "or")))
            conditions.append(keep(is_expected(extent, other)))
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
    text = f"the shapes {words} do not fit together in {source_text(frame, node)}"
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


def source_text(frame: Frame, node: ast.AST) -> str:
    """The source of a node in the text of a site."""
    text = frame.source.text(node)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3]}..."
    return f"`{text.replace('{', '{{').replace('}', '}}')}`"
