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
    constant,
    power,
    scalar_type,
    truth,
)
from .known_calls import Handler, KnownCall
from .operands import Operand, Value, Vec
from .run_values import is_scalar

__all__ = ["SCALAR_CALLS"]

Make: TypeAlias = Callable[..., ir.Expr]


def _of_numbers(count: int, make: Make) -> Handler:
    """A function of numbers; it is applied to vectors component by component."""

    def handle(call: KnownCall) -> Operand:
        args = call.decided(count)
        shapes = {arg.shape for arg in args if isinstance(arg, Vec)}
        if len(shapes) == 1 and all(isinstance(a, Vec) or is_scalar(a) for a in args):
            return vectors.elementwise(call.frame, shapes.pop(), make, *args)
        try:
            return Value(make(*call.numbers(args)))
        except NotPossible as error:
            call.refuse(error.reason, error.remedy)

    return handle


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


def _test(name: str, result: Scalar) -> Handler:
    return _of_numbers(1, lambda expr: ir.Op(name, result, (as_float(expr),)))


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
    return _of_numbers(2, lambda left, right: power(left, right, site))(call)


# -- the table --------------------------------------------------------------------------


def _of_numpy(row: ScalarFunction) -> Handler:
    make = _to_whole if row.is_whole else _ufunc
    return _of_numbers(row.arguments, partial(make, row.operation))


def _of_math(row: ScalarFunction) -> Handler:
    make = _math_to_int if row.is_whole else _math
    return _of_numbers(row.arguments, partial(make, row.operation))


SCALAR_CALLS: Final[dict[str, Handler]] = {
    **{f"numpy.{row.numpy}": _of_numpy(row) for row in SCALAR_FUNCTIONS if row.numpy},
    **{f"math.{row.math}": _of_math(row) for row in SCALAR_FUNCTIONS if row.math},
    "math.fabs": _of_numbers(1, partial(_math, "abs")),
    "math.isnan": _test("isnan", WEAK_BOOL),
    "math.isinf": _test("isinf", WEAK_BOOL),
    "math.isfinite": _test("isfinite", WEAK_BOOL),
    "math.radians": _scaled(0.017453292519943295),
    "math.degrees": _scaled(57.29577951308232),
    "numpy.fabs": _of_numbers(1, partial(_ufunc, "abs")),
    "numpy.fmod": _of_numbers(2, _fmod),
    "numpy.isnan": _test("isnan", BOOL),
    "numpy.isinf": _test("isinf", BOOL),
    "numpy.isfinite": _test("isfinite", BOOL),
    "numpy.absolute": _of_numbers(1, _abs),
    "numpy.square": _of_numbers(1, _square),
    "numpy.sign": _of_numbers(1, _sign),
    "numpy.power": _power,
    "numpy.where": _of_numbers(3, _select),
    "numpy.clip": _of_numbers(3, _clip),
    "numpy.minimum": _of_numbers(2, partial(_extreme, "min")),
    "numpy.maximum": _of_numbers(2, partial(_extreme, "max")),
    "builtins.abs": _of_numbers(1, _abs),
    "builtins.pow": _power,
    "builtins.round": _of_numbers(1, _round),
}
"""By the name that a function has of its own: a program can bind it to any other."""
