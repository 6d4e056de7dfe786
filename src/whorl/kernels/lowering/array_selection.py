"""Elements that masks and arrays of integers select: `a[mask]`, `a[rows, 1:]`, `a[mask] = v`.

What is read so is an expression: nothing is copied before a statement needs it. The parts that are
slices are taken first; then each axis that is left belongs to a slice, or to an array of integers.
A mask stands for the places where it is true. Several places that are one element are set in order;
an operator in place reads all of them first.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from whorl.fast_dataclasses import dataclass, replace
from whorl.kernels import ir
from whorl.kernels.overlap import every, test
from whorl.kernels.types import I64, WEAK_INT

from .arithmetic import binary, cast, truth
from .array_expressions import (
    expression_of,
    fit,
    is_array,
    own_indices,
    raise_if,
    region_of,
    shape_text,
)
from .array_memory import new_array
from .array_statements import fitted, loop_nest, materialised, may_overlap
from .frame import Frame
from .operands import Access, ArrayOf, Elementwise, Items, Known, Operand, Value, Vec, describe
from .run_values import is_scalar, number, resolve
from .subscripts import array_part, element_of, is_new_axis

__all__ = ["is_selection", "selection", "set_selection"]

Indices = tuple[ir.Expr, ...]
Change = Callable[[Operand, Operand], Operand]
_ALL = (None, None, None)


def is_selection(indices: list[Any]) -> bool:
    """Whether indices select elements one by one: a mask or an array of integers is among them."""
    return any(_is_array_index(index) for index in indices)


def _is_array_index(index: Any) -> bool:
    if isinstance(index, tuple):
        return False
    is_list = isinstance(index, Items) and index.is_list
    is_known_list = isinstance(index, Known) and isinstance(index.value, list)
    return is_list or is_known_list or isinstance(index, Vec) or is_array(index)


# -- what is selected -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The part of an array that slices leave, and for each axis of it the array of integers that
    selects there, or None. `extents` are those of all such arrays together, which stand at `place`
    among those of the result."""

    view: ir.ArrayRef
    axes: tuple[Elementwise | None, ...]
    extents: Indices
    place: int

    @property
    def result(self) -> Indices:
        """The extents of what is selected."""
        pairs = zip(self.axes, self.view.extents, strict=True)
        rest = [extent for axis, extent in pairs if axis is None]
        return (*rest[: self.place], *self.extents, *rest[self.place :])

    @property
    def arrays(self) -> tuple[ir.ArrayRef, ...]:
        """The arrays of integers."""
        return tuple(each for axis in self.axes if axis is not None for each in axis.arrays)

    def element(
        self, frame: Frame, node: ast.AST, indices: Indices, access: Access | None = None
    ) -> ir.Element:
        """The element that indices of the result lead to."""
        access = access or Access()
        end = self.place + len(self.extents)
        rest = iter((*indices[: self.place], *indices[end:]))
        wide = replace(access, is_broadcast=True)
        places = [
            next(rest)
            if axis is None
            else frame.lowering.keep(axis.at(indices[self.place : end], wide))
            for axis in self.axes
        ]
        view = access.places.get(self.view, self.view)
        element = element_of(frame, node, view, [Value(place) for place in places])
        return replace(element, scope=access.scope)


def _selected(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> Selection:
    """Indices as NumPy takes them."""
    basic: list[Any] = []
    axes: list[Elementwise | None] = []
    for index in _complete(frame, node, array, indices):
        if isinstance(index, tuple) or is_new_axis(index):
            basic.append(index)
            axes.append(None)
        elif isinstance(index, Elementwise) and index.element.kind == "b":
            places = _places_of(frame, node, array, len(basic), index)
            basic += [_ALL] * len(places)
            axes += places
        else:
            basic.append(_ALL)
            axes.append(expression_of(frame, index))
    axes += [None] * (array.type.ndim - sum(not is_new_axis(index) for index in basic))
    view = array
    if any(index != _ALL for index in basic):
        part = array_part(frame, node, array, basic)
        assert isinstance(part, ArrayOf)
        view = part.array
    selecting = [place for place, axis in enumerate(axes) if axis is not None]
    arrays = [axis for axis in axes if axis is not None]
    extents, _ = fit(frame, node, arrays)
    is_apart = selecting != list(range(selecting[0], selecting[0] + len(selecting)))
    place = 0 if is_apart else selecting[0]
    if len(extents) < len(axes) - len(selecting) + len(extents):  # elements of it are used again
        axes = [None if axis is None else _simple(frame, node, axis) for axis in axes]
    return Selection(view, tuple(axes), extents, place)


def _complete(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> list[Any]:
    """Indices with `...` written out, and what selects as expressions."""
    complete: list[Any] = []
    for index in indices:
        if not _is_array_index(index):
            complete.append(index)
            continue
        items = index.value if isinstance(index, Known) else None
        operand = Items(tuple(map(Known, items))) if items is not None else index
        value = expression_of(frame, resolve(operand))
        if not (value.element.is_integer or value.element.kind == "b"):
            frame.refuse(node, f"an index is an int or a mask, not {describe(value)}")
        complete.append(value)
    used = 0
    for index in complete:
        is_mask = isinstance(index, Elementwise) and index.element.kind == "b"
        is_ellipsis = isinstance(index, Known) and index.value is ...
        used += index.ndim if is_mask else not (is_new_axis(index) or is_ellipsis)
    if used > array.type.ndim:
        frame.refuse(
            node,
            f"{used} indices for {array.path or 'an array'} of type {array.type}",
            f"It has {array.type.ndim} dimension{'s' * (array.type.ndim != 1)}.",
        )
    for place, index in enumerate(complete):
        if isinstance(index, Known) and index.value is ...:
            complete[place : place + 1] = [_ALL] * (array.type.ndim - used)
            break
    return complete


def _simple(frame: Frame, node: ast.AST, value: Elementwise) -> Elementwise:
    """An expression whose elements cost nothing: they are read more than once."""
    if value.ndim == 0 or value.is_plain:
        return value
    return expression_of(frame, materialised(frame, node, value))


# -- masks ------------------------------------------------------------------------------


def _check_mask(
    frame: Frame, node: ast.AST, array: ir.ArrayRef, axis: int, mask: Elementwise
) -> None:
    own = array.extents[axis : axis + mask.ndim]
    pairs = zip(mask.extents, own, strict=True)
    different = [test("ne", one, other) for one, other in pairs if one != other]
    if different:
        text = f"a mask of shape {shape_text(mask.extents)} for axes of shape {shape_text(own)}"
        values = [*mask.extents, *own]
        raise_if(frame, node, every(different, "or"), "IndexError", text, values)


def _places_of(
    frame: Frame, node: ast.AST, array: ir.ArrayRef, axis: int, mask: Elementwise
) -> list[Elementwise]:
    """Where a mask is true: an array of integers for each of its axes."""
    lowering = frame.lowering
    _check_mask(frame, node, array, axis, mask)
    mask = _simple(frame, node, mask)
    size = _each_true(frame, mask, lambda indices, count: None)
    places = [new_array(frame, node, I64, [size], "places") for _ in range(mask.ndim)]

    def note(indices: Indices, count: ir.Expr) -> None:
        for place, index in zip(places, indices, strict=True):
            lowering.emit(ir.SetElement(ir.Element(place, (count,), (True,)), cast(index, I64)))

    _each_true(frame, mask, note)
    return [expression_of(frame, ArrayOf(place)) for place in places]


def _each_true(
    frame: Frame, mask: Elementwise, write: Callable[[Indices, ir.Expr], None]
) -> ir.Expr:
    """Loops over where a mask is true; how often that is."""
    lowering = frame.lowering
    count = ir.Local("count", WEAK_INT)
    lowering.emit(ir.Set(count, ir.ZERO))

    def body(indices: Indices) -> None:
        inner: ir.Block = []
        with lowering.writing(inner):
            write(indices, ir.Get(count))
            lowering.emit(ir.Set(count, binary("add", ir.Get(count), ir.ONE)))
        lowering.emit(ir.If(truth(mask.at(indices, Access(is_broadcast=False))), inner, []))

    loop_nest(frame, mask.extents, body)
    return lowering.keep(binary("add", ir.Get(count), ir.ZERO))


def _whole_mask(array: ir.ArrayRef, indices: list[Any]) -> bool:
    """Whether the only index is a mask of the array's own dimensions."""
    if len(indices) != 1 or not is_array(indices[0]):
        return False
    match resolve(indices[0]):
        case ArrayOf(mask):
            return mask.type.element.kind == "b" and mask.type.ndim == array.type.ndim
        case Elementwise() as value:
            return value.element.kind == "b" and value.ndim == array.type.ndim
    return False


# -- reading ----------------------------------------------------------------------------


def selection(frame: Frame, node: ast.AST, array: ir.ArrayRef, indices: list[Any]) -> Operand:
    """The elements that indices select."""
    if _whole_mask(array, indices):
        return _masked(frame, node, array, expression_of(frame, resolve(indices[0])))
    selected = _selected(frame, node, array, indices)
    extents = selected.result

    def at(indices: Indices, access: Access) -> ir.Expr:
        return selected.element(frame, node, own_indices(extents, indices, access), access)

    arrays = (region_of(selected.view), *map(region_of, selected.arrays))
    return Elementwise(array.type.element, extents, at, arrays)


def _masked(frame: Frame, node: ast.AST, array: ir.ArrayRef, mask: Elementwise) -> Operand:
    """The elements under a mask of the same shape: they are counted, and then taken."""
    lowering = frame.lowering
    _check_mask(frame, node, array, 0, mask)
    mask = _simple(frame, node, mask)
    size = _each_true(frame, mask, lambda indices, count: None)
    result = new_array(frame, node, array.type.element, [size], "selection")

    def take(indices: Indices, count: ir.Expr) -> None:
        target = ir.Element(result, (count,), (True,))
        source = ir.Element(array, indices, (True,) * len(indices))
        lowering.emit(ir.SetElement(target, source))

    _each_true(frame, mask, take)
    return ArrayOf(result)


# -- setting ----------------------------------------------------------------------------


def set_selection(
    frame: Frame,
    node: ast.AST,
    array: ir.ArrayRef,
    indices: list[Any],
    operand: Operand,
    change: Change | None = None,
) -> None:
    """Set the elements that indices select; `change` makes them of the old ones."""
    lowering = frame.lowering
    operand = resolve(operand)
    if _whole_mask(array, indices) and is_scalar(operand):
        mask = expression_of(frame, resolve(indices[0]))
        _set_masked(frame, node, array, mask, operand, change)
        return
    if change is not None:
        if lowering.is_in_prange:
            frame.refuse(
                node,
                "an operator in place on elements that an array of integers selects, in prange",
                "Loop over the places: x[places[i]] += v.",
            )
        indices = [_once(frame, node, index) for index in indices]
        operand = change(selection(frame, node, array, indices), operand)
    selected = _selected(frame, node, array, indices)
    extents = selected.result
    value = _apart(frame, node, array, expression_of(frame, operand))
    shape = replace(array, type=replace(array.type, ndim=len(extents)), extents=extents)
    value, _ = fitted(frame, node, shape, value)
    axes = (None if axis is None else _apart(frame, node, array, axis) for axis in selected.axes)
    selected = replace(selected, axes=tuple(axes))
    element = array.type.element

    def body(places: Indices) -> None:
        result = cast(value.at(places, Access()), element)
        target = selected.element(frame, node, places)
        lowering.emit(ir.SetElement(target, result))

    loop_nest(frame, extents, body)


def _once(frame: Frame, node: ast.AST, index: Any) -> Any:
    """An index that is used twice, and selects the same both times."""
    if not _is_array_index(index) or not isinstance(resolve(index), Elementwise):
        return index
    return materialised(frame, node, expression_of(frame, resolve(index)))


def _apart(frame: Frame, node: ast.AST, array: ir.ArrayRef, value: Elementwise) -> Elementwise:
    """An expression that reads nothing of an array that is about to be set."""
    if any(may_overlap(frame, each, array) or each.base == array.base for each in value.arrays):
        return expression_of(frame, materialised(frame, node, value))
    return value


def _set_masked(
    frame: Frame,
    node: ast.AST,
    array: ir.ArrayRef,
    mask: Elementwise,
    operand: Operand,
    change: Change | None,
) -> None:
    """Set the elements under a mask of the same shape to a number, or change them by one."""
    lowering = frame.lowering
    right = Value(lowering.keep(number(operand)))
    _check_mask(frame, node, array, 0, mask)
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
        is_set = truth(mask.at(indices, Access(is_broadcast=bool(mask.conditions))))
        lowering.emit(ir.If(is_set, inner, []))

    loop_nest(frame, array.extents, body)
