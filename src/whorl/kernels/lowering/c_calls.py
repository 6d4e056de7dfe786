"""Calls of functions of C: of those that the library names."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels import ir
from whorl.kernels.overlap import test
from whorl.kernels.types import Scalar

from .arithmetic import cast
from .array_expressions import raise_if
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Known, Operand, Value
from .run_values import resolve

__all__ = ["ADDRESS", "C_CALLS"]

ADDRESS: Final = Scalar("u", 64)
"""The type of an address among numbers."""
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


C_CALLS: Final[dict[str, Handler]] = {"whorl.library.c_call": _c_call}
"""By the name that a function has of its own."""
