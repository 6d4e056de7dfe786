"""Attributes: members of objects, and what arrays and vectors say of themselves."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import total
from whorl.kernels.small_vectors import swizzle
from whorl.kernels.types import POINTER, WEAK_INT, Scalar, is_scalar_value
from whorl.reads.view import AbsentRead, View

from . import vectors
from .alternatives import instead_of_method
from .arithmetic import imaginary_part, real_part
from .array_expressions import elementwise, turned
from .array_statements import stored
from .data_classes import is_instance
from .expressions import (
    PLAIN,
    expression,
)
from .frame import Frame
from .operands import (
    ArrayOf,
    Elementwise,
    Items,
    Iteration,
    Known,
    Operand,
    Records,
    Value,
    Vec,
    ViewOperand,
    describe,
    kind_of,
)
from .records import RECORD_ATTRIBUTES, field_of
from .run_values import decide, number
from .subscripts import transposed
from .vector_components import components_by_name

__all__ = ["ATTRIBUTES", "attribute_of", "part_of_array"]

_OF_ARRAYS: Final = "Arrays have .shape, .ndim, .size, .dtype, .flat, .T, .real and .imag."


def _attribute(frame: Frame, node: ast.Attribute) -> Operand:
    return attribute_of(frame, node, expression(frame, node.value))


def attribute_of(frame: Frame, node: ast.Attribute, owner: Operand) -> Operand:
    """An attribute of an operand."""
    name = node.attr
    if isinstance(owner, ViewOperand):
        value = owner.view.peek()
        is_array = isinstance(value, np.ndarray)
        if not (
            (is_array and value.dtype.names is not None)
            or name in ARRAY_ATTRIBUTES
            or (type(value) is np.ndarray and swizzle(name))
            if is_array
            else name in _PARTS and is_scalar_value(value)
        ):
            return _member(frame, node, owner)
        owner = decide(owner)
    if isinstance(owner, Vec | ArrayOf | Elementwise):
        component = components_by_name(frame, node, owner, name)
        if component is not None:
            return component
    match owner:
        case ViewOperand():
            return _member(frame, node, owner)
        case Records():
            return _of_records(frame, node, owner, name)
        case ArrayOf() | Elementwise() if name in ARRAY_ATTRIBUTES:
            return _array_attribute(frame, node, owner, name)
        case ArrayOf(view=View() as view):
            return _member(frame, node, frame.place(view))
        case Vec() if name in vectors.ATTRIBUTES:
            return vectors.ATTRIBUTES[name](owner)
        case Vec() if name in _PARTS:
            return vectors.elementwise(frame, owner.shape, _PARTS[name], owner)
        case Iteration(bounds=bounds) if bounds is not None and name in _BOUNDS:
            return Value(bounds[_BOUNDS.index(name)])
        case Items(items, cls=cls) if cls is not None and name in cls.__match_args__:
            field: Operand = items[cls.__match_args__.index(name)]
            return field
        case Items(cls=cls) if is_instance(owner) and hasattr(cls, name):
            of_class = frame.lowering.classes[cls]
            if isinstance(getattr(cls, name), property):
                frame.refuse(node, f"{name!r} is a property", "Make it a method, and call it.")
            return of_class.then(of_class.view.attr(name))
        case Known(value) if isinstance(value, PLAIN) and hasattr(value, name):
            return Known(getattr(value, name))
        case Value(expr) if name in _PARTS:
            return Value(_PARTS[name](expr))
    kind, remedy = describe(owner), ""
    if isinstance(owner, ArrayOf | Elementwise | Vec):
        is_method = callable(getattr(np.ndarray, name, None))
        remedy = instead_of_method(name) if is_method else _OF_ARRAYS
    elif isinstance(owner, Value):
        remedy = "Convert a number with int(...), float(...), np.float32(...) and the like."
    elif is_instance(owner):
        kind, remedy = describe(owner), f"It has {', '.join(owner.cls.__match_args__)}."
    elif isinstance(owner, Items):
        kind = "a list" if owner.is_list else "a tuple"
        remedy = "It cannot grow or change: write into an array that is passed in."
    frame.refuse(node, f"{kind} has no attribute {name!r} in a kernel", remedy)


def _of_records(frame: Frame, node: ast.Attribute, owner: Records, name: str) -> Operand:
    """What an array of records says of itself, or a field by its name."""
    if name in RECORD_ATTRIBUTES and not owner.indices:
        if name == "dtype":
            return Known(owner.dtype)
        return _TYPE_ATTRIBUTES[name](frame, owner.array.type.element, owner.array.extents)
    return field_of(frame, node, owner, name)


def _member(frame: Frame, node: ast.Attribute, owner: ViewOperand) -> Operand:
    try:
        return owner.then(owner.view.attr(node.attr))
    except AbsentRead as absent:
        error = absent.__cause__
    value, remedy, path = owner.view.peek(), "", owner.view.path
    is_there = hasattr(type(value), node.attr)
    if error is not None and (is_there or not isinstance(error, AttributeError)):
        # A property: what it raised says more, and its traceback leads to its line.
        what = f"{path}.{node.attr} raises {type(error).__name__}: {error}"
        place = frame.source.error(node, what)
        if isinstance(error, AttributeError):  # which also says that there is none
            raise place from error
        if str(place) not in getattr(error, "__notes__", ()):
            error.add_note(str(place))
        raise error  # it is the caller's, as it is when the kernel is found
    if isinstance(value, np.ndarray):
        remedy = _OF_ARRAYS
    elif isinstance(value, list | tuple) and node.attr in ARRAY_ATTRIBUTES:
        remedy = "Pass a NumPy array: np.asarray(...)."
    frame.refuse(node, f"{path} is {kind_of(value)} without an attribute {node.attr!r}", remedy)


def _shape(frame: Frame, element: Scalar, extents: tuple[ir.Expr, ...]) -> Operand:
    return Items(tuple(Value(extent) for extent in extents))


def _size(frame: Frame, element: Scalar, extents: tuple[ir.Expr, ...]) -> Operand:
    size: ir.Expr = ir.ONE
    for extent in extents:
        size = extent if size == ir.ONE else ir.Op("mul", WEAK_INT, (size, extent))
    return Value(frame.lowering.keep(size))


def _bytes(frame: Frame, element: Scalar, extents: tuple[ir.Expr, ...]) -> Operand:
    size = number(_size(frame, element, extents))
    return Value(ir.Op("mul", WEAK_INT, (size, ir.Const(WEAK_INT, element.bits // 8))))


def _flat(frame: Frame, node: ast.Attribute, array: ir.ArrayRef) -> ir.ArrayRef:
    """The elements of an array one after the other, if they lie so."""
    if array.type.ndim == 1:
        return array
    if array.type.layout != "C":
        frame.refuse(
            node,
            f"{describe(ArrayOf(array))} does not lie in order, and .flat is a view of it",
            "Loop over it: `for v in x.flat`; or take a copy: x.ravel().",
        )
    extent = frame.lowering.keep(total((ir.ONE, *array.extents), "mul"))
    type = replace(array.type, ndim=1)
    return ir.ArrayRef(type, array.base, (extent,), None, array.path, owner=array.owner)


_TYPE_ATTRIBUTES: Final[dict[str, Callable[[Frame, Scalar, tuple[ir.Expr, ...]], Operand]]] = {
    "shape": _shape,
    "size": _size,
    "ndim": lambda frame, element, extents: Known(len(extents)),
    "dtype": lambda frame, element, extents: Known(element.dtype),
    "itemsize": lambda frame, element, extents: Known(element.bits // 8),
    "nbytes": _bytes,
}
_BOUNDS: Final = ("start", "stop", "step")
_PARTS: Final = {"real": real_part, "imag": imaginary_part}
ARRAY_ATTRIBUTES: Final = frozenset((*_TYPE_ATTRIBUTES, *_PARTS, "T", "flat", "strides"))


def _array_attribute(
    frame: Frame, node: ast.Attribute, owner: ArrayOf | Elementwise, name: str
) -> Operand:
    """What an array says of itself, the array with its axes in reverse, and its parts."""
    if name in ("flat", "strides"):
        array = stored(frame, node, owner).array
        if name == "strides":
            return Items(tuple(Value(frame.lowering.keep(each)) for each in array.all_strides))
        return ArrayOf(_flat(frame, node, array))
    if name in _PARTS:
        return part_of_array(frame, owner, name)
    if isinstance(owner, ArrayOf):
        if name == "T":
            return ArrayOf(transposed(owner.array))
        array = owner.array
        return _TYPE_ATTRIBUTES[name](frame, array.type.element, array.extents)
    if name == "T":
        return turned(owner)
    return _TYPE_ATTRIBUTES[name](frame, owner.element, owner.extents)


def part_of_array(frame: Frame, owner: ArrayOf | Elementwise, name: str) -> Operand:
    """The real or imaginary parts: of an array of complex numbers in memory, a view of it."""
    is_real = name == "real"
    if isinstance(owner, Elementwise) or not (is_real or owner.array.type.element.is_complex):
        return elementwise(frame, frame.statement, _PARTS[name], (owner,))
    array = owner.array
    element = array.type.element
    if not element.is_complex:
        return owner
    base = array.base
    if not is_real:
        base = ir.Op("offset", POINTER, (base, ir.Const(WEAK_INT, element.part.bits // 8)))
    type = replace(array.type, element=element.part, layout="strided")
    path = f"{array.path}.{name}"
    return ArrayOf(
        ir.ArrayRef(type, base, array.extents, array.all_strides, path, owner=array.owner)
    )


ATTRIBUTES: Final[dict[type[ast.expr], Callable[[Frame, Any], Operand]]] = {
    ast.Attribute: _attribute,
}
