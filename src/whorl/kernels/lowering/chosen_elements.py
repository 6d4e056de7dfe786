"""Elements that a mask or an array of integers chooses: `a[mask]`, `a[mask] = v`, `a[places]`.

What is read so is a new array, as in NumPy. Several places that are one element are set in order;
an operator in place reads all of them first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import every, test
from whorl.kernels.types import WEAK_INT

from .arithmetic import binary, cast, truth
from .array_expressions import expression_of, is_array, raise_if, shape_text
from .array_memory import new_array
from .array_statements import fitted, loop_nest, materialised, may_overlap
from .frame import Frame
from .operands import Access, ArrayOf, Elementwise, Items, Operand, Value, Vec, describe
from .run_values import is_scalar, number, resolve
from .subscripts import element_of

__all__ = ["chooses", "chosen", "set_chosen"]

Indices = tuple[ir.Expr, ...]
Change = Callable[[Operand, Operand], Operand]


def chooses(indices: list[Any]) -> bool:
    """Whether indices choose elements one by one: a mask or an array of integers is among them."""
    return any(
        not isinstance(index, tuple) and (is_array(index) or isinstance(index, Vec))
        for index in indices
    ) or any(isinstance(index, Items) and index.is_list for index in indices)


def _index(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> Elementwise:
    """The one index that chooses."""
    if len(indices) != 1:
        frame.refuse(
            node,
            "a mask or an array of integers stands beside other indices",
            "Take the part first: x[:, 1][mask]; or write a loop over the elements.",
        )
    index = expression_of(frame, resolve(indices[0]))
    if index.element.is_float:
        frame.refuse(node, f"an index is an int or a mask, not {describe(index)}")
    if index.element.kind == "b" and index.ndim != array.type.ndim:
        frame.refuse(
            node,
            f"a mask of {index.ndim} dimensions for {describe(ArrayOf(array))}",
            "Use a mask of the array's own shape.",
        )
    return index


def _check_mask(frame: Frame, node: ast.AST, array: ir.ArrayRef, mask: Elementwise) -> None:
    pairs = zip(mask.extents, array.extents, strict=True)
    different = [test("ne", one, other) for one, other in pairs if one != other]
    if different:
        shapes = (mask.extents, array.extents)
        text = f"a mask of shape {shape_text(shapes[0])} for an array of shape "
        text += shape_text(shapes[1])
        values = [extent for each in shapes for extent in each]
        raise_if(frame, node, every(different, "or"), "IndexError", text, values)


def chosen(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> Operand:
    """The elements that an index chooses, as a new array."""
    index = _index(frame, node, array, indices)
    if index.element.kind == "b":
        return _masked(frame, node, array, index)
    lowering = frame.lowering
    extents = (*index.extents, *array.extents[1:])
    result = new_array(frame, node, array.type.element, extents, "chosen")

    def body(places: Indices) -> None:
        element = _element(frame, node, array, index, places)
        target = ir.Element(result, places, (True,) * len(places))
        lowering.emit(ir.SetElement(target, element))

    loop_nest(frame, extents, body)
    return ArrayOf(result)


def _element(
    frame: Frame, node: ast.AST, array: ir.ArrayRef, index: Elementwise, places: Indices
) -> ir.Element:
    """The element that an array of integers leads to."""
    first = Value(frame.lowering.keep(index.at(places[: index.ndim], Access())))
    rest = [Value(place) for place in places[index.ndim :]]
    return element_of(frame, node, array, [first, *rest])


def _masked(frame: Frame, node: ast.AST, array: ir.ArrayRef, mask: Elementwise) -> Operand:
    """The elements under a mask: they are counted, and then taken."""
    lowering = frame.lowering
    _check_mask(frame, node, array, mask)
    if len(mask.arrays) != 1 or mask.element.kind != "b" or mask.vectors:
        mask = expression_of(frame, materialised(frame, node, mask))
    count = ir.Local("count", WEAK_INT)

    def each(write: Callable[[Indices], None]) -> None:
        lowering.emit(ir.Set(count, ir.ZERO))

        def body(indices: Indices) -> None:
            inner: ir.Block = []
            with lowering.writing(inner):
                write(indices)
                lowering.emit(ir.Set(count, binary("add", ir.Get(count), ir.ONE)))
            lowering.emit(ir.If(truth(mask.at(indices, Access(is_broadcast=False))), inner, []))

        loop_nest(frame, array.extents, body)

    each(lambda indices: None)
    size = ir.Local("size", WEAK_INT)
    lowering.emit(ir.Set(size, ir.Get(count)))
    result = new_array(frame, node, array.type.element, [ir.Get(size)], "chosen")

    def take(indices: Indices) -> None:
        target = ir.Element(result, (ir.Get(count),), (True,))
        source = ir.Element(array, indices, (True,) * len(indices))
        lowering.emit(ir.SetElement(target, source))

    each(take)
    return ArrayOf(result)


def set_chosen(
    frame: Frame,
    node: ast.AST,
    array: ir.ArrayRef,
    indices: list[Any],
    operand: Operand,
    change: Change | None = None,
) -> None:
    """Set the elements that an index chooses; `change` makes them of the old ones."""
    index = _index(frame, node, array, indices)
    if index.element.kind == "b":
        _set_masked(frame, node, array, index, operand, change)
        return
    lowering = frame.lowering
    if change is not None:
        if lowering.is_in_prange:
            frame.refuse(
                node,
                "an operator in place on elements that an array of integers chooses, in prange",
                "Loop over the places: x[places[i]] += v.",
            )
        operand = change(chosen(frame, node, array, indices), operand)
    extents = (*index.extents, *array.extents[1:])
    value = expression_of(frame, operand)
    if any(may_overlap(frame, each, array) or each.base == array.base for each in value.arrays):
        value = expression_of(frame, materialised(frame, node, value))
    shape = replace(array, type=replace(array.type, ndim=len(extents)), extents=extents)
    value, _ = fitted(frame, node, shape, value)
    element = array.type.element

    def body(places: Indices) -> None:
        target = _element(frame, node, array, index, places)
        number = cast(value.at(places, Access()), element)
        lowering.emit(ir.SetElement(target, number))

    if any(may_overlap(frame, each, array) or each.base == array.base for each in index.arrays):
        index = expression_of(frame, materialised(frame, node, index))
    loop_nest(frame, extents, body)


def _set_masked(
    frame: Frame,
    node: ast.AST,
    array: ir.ArrayRef,
    mask: Elementwise,
    operand: Operand,
    change: Change | None,
) -> None:
    lowering = frame.lowering
    operand = resolve(operand)
    if not is_scalar(operand):
        frame.refuse(
            node,
            f"{describe(operand)} for the elements under a mask",
            "Write x[:] = np.where(mask, values, x) with values of the shape of x.",
        )
    right = Value(lowering.keep(number(operand)))
    _check_mask(frame, node, array, mask)
    if any(may_overlap(frame, each, array) for each in mask.arrays):
        mask = expression_of(frame, materialised(frame, node, mask))

    def body(indices: Indices) -> None:
        element = ir.Element(array, indices, (True,) * len(indices))
        inner: ir.Block = []
        with lowering.writing(inner):
            if change is None:
                lowering.emit(ir.SetElement(element, cast(right.expr, element.type)))
            else:
                old = ir.Local("old", element.type)
                lowering.emit(ir.Set(old, element))
                changed: ir.Block = []
                with lowering.writing(changed):
                    result = cast(number(change(Value(ir.Get(old)), right)), element.type)
                if lowering.is_in_prange:
                    lowering.emit(ir.Update(element, old, changed, result))
                else:
                    lowering.block.extend([*changed, ir.SetElement(element, result)])
        lowering.emit(ir.If(truth(mask.at(indices, Access(is_broadcast=False))), inner, []))

    loop_nest(frame, array.extents, body)
