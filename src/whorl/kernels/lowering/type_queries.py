"""What arrays and numbers are, known at compile time: `np.ndim`, `np.shape`, `np.result_type`."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, Final

import numpy as np

from whorl.kernels import ir
from whorl.kernels.overlap import total
from whorl.kernels.types import Scalar, promote, scalar_of_dtype

from .arithmetic import scalar_type
from .array_expressions import expression_of
from .known_calls import Handler, KnownCall
from .operands import Elementwise, Items, Known, Operand, Value, ViewOperand
from .run_values import is_scalar, resolve

__all__ = ["TYPE_QUERIES", "TYPE_QUERY_CLASSES"]


def _value(call: KnownCall, operand: Operand | None) -> Elementwise:
    assert operand is not None
    return expression_of(call.frame, operand)


def _ndim(call: KnownCall) -> Operand:
    operand = call.bound("a")["a"]
    assert operand is not None
    return Known(0 if is_scalar(operand) else _value(call, operand).ndim)


def _shape(call: KnownCall) -> Operand:
    extents = _value(call, call.bound("a")["a"]).extents
    return Items(tuple(Value(extent) for extent in extents))


def _size(call: KnownCall) -> Operand:
    given = call.bound("a", "axis")
    extents = _value(call, given["a"]).extents
    if given["axis"] is not None:
        axis = call.known_value(given["axis"])
        if axis is not None:
            if not isinstance(axis, int) or not -len(extents) <= axis < len(extents):
                call.refuse(f"there is no axis {axis!r} of an array with {len(extents)} dimensions")
            extents = (extents[axis],)
    return Value(call.frame.lowering.keep(total((ir.ONE, *extents), "mul")))


def _result_type(call: KnownCall) -> Operand:
    if call.named or not call.args:
        call.refuse(f"{call.function} takes arrays, numbers and dtypes, at least one")
    types = [_type_of(call, resolve(arg)) for arg in call.args]
    return Known(reduce(promote, types).strong.dtype)


def _type_of(call: KnownCall, operand: Operand) -> Scalar:
    match operand:
        case Known(value) if isinstance(value, np.dtype | type | str):
            return _type_of_dtype(call, value)
        case ViewOperand(view) if isinstance(view.peek(), type):
            return _type_of_dtype(call, view.value())
    if is_scalar(operand):
        return scalar_type(call.number(operand))
    return _value(call, operand).element


def _type_of_dtype(call: KnownCall, value: Any) -> Scalar:
    type = scalar_of_dtype(np.dtype(value))
    if type is None:
        call.refuse(f"{np.dtype(value)} is not one of a kernel")
    return type


def _limits(make: Any, call: KnownCall) -> Operand:
    """`np.finfo`, `np.iinfo`."""
    (operand,) = call.positional(1)
    return Known(make(call.known_value(operand)))


TYPE_QUERIES: Final[dict[str, Handler]] = {
    "numpy.ndim": _ndim,
    "numpy.shape": _shape,
    "numpy.size": _size,
    "numpy.result_type": _result_type,
    "numpy.promote_types": _result_type,
}
"""By the name that a function has of its own: a program can bind it to any other."""
TYPE_QUERY_CLASSES: Final[dict[Any, Handler]] = {
    np.finfo: partial(_limits, np.finfo),
    np.iinfo: partial(_limits, np.iinfo),
}
"""By the class itself."""
