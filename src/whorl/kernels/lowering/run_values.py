"""Decides what the run needs of a place in the world, and reads no more than that.

a number among the arguments      aspect type: it travels at launch
a number among globals and cells  aspect value: a constant
an array                          aspect array: its address and extents travel at launch
None                              aspect type
an enum member, a text            aspect value
"""

from __future__ import annotations

import enum
from typing import Any, Final

import numpy as np

from whorl.errors import UnsupportedRead
from whorl.kernels import ir
from whorl.kernels.types import (
    WEAK_BOOL,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    Scalar,
    is_scalar_value,
    scalar_of_dtype,
    scalar_of_value,
)
from whorl.reads.static_functions import CONVERTED, OPERATED, checked
from whorl.reads.view import View

from .arithmetic import constant
from .operands import ArrayOf, Known, Operand, Records, Value, ViewOperand, kind_of

__all__ = [
    "Undecided",
    "decide",
    "is_constant_place",
    "is_scalar",
    "number",
    "resolve",
]

_PYTHON: Final = {
    "int": WEAK_INT, "float": WEAK_FLOAT, "bool": WEAK_BOOL, "complex": WEAK_COMPLEX,
}  # fmt: skip


class Undecided(Exception):
    """Something in the world that is neither a number, an array, None, an enum nor a text."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def decide(place: ViewOperand) -> Operand:
    """What a place is to the run; `Undecided` if it is something to walk on from, or nothing."""
    view, value = place.view, place.view.peek()
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None:
            return _records(place)
        return ArrayOf(_array(place), view)
    if is_constant_place(view) and (is_scalar_value(value) or value is None):
        return Known(_value(view))
    if isinstance(value, str | bytes | enum.Enum | np.dtype) or value is Ellipsis:
        return Known(_value(view))
    if type(value) in (bool, int, float, complex):
        (name,) = view.type()
        return Value(ir.SlotUse(place.slots.at(view.path, _PYTHON[name])))
    if isinstance(value, np.generic):
        found = scalar_of_dtype(value.dtype)
        if found is not None:
            view.type()
            return Value(ir.SlotUse(place.slots.at(view.path, found)))
    if value is None:
        view.type()
        return Known(None)
    raise Undecided(
        f"{view.path} is {kind_of(value)}, which is no value of a kernel",
        "Use its members, or wrap what is known at compile time in whorl.static(...).",
    )


def resolve(operand: Operand) -> Operand:
    """What an operand is to the run; a place that is nothing to the run stays one."""
    if isinstance(operand, ViewOperand):
        try:
            return decide(operand)
        except Undecided:
            return operand
    return operand


def is_constant_place(view: View) -> bool:
    """Whether a number there is a constant: it is no argument, nor part of one."""
    return bool(view.path.root != "arg")


def _value(view: View) -> Any:
    try:
        return view.value()
    except UnsupportedRead as error:
        raise Undecided(f"{view.path} cannot be a constant: {error.reason}") from error


def _array(place: ViewOperand) -> ir.ArrayRef:
    """The array at a place, as a slot of the launch record."""
    view = place.view
    fact = view.array()
    if fact[0] != "array":
        raise Undecided(
            f"{view.path} is {kind_of(view.peek())} with a signature of its own",
            "Pass a plain NumPy array.",
        )
    _, _, ndim, layout, access, *subclass = fact
    if subclass:
        raise Undecided(
            f"{view.path} is {kind_of(view.peek())}: its elements may be no plain numbers",
            "Pass np.asarray(x), or x.data and x.mask of a masked array.",
        )
    element = scalar_of_dtype(view.peek().dtype)
    if element is None or layout == "unaligned":
        dtype = view.peek().dtype
        kind_of_array = "an unaligned array" if element else f"an array of {dtype}"
        raise Undecided(
            f"{view.path} is {kind_of_array}",
            "Arrays of a kernel hold bool, int8 to int64, uint8 to uint64, float32, float64, "
            "complex64 or complex128, in native byte order; convert it outside, for instance with "
            f"x.astype(np.{'complex128' if dtype.kind == 'c' else 'float64'}).",
        )
    kind = ArrayType(element, ndim, "C" if ndim == 0 else layout, access == "rw")
    slot = place.slots.at(view.path, kind)
    place.slots.arrays[slot] = view
    extents = tuple(ir.Extent(slot, axis) for axis in range(ndim))
    strides = tuple(ir.Stride(slot, axis) for axis in range(ndim))
    known = strides if kind.has_strides else None
    return ir.ArrayRef(kind, ir.SlotUse(slot), extents, known, str(view.path))


def _records(place: ViewOperand) -> Records:
    """The array of records at a place, as a slot of the launch record."""
    view, value = place.view, place.view.peek()
    fact = view.array()
    if fact[0] != "array" or (len(fact) > 5 and type(value) is not np.recarray):
        raise Undecided(
            f"{view.path} is {kind_of(value)}, whose records may be more than that",
            "Pass np.asarray(x).",
        )
    _, text, ndim, layout, access, *_ = fact
    alignment = "none" if layout == "unaligned" else "sure"
    byte = Scalar("u", 8)
    kind = ArrayType(byte, ndim, "strided", access == "rw", str(text), alignment)
    slot = place.slots.at(view.path, kind)
    place.slots.arrays[slot] = view
    extents = tuple(ir.Extent(slot, axis) for axis in range(ndim))
    strides = tuple(ir.Stride(slot, axis) for axis in range(ndim))
    array = ir.ArrayRef(kind, ir.SlotUse(slot), extents, strides, str(view.path))
    return Records(array, value.dtype)


def is_scalar(operand: Operand) -> bool:
    """Whether an operand is a number, or can be read as one."""
    match operand:
        case Value():
            return True
        case Known(value):
            return is_scalar_value(value) or is_number_member(value)
        case ViewOperand(view):
            value = view.peek()
            if isinstance(value, np.ndarray):
                return value.ndim == 0 and value.dtype.names is None
            return is_scalar_value(value) or is_number_member(value)
        case ArrayOf(array):
            return array.type.ndim == 0
    return False


def is_number_member(value: object) -> bool:
    """Whether this is the member of an enum that computes as Python's own ints do."""
    if not isinstance(value, enum.Enum) or not isinstance(value, int):
        return False
    try:
        checked(value, OPERATED, CONVERTED)
    except TypeError:
        return False
    return True


def number(operand: Operand) -> ir.Expr:
    """The expression of an operand that is a number."""
    if isinstance(operand, ViewOperand):
        operand = decide(operand)
    match operand:
        case Value(expr):
            return expr
        case Known(value):
            if is_number_member(value):
                value = int(value)
            return constant(value, scalar_of_value(value))
        case ArrayOf(array) if array.type.ndim == 0:
            return ir.Element(array, (), ())
    raise Undecided("this is not a number")
