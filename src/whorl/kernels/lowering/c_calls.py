"""Calls of functions of C: of those that the library names, and of ctypes, cffi and SciPy."""

from __future__ import annotations

import ast
from typing import Final

import numpy as np

from whorl.kernels import ir
from whorl.kernels.overlap import test
from whorl.kernels.types import (
    WEAK_BOOL,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    scalar_of_dtype,
)
from whorl.reads.view import AbsentRead

from .arithmetic import cast, scalar_type
from .array_expressions import raise_if
from .expressions import number_at
from .frame import Frame
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Known, Operand, Value, ViewOperand, describe
from .run_values import is_scalar, resolve

__all__ = ["ADDRESS", "C_CALLS", "call_pointer"]

ADDRESS: Final = Scalar("u", 64)
"""The type of an address among numbers."""
_INT: Final = Scalar("i", 32)
_MISSING: Final = (
    "this NumPy hides its functions of random distributions: draw the numbers before the kernel, "
    "or use whorl.random"
)


def _c_call(call: KnownCall) -> Operand:
    """`c_call(name, result, ...)`: numbers as they are, and the addresses of arrays."""
    name, result, *operands = map(resolve, call.args)
    routine, kind = call.known_value(name), call.known_value(result)
    lowering = call.frame.lowering
    is_missing = test("eq", ir.Routine(routine), ir.ZERO)
    raise_if(call.frame, call.node, is_missing, "RuntimeError", _MISSING)
    args = tuple(
        operand.array.base
        if isinstance(operand, ArrayOf) and operand.array.type.ndim
        else lowering.keep(call.number(operand))
        for operand in operands
    )
    address = cast(ir.Routine(routine), ADDRESS)
    if kind is None:
        lowering.emit(ir.ForeignCall(routine, address, args, None))
        return Known(None)
    dtype = np.dtype(kind)
    local = ir.Local("drawn", Scalar(dtype.kind, 8 * dtype.itemsize))
    lowering.emit(ir.ForeignCall(routine, address, args, local))
    return Value(ir.Get(local))


# -- functions that the program has -------------------------------------------------------


def call_pointer(frame: Frame, node: ast.Call, callee: ViewOperand, args: list[Operand]) -> Operand:
    """A call of an object that is a function of C: its signature is a fact, its address travels."""
    try:
        text = callee.view.c_signature()
        place = callee.view.c_address()
    except AbsentRead as absent:
        what = f"{ast.unparse(node.func)} cannot be called from a kernel: {absent.__cause__}"
        frame.refuse(node, what)
    result, _, inside = text.removesuffix(")").partition("(")
    wanted = [each.strip() for each in inside.split(",") if each.strip()]
    hidden = (ir.Const(_INT, 0),) * wanted.count("0")
    wanted = [each for each in wanted if each != "0"]
    if len(wanted) != len(args):
        frame.refuse(node, f"{text} is called with {len(args)} arguments")
    given = (
        *(
            _argument(frame, node, resolve(arg), name)
            for arg, name in zip(args, wanted, strict=True)
        ),
        *hidden,
    )
    slot = callee.slots.at(place.path, WEAK_INT)
    address = cast(ir.SlotUse(slot), ADDRESS)
    if result in ("void", "none"):
        frame.lowering.emit(ir.ForeignCall("c_function", address, given, None))
        return Known(None)
    kind = _number_type(frame, node, result)
    local = ir.Local("result", kind)
    frame.lowering.emit(ir.ForeignCall("c_function", address, given, local))
    # Python has one type for each kind of number: it is weak, but for what does not fit into it.
    weak = {"f": WEAK_FLOAT, "b": WEAK_BOOL, "c": WEAK_COMPLEX}.get(kind.kind, WEAK_INT)
    return Value(
        ir.Get(local) if (kind.kind, kind.bits) == ("u", 64) else cast(ir.Get(local), weak)
    )


def _number_type(frame: Frame, node: ast.Call, name: str) -> Scalar:
    try:
        found = None if name.startswith("*") else scalar_of_dtype(np.dtype(name))
    except TypeError:
        found = None
    if found is None or found.is_complex:
        frame.refuse(node, f"a function of C that takes or returns {name!r} is not for kernels")
    return found


def _argument(frame: Frame, node: ast.Call, operand: Operand, name: str) -> ir.Expr:
    """An argument as a parameter of C wants it."""
    if name.startswith("*"):
        return _pointer(frame, node, operand, name[1:])
    kind = _number_type(frame, node, name)
    if not is_scalar(operand):
        frame.refuse(node, f"{describe(operand)} is passed where C takes {name}")
    expr = number_at(frame, node, operand)
    given = scalar_type(expr)
    if given.is_complex or (given.is_float and not kind.is_float):
        frame.refuse(node, f"{given} is passed where C takes {name}", "Write int(x).")
    return frame.lowering.keep(cast(expr, kind))


def _pointer(frame: Frame, node: ast.Call, operand: Operand, name: str) -> ir.Expr:
    """The address of an array, of which C sees the memory alone; None is the address 0."""
    if operand == Known(None):
        return ir.NULL
    if not isinstance(operand, ArrayOf):
        frame.refuse(node, f"{describe(operand)} is passed where C takes an array")
    kind = operand.array.type
    if kind.has_strides:
        frame.refuse(
            node, "C would not see the strides of this array", "Pass np.ascontiguousarray(a)."
        )
    if name and scalar_of_dtype(np.dtype(name)) != kind.element:
        frame.refuse(node, f"an array of {kind.element} is passed where C takes one of {name}")
    return operand.array.base


C_CALLS: Final[dict[str, Handler]] = {"whorl.library.c_call": _c_call}
"""By the name that a function has of its own."""
