"""Statements over whole arrays: one loop nest that sets every element of an array.

What a statement reads may be what it sets: `a[1:] = a[:-1]`, or two arguments that share memory.
NumPy's result is that of reading everything first. Where arrays are not known to lie apart, they
are compared at run time: if they overlap, and not element by element, the expression is evaluated
into memory of its own and copied then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import are_disjoint, are_the_same, every, test
from whorl.kernels.types import WEAK_INT

from .arithmetic import cast
from .array_expressions import (
    expression_of,
    is_expected,
    is_one_at_most,
    is_stretched,
    raise_if,
    shape_text,
    source_text,
    stretched_places,
    with_small_extents,
)
from .array_memory import new_array
from .frame import Frame
from .joins import OneArray, all_at_once, new_variable, settings
from .operands import Access, ArrayOf, Elementwise, Operand, Value
from .run_values import number, resolve

__all__ = [
    "UNALIGNED",
    "fitted",
    "loop_nest",
    "materialised",
    "may_overlap",
    "set_elements",
    "stored",
    "update_elements",
]


def loop_nest(
    frame: Frame,
    extents: Sequence[ir.Expr],
    body: Callable[[tuple[ir.Expr, ...]], None],
    *,
    order: str = "C",
    is_free: bool = False,
    is_rare: bool = False,
    reductions: tuple[ir.Reduction, ...] = (),
) -> None:
    """Loops over all indices of an array, the last axis innermost; with "F" the first one.

    `is_free` if no iteration needs what another one does, except for what they add up. `is_rare`
    if they hardly ever run.
    """
    lowering = frame.lowering
    counts = [ir.Local(f"i{axis}", WEAK_INT) for axis in range(len(extents))]
    inner: ir.Block = []
    with lowering.writing(inner):
        body(tuple(ir.Get(count) for count in counts))
    axes = range(len(extents))
    for axis in axes if order == "F" else reversed(axes):
        label = lowering.label("each")
        bounds = (ir.ZERO, extents[axis], ir.ONE)
        inner = [ir.For(label, counts[axis], *bounds, inner, is_free, reductions, is_rare)]
    lowering.block.extend(inner)


def materialised(
    frame: Frame,
    node: ast.AST,
    value: Elementwise,
    name: str = "array",
    order: str = "",
    *,
    is_result: bool = False,
) -> ArrayOf:
    """An expression as an array in memory of its own; in the order of what it reads, if none is
    wanted. `is_result` if it will be returned."""
    lowering = frame.lowering
    if not order:
        is_f = value.arrays and all(each.type.layout == "F" for each in value.arrays)
        order = "F" if is_f else "C"
    array = new_array(
        frame,
        node,
        value.element.strong,
        value.extents,
        name,
        order=order,
        is_checked=not value.conditions and len(value.arrays) == 1,
        is_result=is_result,
    )
    places = _places(frame, value.arrays)

    fast = _set_each(frame, array, value, Access(False, lowering.scope(), places=places))
    if not value.conditions:
        lowering.block.extend(fast)
        return ArrayOf(array)
    slow: ir.Block = []
    with lowering.writing(slow):
        stretched = stretched_places(frame, places)
        access = Access(True, lowering.scope(), places=places, stretched=stretched)
        lowering.block.extend(_set_each(frame, array, value, access, is_rare=True))
    lowering.emit(ir.If(every(value.conditions), fast, slow))
    return ArrayOf(array)


def stored(frame: Frame, node: ast.AST, operand: Operand) -> ArrayOf:
    """An array of the run as one in memory."""
    operand = resolve(operand)
    if isinstance(operand, ArrayOf):
        return operand
    return materialised(frame, node, expression_of(frame, operand))


def _places(frame: Frame, arrays: Sequence[ir.ArrayRef]) -> dict[ir.ArrayRef, ir.ArrayRef]:
    """Arrays with their addresses, extents and strides worked out."""
    keep = frame.lowering.keep
    return {
        array: replace(
            array,
            base=keep(array.base),
            extents=tuple(map(keep, array.extents)),
            strides=None if array.strides is None else tuple(map(keep, array.strides)),
        )
        for array in dict.fromkeys(arrays)
    }


def _set_each(
    frame: Frame,
    array: ir.ArrayRef,
    value: Elementwise,
    access: Access,
    *,
    is_rare: bool = False,
) -> ir.Block:
    """The loops that set each element of an array to that of an expression."""
    element = array.type.element
    place = access.places.get(array, array)

    def body(indices: tuple[ir.Expr, ...]) -> None:
        target = ir.Element(place, indices, (True,) * len(indices), scope=access.scope)
        number = cast(value.at(indices, access), element)
        frame.lowering.emit(ir.SetElement(target, number))

    block: ir.Block = []
    with frame.lowering.writing(block):
        order = array.type.layout
        loop_nest(frame, place.extents, body, order=order, is_free=True, is_rare=is_rare)
    return block


def set_elements(frame: Frame, node: ast.AST, target: ir.ArrayRef, operand: Operand) -> None:
    """Set every element of an array to what an expression is there."""
    lowering = frame.lowering
    target = with_small_extents(frame, target)
    value, conditions = fitted(frame, node, target, expression_of(frame, operand))
    risky = [array for array in dict.fromkeys(value.arrays) if may_overlap(frame, array, target)]
    places = _places(frame, (target, *value.arrays))
    edges = [array for array in risky if _is_edge(array, target)]
    since = ir.Local("since", WEAK_INT)
    if edges:
        lowering.emit(ir.Mark(since))
        risky = [array for array in risky if array not in edges]
        for array in edges:
            edge = expression_of(frame, ArrayOf(array))
            places[array] = materialised(frame, node, edge, "edge").array
    tests = [*conditions, *_disjoint(risky, target)]
    access = Access(False, lowering.scope(), target, places)
    fast = _set_each(frame, target, value, access)
    if not tests:
        lowering.block.extend(fast)
        if edges:
            lowering.emit(ir.Sweep(since))
        return
    slow: ir.Block = []
    with lowering.writing(slow):
        stretched = stretched_places(frame, places) if conditions else {}
        access = Access(bool(conditions), places=places, stretched=stretched)
        _set_carefully(frame, node, target, value, risky, access)
    lowering.emit(ir.If(every(tests), fast, slow))
    if edges:
        lowering.emit(ir.Sweep(since))


def _is_edge(array: ir.ArrayRef, target: ir.ArrayRef) -> bool:
    """Whether an array is a row, or a column, or the like, of the memory that is set: a copy of it
    is small, and then it overlaps nothing."""
    if _root(array).base != _root(target).base:
        return False
    is_long = [extent != ir.ONE and not is_one_at_most(extent) for extent in array.extents]
    return sum(is_long) < target.type.ndim and not any(map(is_one_at_most, target.extents))


def _disjoint(arrays: Sequence[ir.ArrayRef], target: ir.ArrayRef) -> list[ir.Expr]:
    """Tests that arrays and a target lie apart: of parts of one other array, that this does."""
    root = _root(target)
    others = (array if _root(array) == root else _root(array) for array in arrays)
    return [are_disjoint(array, target) for array in dict.fromkeys(others)]


def _root(array: ir.ArrayRef) -> ir.ArrayRef:
    while array.part_of is not None:
        array = array.part_of[0]
    return array


def emit_update(frame: Frame, node: ast.AST, update: ir.Update) -> None:
    """Write an update in a parallel loop. Several steps that change a complex number are refused
    if another iteration may reach it: the two parts are changed one after the other."""
    if update.element.type.is_complex:
        update.refusal = frame.source.error(
            node,
            "iterations of prange may change one complex number at the same time, and only += and "
            f"-= of {update.element.type} work then",
            "Use an element for each iteration, or two arrays of floats.",
        )
    if update.element.array.type.alignment == "none":
        update.refusal = frame.source.error(node, *UNALIGNED)
    frame.lowering.emit(update)


UNALIGNED: Final = (
    "iterations of prange may change one field of packed records at the same time, and it does not "
    "lie where the processor can change it in one step",
    "Make the dtype with np.dtype(..., align=True), or use an array of its own.",
)


def update_elements(
    frame: Frame,
    node: ast.AST,
    target: ir.ArrayRef,
    operand: Operand,
    change: Callable[[Operand, Operand], Operand],
) -> None:
    """Change every element of an array that other iterations of prange may change as well.

    `change` makes the new element of the old one and an operand.
    """
    lowering = frame.lowering
    target = with_small_extents(frame, target)
    value, conditions = fitted(frame, node, target, expression_of(frame, operand))
    risky = [array for array in value.arrays if may_overlap(frame, array, target)]
    if risky:  # what is read may be what is set
        value, conditions = expression_of(frame, materialised(frame, node, value)), []

    def nest(access: Access) -> ir.Block:
        def body(indices: tuple[ir.Expr, ...]) -> None:
            element = ir.Element(target, indices, (True,) * len(indices))
            old = ir.Local("old", element.type)
            right = Value(lowering.keep(value.at(indices, access)))
            lowering.emit(ir.Set(old, element))
            changed: ir.Block = []
            with lowering.writing(changed):
                result = number(change(Value(ir.Get(old)), right))
                result = cast(result, element.type)
            emit_update(frame, node, ir.Update(element, old, changed, result))

        block: ir.Block = []
        with lowering.writing(block):
            loop_nest(frame, target.extents, body, order=target.type.layout)
        return block

    fast = nest(Access(is_broadcast=False))
    if conditions:
        lowering.emit(ir.If(every(conditions), fast, nest(Access(is_broadcast=True))))
    else:
        lowering.block.extend(fast)


def may_overlap(frame: Frame, array: ir.ArrayRef, target: ir.ArrayRef) -> bool:
    """Whether an element of an array may be one of the target, at another index."""
    if array.parts == target.parts and array.type.layout == target.type.layout:
        return False
    if array.owner == target.owner:
        return True
    # Memory that was allocated here is no argument's, nor that of another allocation.
    allocated = frame.lowering.allocated
    is_new = [
        isinstance(each.owner, ir.Get) and each.owner.local in allocated for each in (array, target)
    ]
    has_owner = [each.owner is not None for each in (array, target)]
    return not (all(is_new) or (any(is_new) and not all(has_owner)))


def _set_carefully(
    frame: Frame,
    node: ast.AST,
    target: ir.ArrayRef,
    value: Elementwise,
    risky: list[ir.ArrayRef],
    access: Access,
) -> None:
    """Set the elements where axes are stretched, or arrays overlap: if need be in a copy first."""
    lowering, keep = frame.lowering, frame.lowering.keep
    if not risky:
        lowering.block.extend(_set_each(frame, target, value, access, is_rare=True))
        return
    place = access.places[target]
    harmless = [_is_harmless(access.places[array], place) for array in risky]
    is_direct = keep(every(harmless))
    since = ir.Local("since", WEAK_INT)
    lowering.emit(ir.Mark(since))
    strided = replace(target.type, layout="strided")
    into = new_variable(OneArray(strided), "into")
    assert isinstance(into, ArrayOf)
    direct = all_at_once(settings(into, ArrayOf(place)))
    through: ir.Block = []
    with lowering.writing(through):
        copy = new_array(frame, node, target.type.element, place.extents, "copy", is_checked=True)
        lowering.block.extend(all_at_once(settings(into, ArrayOf(copy))))
    lowering.emit(ir.If(is_direct, direct, through))
    lowering.block.extend(_set_each(frame, into.array, value, access, is_rare=True))
    access = replace(access, is_broadcast=False)
    back = _set_each(frame, target, expression_of(frame, into), access, is_rare=True)
    back.append(ir.Sweep(since))
    lowering.emit(ir.If(is_direct, [], back))


def _is_harmless(array: ir.ArrayRef, target: ir.ArrayRef) -> ir.Expr:
    """That no element of a target is read at another index than that at which it is set."""
    are_apart = are_disjoint(array, target)
    if array.type.ndim != target.type.ndim:
        return are_apart
    lengths = [test("eq", *pair) for pair in zip(array.extents, target.extents, strict=True)]
    return test("or", are_apart, every((are_the_same(array, target), *lengths)))


def fitted(
    frame: Frame, node: ast.AST, target: ir.ArrayRef, value: Elementwise
) -> tuple[Elementwise, list[ir.Expr]]:
    """A value that has no more dimensions than the target, and the tests that nothing of it is
    stretched. Where it does not fit at run time, the launch ends with a ValueError."""
    keep = frame.lowering.keep
    ndim = target.type.ndim
    if value.ndim <= ndim and is_stretched(value, target.extents):
        value = expression_of(frame, materialised(frame, node, value))
    conditions = list(value.conditions)
    problems: list[ir.Expr] = []
    extra = value.extents[: max(0, value.ndim - ndim)]
    problems += [test("ne", extent, ir.ONE) for extent in extra if extent != ir.ONE]
    own = value.extents[len(extra) :]
    for extent, length in zip(own, target.extents[ndim - len(own) :], strict=True):
        if extent in (length, ir.ONE):
            continue
        is_equal = keep(test("eq", extent, length))
        conditions.append(keep(is_expected(length, extent)))
        problems.append(test("not", test("or", is_equal, test("eq", extent, ir.ONE))))
    if problems:
        shapes = (value.extents, target.extents)
        words = f"shape {shape_text(shapes[0])} does not fit into shape {shape_text(shapes[1])}"
        text = f"an array of {words} in {source_text(frame, node)}"
        values = [extent for each in shapes for extent in each]
        raise_if(frame, node, every(problems, "or"), "ValueError", text, values)
    if extra:
        inner = value.at
        zeros: tuple[ir.Expr, ...] = (ir.ZERO,) * len(extra)
        value = replace(
            value,
            extents=own,
            at=lambda indices, access: inner((*zeros, *indices), access),
        )
    return value, list(dict.fromkeys(conditions))
