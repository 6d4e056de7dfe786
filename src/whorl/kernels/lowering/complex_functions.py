"""Functions of complex numbers as expressions: those of the C library, and those made of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import BOOL, WEAK_COMPLEX, Scalar
from whorl.launch.scalar_functions import SCALAR_FUNCTIONS

from .arithmetic import (
    NotPossible,
    as_float,
    binary,
    cast,
    complex_number,
    constant,
    imaginary_part,
    real_part,
    scalar_type,
)

__all__ = [
    "angle",
    "complex_extreme",
    "complex_function",
    "complex_reciprocal",
    "complex_sign",
    "complex_test",
    "conjugate",
    "of_python",
    "size_squared",
]

_OF_LIBRARY: Final = frozenset(row.operation for row in SCALAR_FUNCTIONS if row.is_complex)


def complex_function(name: str, type: Scalar, *exprs: ir.Expr) -> ir.Expr:
    """A function of the table `launch/scalar_functions.py`, in a complex type."""
    args = [cast(expr, type) for expr in exprs]
    if name in _OF_LIBRARY:
        return ir.Op(name, type, tuple(args))
    if name not in _MADE:
        raise NotPossible(
            f"this function is for real numbers, not for {type}",
            "Apply it to x.real, x.imag or abs(x).",
        )
    return _MADE[name](*args)


def _of(name: str, *exprs: ir.Expr) -> ir.Expr:
    """A function of floats of one type."""
    return ir.Op(name, exprs[0].type, exprs)


def _scaled(expr: ir.Expr, factor: float) -> ir.Expr:
    """Both parts times a number."""
    number = constant(factor, scalar_type(expr).part)
    return complex_number(*(binary("mul", part, number) for part in _parts(expr)))


def _parts(expr: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    return real_part(expr), imaginary_part(expr)


def _log1p(expr: ir.Expr) -> ir.Expr:
    real, imaginary = _parts(expr)
    more = binary("add", real, constant(1, scalar_type(real)))
    size = _of("log", _of("hypot", more, imaginary))
    return complex_number(size, _of("atan2", imaginary, more))


def _expm1(expr: ir.Expr) -> ir.Expr:
    real, imaginary = _parts(expr)
    type = scalar_type(real)
    half = _of("sin", binary("div", imaginary, constant(2, type)))
    less = binary("mul", binary("mul", constant(2, type), half), half)
    first = binary("sub", binary("mul", _of("expm1", real), _of("cos", imaginary)), less)
    return complex_number(first, binary("mul", _of("exp", real), _of("sin", imaginary)))


def _exp2(expr: ir.Expr) -> ir.Expr:
    return ir.Op("exp", expr.type, (_scaled(expr, math.log(2)),))


def _by_parts(name: str) -> Callable[[ir.Expr], ir.Expr]:
    return lambda expr: complex_number(*(_of(name, part) for part in _parts(expr)))


_MADE: Final[dict[str, Callable[..., ir.Expr]]] = {
    "exp2": _exp2,
    "expm1": _expm1,
    "log10": lambda expr: _scaled(ir.Op("log", expr.type, (expr,)), math.log10(math.e)),
    "log1p": _log1p,
    "log2": lambda expr: _scaled(ir.Op("log", expr.type, (expr,)), math.log2(math.e)),
    "rint": _by_parts("rint"),
}


def conjugate(expr: ir.Expr) -> ir.Expr:
    """The conjugate: of a number that is not complex, the number."""
    return ir.Op("conj", expr.type, (expr,)) if scalar_type(expr).is_complex else expr


def angle(expr: ir.Expr) -> ir.Expr:
    """The angle of a number in the complex plane."""
    if not scalar_type(expr).is_complex:
        expr = as_float(expr)
    return _of("atan2", imaginary_part(expr), real_part(expr))


def complex_test(name: str, result: Scalar, expr: ir.Expr) -> ir.Expr:
    """Whether one part is NaN or infinite, or both parts are finite."""
    both = "and" if name == "isfinite" else "or"
    return ir.Op(both, result, tuple(ir.Op(name, result, (part,)) for part in _parts(expr)))


def complex_sign(expr: ir.Expr) -> ir.Expr:
    """The number by its size; zero stays zero."""
    type = scalar_type(expr)
    size = ir.Op("abs", type.part, (expr,))
    by_size = complex_number(*(binary("div", part, size) for part in _parts(expr)))
    zero = constant(0, type)
    return ir.Op("select", type, (ir.Op("eq", BOOL, (expr, zero)), zero, by_size))


def complex_extreme(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """The smaller or larger by the real part, then the imaginary one; NaN wins, the first."""
    test = "le" if name == "min" else "ge"
    (a, b), (c, d) = ((real_part(side), imaginary_part(side)) for side in (left, right))
    is_equal = ir.Op("eq", BOOL, (a, c))
    by_second = ir.Op("and", BOOL, (is_equal, ir.Op(test, BOOL, (b, d))))
    strict = ir.Op(test[0] + "t", BOOL, (a, c))
    is_left = ir.Op("or", BOOL, (strict, by_second))
    is_number = ir.Op("not", BOOL, (complex_test("isnan", BOOL, right),))
    is_left = ir.Op("and", BOOL, (is_number, is_left))
    is_left = ir.Op("or", BOOL, (complex_test("isnan", BOOL, left), is_left))
    return ir.Op("select", scalar_type(left), (is_left, left, right))


def complex_reciprocal(expr: ir.Expr) -> ir.Expr:
    """One by the number, as NumPy's function of that name has it: by the larger part."""
    type = scalar_type(expr).part
    real, imaginary = _parts(expr)
    sizes = [ir.Op("abs", type, (part,)) for part in (imaginary, real)]
    is_real = ir.Op("le", BOOL, tuple(sizes))

    def chosen(one: ir.Expr, other: ir.Expr) -> ir.Expr:
        return ir.Op("select", type, (is_real, one, other))

    one, minus = constant(1, type), constant(-1, type)
    large, small = chosen(real, imaginary), chosen(imaginary, real)
    ratio = binary("div", small, large)
    denominator = binary("add", binary("mul", small, ratio), large)
    first = chosen(one, ratio)
    second = chosen(ir.Op("neg", type, (ratio,)), minus)
    return complex_number(*(binary("div", side, denominator) for side in (first, second)))


def of_python(name: str, *exprs: ir.Expr) -> ir.Expr:
    """A function of `cmath`."""
    return complex_function(name, WEAK_COMPLEX, *exprs)


def size_squared(expr: ir.Expr) -> ir.Expr:
    """The square of a number; of a complex one, that of its size."""
    if not scalar_type(expr).is_complex:
        return binary("mul", expr, expr)
    first, second = (binary("mul", part, part) for part in _parts(expr))
    return binary("add", first, second)
