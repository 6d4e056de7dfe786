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

from whorl.fast_dataclasses import replace
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
    check_constants,
    compare,
    constant,
    power,
    scalar_type,
    truth,
    unary,
)
from .array_creation import element_type
from .array_expressions import (
    array_power,
    array_product,
    beside_vectors,
    elementwise,
    is_array,
)
from .complex_functions import (
    complex_extreme,
    complex_function,
    complex_reciprocal,
    complex_sign,
    complex_test,
    conjugate,
)
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Known, Operand, Value, Vec, describe
from .out_arrays import is_given, put_into, put_where
from .run_values import resolve

__all__ = ["SCALAR_CALLS", "of_elements", "of_numbers"]

Make: TypeAlias = Callable[..., ir.Expr]


def of_numbers(count: int, make: Make) -> Handler:
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
    if any(isinstance(arg, Vec) for arg in args):
        sides = vectors.together(*args)
        if sides is None:
            call.refuse(f"{', '.join(map(describe, args))} do not fit together")
        return vectors.elementwise(call.frame, sides[0], make, *sides[1])
    try:
        return Value(make(*call.numbers(args)))
    except NotPossible as error:
        call.refuse(error.reason, error.remedy)


def of_elements(count: int, make: Make, of_arrays: Make | None = None) -> Handler:
    """A function of numbers that is applied to arrays element by element, as NumPy's are."""

    def handle(call: KnownCall) -> Operand:
        call, options = _without_options(call, count)
        args = [_of_type(call, arg, options.get("dtype")) for arg in call.decided(count)]
        out, where = options.get("out"), options.get("where")
        if where is not None and out is None:
            call.refuse("where= leaves elements unset", "Give an array that has them: out=...")
        if out is None:
            args = beside_vectors(call.frame, args)
        if any(map(is_array, args)) or out is not None:
            result: Operand
            try:
                result = elementwise(call.frame, call.node, of_arrays or make, args)
            except NotPossible as error:
                call.refuse(error.reason, error.remedy)
            if out is None:
                return result
            if where is not None:
                return put_where(call, result, out, where)
            return put_into(call, result, out)
        return _of_vectors_or_numbers(call, make, args)

    return handle


_OPTIONS: Final = ("out", "where", "dtype", "casting")


def _without_options(call: KnownCall, count: int) -> tuple[KnownCall, dict[str, Operand]]:
    """The call without what every ufunc takes, and that: `out` by name or by place."""
    options = {name: resolve(operand) for name, operand in call.named.items()}
    args = list(call.args)
    if "out" not in options and len(args) == count + 1 and isinstance(resolve(args[-1]), ArrayOf):
        options["out"] = args.pop()
    for name in options:
        if name not in _OPTIONS:
            what = f"{call.function} has no parameter {name!r} in a kernel"
            call.refuse(what, f"There are those by place, and {', '.join(_OPTIONS)}.")
    casting = options.pop("casting", None)
    if casting is not None and call.known_value(casting) != "same_kind":
        call.refuse("casting is 'same_kind' in a kernel", "Convert with .astype(...) before.")
    given = {name: operand for name, operand in options.items() if is_given(operand)}
    if isinstance(given.get("where"), Known) and given["where"] == Known(True):
        del given["where"]
    return replace(call, args=args, named={}), given


def _of_type(call: KnownCall, arg: Operand, dtype: Operand | None) -> Operand:
    """An argument in the type that the function is to compute in."""
    to = element_type(call, dtype)
    if to is None:
        return arg
    if is_array(arg):
        return elementwise(call.frame, call.node, lambda expr: cast(expr, to), [arg])
    return Value(cast(call.number(arg), to))


# -- functions of floats ----------------------------------------------------------------


def _math(name: str, *exprs: ir.Expr) -> ir.Expr:
    return ir.Op(name, WEAK_FLOAT, tuple(cast(as_float(expr), WEAK_FLOAT) for expr in exprs))


def _ufunc(name: str, *exprs: ir.Expr) -> ir.Expr:
    together = reduce(promote, map(scalar_type, exprs)).strong
    if together.is_complex:
        return complex_function(name, together, *exprs)
    if not together.is_float:
        # NumPy makes float16 of bools and 8-bit integers, which no kernel has.
        together = F32 if together.bits == 16 else F64
    return ir.Op(name, together, tuple(cast(expr, together) for expr in exprs))


def _to_whole(name: str, expr: ir.Expr) -> ir.Expr:
    """Whole numbers of floats, as floats; integers and bools are whole already."""
    type = scalar_type(expr).strong
    if type.is_complex:
        return complex_function(name, type, expr)
    expr = cast(expr, type)
    return ir.Op(name, type, (expr,)) if type.is_float else expr


def _math_to_int(name: str, expr: ir.Expr) -> ir.Expr:
    if not scalar_type(expr).is_inexact:
        return cast(expr, WEAK_INT)
    return cast(_math(name, expr), WEAK_INT)


def _test(name: str, result: Scalar, expr: ir.Expr) -> ir.Expr:
    if scalar_type(expr).is_complex:
        return complex_test(name, result, expr)
    return ir.Op(name, result, (as_float(expr),))


def _scaled(factor: float) -> Handler:
    number = ir.Const(WEAK_FLOAT, factor)
    return of_numbers(1, lambda expr: binary("mul", cast(expr, WEAK_FLOAT), number))


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
    return expr if type.kind in "bu" else ir.Op("abs", type.part, (expr,))


def _square(product: Make, expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    expr = cast(expr, I8 if type.kind == "b" else type)
    return product(expr, expr)


def _sign(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr).strong
    expr = cast(expr, type)
    if type.is_complex:
        return complex_sign(expr)
    zero, one = constant(0, type), constant(1, type)
    below = constant(-1, type) if type.kind != "u" else zero
    rest = ir.Op("select", type, (ir.Op("eq", BOOL, (expr, zero)), zero, expr))  # NaN stays
    above = ir.Op("select", type, (ir.Op("gt", BOOL, (expr, zero)), one, rest))
    return ir.Op("select", type, (ir.Op("lt", BOOL, (expr, zero)), below, above))


def _conjugate(expr: ir.Expr) -> ir.Expr:
    return conjugate(cast(expr, scalar_type(expr).strong))


def _select(test: ir.Expr, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    together = promote(scalar_type(left), scalar_type(right)).strong
    return ir.Op("select", together, (truth(test), cast(left, together), cast(right, together)))


def _extreme(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """NumPy's minimum and maximum: NaN wins."""
    together = promote(scalar_type(left), scalar_type(right)).strong
    if together.is_complex:
        return complex_extreme(name, cast(left, together), cast(right, together))
    check_constants(together, left, right)
    op = f"f{name}" if together.is_float else name
    if together.kind == "b":
        op, together = {"min": "and", "max": "or"}[name], BOOL
    return ir.Op(op, together, (cast(left, together), cast(right, together)))


def _power(call: KnownCall) -> Operand:
    site = call.frame.check(call.node, "ValueError", NEGATIVE_POWER)
    return of_elements(2, lambda left, right: power(left, right, site), array_power)(call)


def _strong(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """An operator as a function of NumPy's: its result is one of NumPy's numbers."""
    make = array_product if name == "mul_arrays" else partial(binary, name)
    result = make(left, right)
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
    if not type.is_inexact:
        raise NotPossible("the reciprocal of an integer is 0, 1 or -1", "Write 1 / x.")
    if type.is_complex:
        return complex_reciprocal(cast(expr, type))
    return binary("div", constant(1, type), cast(expr, type))


def _scaled_elements(factor: float) -> Handler:
    """Degrees and radians: NumPy multiplies in the type of the array."""

    def make(expr: ir.Expr) -> ir.Expr:
        type = scalar_type(expr).strong
        type = type if type.is_float else F64
        return binary("mul", cast(expr, type), constant(factor, type))

    return of_elements(1, make)


# -- the table --------------------------------------------------------------------------


def _of_numpy(row: ScalarFunction) -> Handler:
    make = _to_whole if row.is_whole else _ufunc
    return of_elements(row.arguments, partial(make, row.operation))


def _of_math(row: ScalarFunction) -> Handler:
    make = _math_to_int if row.is_whole else _math
    return of_numbers(row.arguments, partial(make, row.operation))


_OPERATOR_FUNCTIONS: Final = {
    "add": "add", "subtract": "sub", "divide": "div", "true_divide": "div",
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
        f"numpy.{name}": of_elements(2, partial(_strong, operation))
        for name, operation in _OPERATOR_FUNCTIONS.items()
    },
    "numpy.multiply": of_elements(2, partial(_strong, "mul"), partial(_strong, "mul_arrays")),
    **{
        f"numpy.{name}": of_elements(2, partial(_strong_comparison, operation))
        for name, operation in _COMPARISON_FUNCTIONS.items()
    },
    "math.fabs": of_numbers(1, partial(_math, "abs")),
    "math.isnan": of_numbers(1, partial(_test, "isnan", WEAK_BOOL)),
    "math.isinf": of_numbers(1, partial(_test, "isinf", WEAK_BOOL)),
    "math.isfinite": of_numbers(1, partial(_test, "isfinite", WEAK_BOOL)),
    "math.radians": _scaled(0.017453292519943295),
    "math.degrees": _scaled(57.29577951308232),
    "numpy.radians": _scaled_elements(0.017453292519943295),
    "numpy.deg2rad": _scaled_elements(0.017453292519943295),
    "numpy.degrees": _scaled_elements(57.29577951308232),
    "numpy.rad2deg": _scaled_elements(57.29577951308232),
    "numpy.fabs": of_elements(1, partial(_ufunc, "abs")),
    "numpy.fmod": of_elements(2, _fmod),
    "numpy.isnan": of_elements(1, partial(_test, "isnan", BOOL)),
    "numpy.isinf": of_elements(1, partial(_test, "isinf", BOOL)),
    "numpy.isfinite": of_elements(1, partial(_test, "isfinite", BOOL)),
    "numpy.absolute": of_elements(1, _abs),
    "numpy.negative": of_elements(1, partial(_strong_unary, "neg")),
    "numpy.positive": of_elements(1, partial(_strong_unary, "pos")),
    "numpy.invert": of_elements(1, partial(_strong_unary, "inv")),
    "numpy.reciprocal": of_elements(1, _reciprocal),
    "numpy.square": of_elements(
        1, partial(_square, partial(binary, "mul")), partial(_square, array_product)
    ),
    "numpy.sign": of_elements(1, _sign),
    "numpy.conjugate": of_elements(1, _conjugate),
    "numpy.power": _power,
    "numpy.logical_and": of_elements(2, partial(_logical, "and")),
    "numpy.logical_or": of_elements(2, partial(_logical, "or")),
    "numpy.logical_xor": of_elements(2, partial(_logical, "xor")),
    "numpy.logical_not": of_elements(1, _logical_not),
    "numpy.where": of_elements(3, _select),
    "numpy.minimum": of_elements(2, partial(_extreme, "min")),
    "numpy.maximum": of_elements(2, partial(_extreme, "max")),
    "builtins.abs": of_elements(1, _abs),
    "builtins.pow": _power,
    "builtins.round": of_numbers(1, _round),
}
"""By the name that a function has of its own: a program can bind it to any other."""
