"""Functions of numbers in a kernel: those of `math`, NumPy and builtins, by a table.

`math` computes with Python's floats, so its results are weak; NumPy's functions keep the type of
what they are given. A function of floats that the C library has is a row of
`launch/scalar_functions.py`, and nothing has to be added here. One that is made of several
operations is a row of the table at the end of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Final, TypeAlias

import numpy as np

from whorl.kernels import ir
from whorl.kernels.types import (
    BOOL,
    F32,
    F64,
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    promote,
)
from whorl.launch.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction

from . import vectors
from .arithmetic import (
    I8,
    NEGATIVE_POWER,
    NotPossible,
    as_float,
    binary,
    cast,
    compare,
    constant,
    power,
    scalar_type,
    truth,
    unary,
)
from .array_expressions import array_power, elementwise, is_array
from .array_statements import set_elements
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Elementwise, Operand, Value, Vec, describe
from .run_values import is_scalar, resolve
from .subscripts import check_writeable

__all__ = ["SCALAR_CALLS"]

Make: TypeAlias = Callable[..., ir.Expr]


def _of_numbers(count: int, make: Make) -> Handler:
    """A function of numbers; it is applied to vectors component by component."""

    def handle(call: KnownCall) -> Operand:
        args = call.decided(count)
        if any(map(is_array, args)):
            call.refuse(
                f"{call.function} is for numbers, not for arrays",
                "Use NumPy's function of the same name: np.sqrt(...).",
            )
        return _of_vectors_or_numbers(call, make, args)

    return handle


def _of_vectors_or_numbers(call: KnownCall, make: Make, args: list[Operand]) -> Operand:
    shapes = {arg.shape for arg in args if isinstance(arg, Vec)}
    if len(shapes) == 1 and all(isinstance(a, Vec) or is_scalar(a) for a in args):
        return vectors.elementwise(call.frame, shapes.pop(), make, *args)
    try:
        return Value(make(*call.numbers(args)))
    except NotPossible as error:
        call.refuse(error.reason, error.remedy)


def _of_elements(count: int, make: Make, of_arrays: Make | None = None) -> Handler:
    """A function of numbers that is applied to arrays element by element, as NumPy's are."""

    def handle(call: KnownCall) -> Operand:
        out = call.named.pop("out", None)
        args = call.decided(count)
        if any(map(is_array, args)) or out is not None:
            result: Operand
            try:
                result = elementwise(call.frame, call.node, of_arrays or make, args)
            except NotPossible as error:
                call.refuse(error.reason, error.remedy)
            return result if out is None else _set_out(call, result, resolve(out))
        return _of_vectors_or_numbers(call, make, args)

    return handle


def _set_out(call: KnownCall, value: Elementwise, out: Operand) -> Operand:
    """Set an array that is given as `out`; it is the result."""
    if not isinstance(out, ArrayOf):
        call.refuse(f"out is {describe(out)}", "Give it an array.")
    check_writeable(call.frame, call.node, out.array)
    source, to = value.element.strong, out.array.type.element
    if not np.can_cast(source.dtype, to.dtype, "same_kind"):
        call.refuse(f"out is of {to}, and takes no {source}, as NumPy refuses to")
    set_elements(call.frame, call.node, out.array, value)
    return out


# -- functions of floats ----------------------------------------------------------------


def _math(name: str, *exprs: ir.Expr) -> ir.Expr:
    return ir.Op(name, WEAK_FLOAT, tuple(cast(expr, WEAK_FLOAT) for expr in exprs))


def _ufunc(name: str, *exprs: ir.Expr) -> ir.Expr:
    together = reduce(promote, map(scalar_type, exprs)).strong
    if not together.is_float:
        # NumPy makes float16 of bools and 8-bit integers, which no kernel has.
        together = F32 if together.bits == 16 else F64
    return ir.Op(name, together, tuple(cast(expr, together) for expr in exprs))


def _to_whole(name: str, expr: ir.Expr) -> ir.Expr:
    """Whole numbers of floats, as floats; integers and bools are whole already."""
    type = scalar_type(expr).strong
    expr = cast(expr, type)
    return ir.Op(name, type, (expr,)) if type.is_float else expr


def _math_to_int(name: str, expr: ir.Expr) -> ir.Expr:
    if not scalar_type(expr).is_float:
        return cast(expr, WEAK_INT)
    return cast(_math(name, expr), WEAK_INT)


def _test(name: str, result: Scalar, expr: ir.Expr) -> ir.Expr:
    return ir.Op(name, result, (as_float(expr),))


def _scaled(factor: float) -> Handler:
    number = ir.Const(WEAK_FLOAT, factor)
    return _of_numbers(1, lambda expr: binary("mul", cast(expr, WEAK_FLOAT), number))


# -- functions of several operations ----------------------------------------------------


def _fmod(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """The remainder with the sign of the left side."""
    together = promote(scalar_type(left), scalar_type(right)).strong
    if together.kind == "b":
        together = I8
    return ir.Op("fmod", together, (cast(left, together), cast(right, together)))


def _round(expr: ir.Expr) -> ir.Expr:
    if not scalar_type(expr).is_float:
        return cast(expr, WEAK_INT)
    return cast(ir.Op("rint", scalar_type(expr), (expr,)), WEAK_INT)


def _abs(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr)
    if type.kind == "b" and type.weak:
        return cast(expr, WEAK_INT)
    return expr if type.kind in "bu" else ir.Op("abs", type, (expr,))


def _square(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    expr = cast(expr, I8 if type.kind == "b" else type)
    return binary("mul", expr, expr)


def _sign(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    expr = cast(expr, type)
    zero, one = constant(0, type), constant(1, type)
    below = constant(-1, type) if type.kind != "u" else zero
    rest = ir.Op("select", type, (ir.Op("eq", BOOL, (expr, zero)), zero, expr))  # NaN stays
    above = ir.Op("select", type, (ir.Op("gt", BOOL, (expr, zero)), one, rest))
    return ir.Op("select", type, (ir.Op("lt", BOOL, (expr, zero)), below, above))


def _select(test: ir.Expr, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    together = promote(scalar_type(left), scalar_type(right)).strong
    return ir.Op("select", together, (truth(test), cast(left, together), cast(right, together)))


def _clip(expr: ir.Expr, low: ir.Expr, high: ir.Expr) -> ir.Expr:
    return _extreme("min", _extreme("max", expr, low), high)


def _extreme(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """NumPy's minimum and maximum: NaN wins."""
    together = promote(scalar_type(left), scalar_type(right)).strong
    op = f"f{name}" if together.is_float else name
    if together.kind == "b":
        op, together = {"min": "and", "max": "or"}[name], BOOL
    return ir.Op(op, together, (cast(left, together), cast(right, together)))


def _power(call: KnownCall) -> Operand:
    site = call.frame.check(call.node, "ValueError", NEGATIVE_POWER)
    return _of_elements(2, lambda left, right: power(left, right, site), array_power)(call)


def _strong(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """An operator as a function of NumPy's: its result is one of NumPy's numbers."""
    result = binary(name, left, right)
    return cast(result, scalar_type(result).strong)


def _strong_unary(name: str, expr: ir.Expr) -> ir.Expr:
    result = unary(name, expr)
    return cast(result, scalar_type(result).strong)


def _strong_comparison(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return cast(compare(name, left, right), BOOL)


def _logical(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Op(name, BOOL, (cast(truth(left), BOOL), cast(truth(right), BOOL)))


def _logical_not(expr: ir.Expr) -> ir.Expr:
    return ir.Op("not", BOOL, (cast(truth(expr), BOOL),))


def _reciprocal(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    if not type.is_float:
        raise NotPossible("the reciprocal of an integer is 0, 1 or -1", "Write 1 / x.")
    return binary("div", constant(1, type), cast(expr, type))


def _scaled_elements(factor: float) -> Handler:
    """Degrees and radians: NumPy multiplies in the type of the array."""

    def make(expr: ir.Expr) -> ir.Expr:
        type = scalar_type(expr).strong
        type = type if type.is_float else F64
        return binary("mul", cast(expr, type), constant(factor, type))

    return _of_elements(1, make)


# -- the table --------------------------------------------------------------------------


def _of_numpy(row: ScalarFunction) -> Handler:
    make = _to_whole if row.is_whole else _ufunc
    return _of_elements(row.arguments, partial(make, row.operation))


def _of_math(row: ScalarFunction) -> Handler:
    make = _math_to_int if row.is_whole else _math
    return _of_numbers(row.arguments, partial(make, row.operation))


_OPERATOR_FUNCTIONS: Final = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "floor_divide": "floordiv", "remainder": "mod", "mod": "mod", "left_shift": "shl",
    "right_shift": "shr", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
}  # fmt: skip
_COMPARISON_FUNCTIONS: Final = {
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge",
}  # fmt: skip

SCALAR_CALLS: Final[dict[str, Handler]] = {
    **{f"numpy.{row.numpy}": _of_numpy(row) for row in SCALAR_FUNCTIONS if row.numpy},
    **{f"math.{row.math}": _of_math(row) for row in SCALAR_FUNCTIONS if row.math},
    **{
        f"numpy.{name}": _of_elements(2, partial(_strong, operation))
        for name, operation in _OPERATOR_FUNCTIONS.items()
    },
    **{
        f"numpy.{name}": _of_elements(2, partial(_strong_comparison, operation))
        for name, operation in _COMPARISON_FUNCTIONS.items()
    },
    "math.fabs": _of_numbers(1, partial(_math, "abs")),
    "math.isnan": _of_numbers(1, partial(_test, "isnan", WEAK_BOOL)),
    "math.isinf": _of_numbers(1, partial(_test, "isinf", WEAK_BOOL)),
    "math.isfinite": _of_numbers(1, partial(_test, "isfinite", WEAK_BOOL)),
    "math.radians": _scaled(0.017453292519943295),
    "math.degrees": _scaled(57.29577951308232),
    "numpy.radians": _scaled_elements(0.017453292519943295),
    "numpy.deg2rad": _scaled_elements(0.017453292519943295),
    "numpy.degrees": _scaled_elements(57.29577951308232),
    "numpy.rad2deg": _scaled_elements(57.29577951308232),
    "numpy.fabs": _of_elements(1, partial(_ufunc, "abs")),
    "numpy.fmod": _of_elements(2, _fmod),
    "numpy.isnan": _of_elements(1, partial(_test, "isnan", BOOL)),
    "numpy.isinf": _of_elements(1, partial(_test, "isinf", BOOL)),
    "numpy.isfinite": _of_elements(1, partial(_test, "isfinite", BOOL)),
    "numpy.absolute": _of_elements(1, _abs),
    "numpy.negative": _of_elements(1, partial(_strong_unary, "neg")),
    "numpy.positive": _of_elements(1, partial(_strong_unary, "pos")),
    "numpy.invert": _of_elements(1, partial(_strong_unary, "inv")),
    "numpy.reciprocal": _of_elements(1, _reciprocal),
    "numpy.square": _of_elements(1, _square),
    "numpy.sign": _of_elements(1, _sign),
    "numpy.power": _power,
    "numpy.logical_and": _of_elements(2, partial(_logical, "and")),
    "numpy.logical_or": _of_elements(2, partial(_logical, "or")),
    "numpy.logical_xor": _of_elements(2, partial(_logical, "xor")),
    "numpy.logical_not": _of_elements(1, _logical_not),
    "numpy.where": _of_elements(3, _select),
    "numpy.clip": _of_elements(3, _clip),
    "numpy.minimum": _of_elements(2, partial(_extreme, "min")),
    "numpy.maximum": _of_elements(2, partial(_extreme, "max")),
    "builtins.abs": _of_elements(1, _abs),
    "builtins.pow": _power,
    "builtins.round": _of_numbers(1, _round),
}
"""By the name that a function has of its own: a program can bind it to any other."""
