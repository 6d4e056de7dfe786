"""The typed expressions of operators, with every conversion written out."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final, TypeGuard

import numpy as np

from whorl.kernels import ir
from whorl.kernels.types import (
    BOOL,
    F64,
    I64,
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    Scalar,
    complex_of,
    promote,
    quotient,
)

__all__ = ["COMPARISONS", "OPERATORS", "NotPossible", "binary", "cast", "compare", "truth", "unary"]

OPERATORS: Final[dict[type[ast.operator], tuple[str, str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("add", "+", operator.add),
    ast.Sub: ("sub", "-", operator.sub),
    ast.Mult: ("mul", "*", operator.mul),
    ast.Div: ("div", "/", operator.truediv),
    ast.FloorDiv: ("floordiv", "//", operator.floordiv),
    ast.Mod: ("mod", "%", operator.mod),
    ast.Pow: ("pow", "**", operator.pow),
    ast.LShift: ("shl", "<<", operator.lshift),
    ast.RShift: ("shr", ">>", operator.rshift),
    ast.BitOr: ("or", "|", operator.or_),
    ast.BitAnd: ("and", "&", operator.and_),
    ast.BitXor: ("xor", "^", operator.xor),
}
COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
UNARY: Final[dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", operator.pos),
    ast.Invert: ("inv", operator.invert),
    ast.Not: ("not", operator.not_),
}
_BITWISE: Final = frozenset(("and", "or", "xor"))
_SHIFTS: Final = frozenset(("shl", "shr"))
NEGATIVE_POWER: Final = "integers have no negative powers"
ZERO_DIVISION: Final = ("ZeroDivisionError", "integer division by zero")
_DIVISIONS: Final = frozenset(("floordiv", "mod"))
MULTIPLIED: Final = 8  # a power up to here becomes products
I8: Final = Scalar("i", 8)


class NotPossible(Exception):
    """Types that do not go together: why, and what to write instead."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


def scalar_type(expr: ir.Expr) -> Scalar:
    """The type of an expression that is a number."""
    type = expr.type
    assert isinstance(type, Scalar)
    return type


def cast(expr: ir.Expr, to: Scalar) -> ir.Expr:
    """The same number as another type: wrapped or cut off as NumPy does it."""
    source = scalar_type(expr)
    if source.is_complex or to.is_complex:
        return _cast_complex(expr, source, to)
    if source == to:
        if to == WEAK_INT and is_large(expr):
            raise NotPossible(f"{expr.value} does not fit into an int64", "Write np.uint64(...).")
        return expr
    if isinstance(expr, ir.Const) and not (source.is_float and not to.is_float):
        return constant(expr.value, to)
    return ir.Op("cast", to, (expr,))


def _cast_complex(expr: ir.Expr, source: Scalar, to: Scalar) -> ir.Expr:
    """The same where one of the types is complex. No number loses its imaginary part silently."""
    if source == to:
        return expr
    if not source.is_complex:
        return complex_number(cast(expr, to.part), constant(0, to.part))
    if to.kind == "b":
        return cast(truth(expr), to)
    if not to.is_complex:
        raise NotPossible(
            f"{source} does not become {to}: its imaginary part would be lost",
            "Write x.real, x.imag or abs(x).",
        )
    match expr:
        case ir.Op("complex", _, (real, imaginary)):
            return complex_number(cast(real, to.part), cast(imaginary, to.part))
    return ir.Op("cast", to, (expr,))


def complex_number(real: ir.Expr, imaginary: ir.Expr) -> ir.Expr:
    """A complex number of two floats of one type."""
    return ir.Op("complex", complex_of(scalar_type(real)), (real, imaginary))


def real_part(expr: ir.Expr) -> ir.Expr:
    """The real part: of a number that is not complex, the number."""
    return _part(expr, "real", 0) if scalar_type(expr).is_complex else expr


def imaginary_part(expr: ir.Expr) -> ir.Expr:
    """The imaginary part: of a number that is not complex, zero."""
    type = scalar_type(expr)
    return _part(expr, "imag", 1) if type.is_complex else constant(0, type)


def by_parts(make: Callable[[ir.Expr], ir.Expr], expr: ir.Expr) -> ir.Expr:
    """What a function of floats makes of a number: of a complex one, of both of its parts."""
    if not scalar_type(expr).is_complex:
        return make(expr)
    return complex_number(make(real_part(expr)), make(imaginary_part(expr)))


def _part(expr: ir.Expr, name: str, number: int) -> ir.Expr:
    if isinstance(expr, ir.Op) and expr.name == "complex":
        return expr.args[number]
    return ir.Op(name, scalar_type(expr).part, (expr,))


def constant(value: complex, type: Scalar) -> ir.Expr:
    """A number that is known now, as a type; integers wrap."""
    if type.is_complex:
        return complex_number(constant(value.real, type.part), constant(value.imag, type.part))
    assert not isinstance(value, complex)
    if type.kind == "b":
        return ir.Const(type, bool(value))
    if type.is_float:
        with np.errstate(all="ignore"):  # it is the program's business, not the compiler's
            return ir.Const(type, float(type.dtype.type(value)))
    number = int(value)
    if type.weak:  # what it becomes is decided by what it meets
        if not -(2**63) <= number < 2**64:
            raise NotPossible(f"{number} does not fit into 64 bits")
        return ir.Const(type, number)
    number &= (1 << type.bits) - 1
    if type.kind == "i" and number >> (type.bits - 1):
        number -= 1 << type.bits
    return ir.Const(type, number)


def minus_zero(type: Scalar) -> ir.Expr:
    """The number to which any other can be added without a change: it keeps minus zero."""
    return constant(complex(-0.0, -0.0) if type.is_complex else -0.0, type)


def is_large(expr: ir.Expr) -> TypeGuard[ir.Const]:
    """Whether it is a constant of Python's that only an unsigned 64-bit integer can hold."""
    return isinstance(expr, ir.Const) and expr.type == WEAK_INT and int(expr.value) >= 2**63


def fits(value: float, type: Scalar) -> bool:
    """Whether an integer type holds a number.

    >>> fits(300, Scalar("u", 8)), fits(-1, Scalar("u", 8)), fits(-1, Scalar("i", 8))
    (False, False, True)
    """
    half = 1 << (type.bits - 1)
    return 0 <= value < 2 * half if type.kind == "u" else -half <= value < half


def truth(expr: ir.Expr) -> ir.Expr:
    """Whether a number is not zero."""
    type = scalar_type(expr)
    if type.kind == "b":
        return expr
    if isinstance(expr, ir.Const):
        return ir.Const(WEAK_BOOL, bool(expr.value))
    return ir.Op("ne", WEAK_BOOL, (expr, constant(0, type)))


def unary(name: str, expr: ir.Expr) -> ir.Expr:
    """`-x`, `+x`, `~x` or `not x`."""
    type = scalar_type(expr)
    if name == "not":
        return ir.Op("not", WEAK_BOOL, (truth(expr),))
    if type.kind == "b" and (type.weak or name != "inv"):
        if not type.weak:
            raise NotPossible("a NumPy bool has no sign", "Write `not x`, or int(x) first.")
        expr, type = cast(expr, WEAK_INT), WEAK_INT
    if name == "pos":
        return expr
    if name == "inv":
        if type.is_inexact:
            raise NotPossible(f"`~` is for integers, this is {type}")
        return ir.Op("not", type, (expr,)) if type.kind == "b" else ir.Op("inv", type, (expr,))
    if isinstance(expr, ir.Const):
        return constant(-expr.value, type)
    return ir.Op("neg", type, (expr,))


def binary(name: str, left: ir.Expr, right: ir.Expr, site: int = -1) -> ir.Expr:
    """`left name right`, by the name of the operation."""
    a, b = scalar_type(left), scalar_type(right)
    if name == "div":
        together = quotient(a, b)
        return ir.Op("fdiv", together, (cast(left, together), cast(right, together)))
    if name == "pow":
        return power(left, right, site)
    together = promote(a, b)
    if together.kind == "b" and name not in _BITWISE:
        if together.weak:
            together = WEAK_INT
        elif name in ("add", "mul"):
            name = {"add": "or", "mul": "and"}[name]
        elif name == "sub":
            raise NotPossible("NumPy bools have no difference", "Write a != b, or a ^ b.")
        else:
            together = I8
    if (name in _BITWISE or name in _SHIFTS) and together.is_inexact:
        raise NotPossible(f"this operator is for integers, not for {a} and {b}")
    if name in _DIVISIONS and together.is_complex:
        raise NotPossible("complex numbers have no floor and no remainder")
    _check_constants(together, left, right)
    site = site if name in _DIVISIONS and not together.is_float else -1
    return ir.Op(name, together, (cast(left, together), cast(right, together)), site)


_CONVERT: Final = "Convert the other side first, such as with np.int64(...)."


def _check_constants(type: Scalar, *sides: ir.Expr) -> None:
    """A constant of Python's has to be one of the strong type it meets, as in NumPy."""
    if type.weak or not type.is_integer:
        return
    for side in sides:
        if isinstance(side, ir.Const) and side.type == WEAK_INT and not fits(side.value, type):
            raise NotPossible(f"{side.value} does not fit into {type}", _CONVERT)


def power(left: ir.Expr, right: ir.Expr, site: int = -1) -> ir.Expr:
    """`left ** right`. A small whole power that is known becomes products."""
    a, b = scalar_type(left), scalar_type(right)
    together = promote(a, b)
    if together.kind == "b":
        together = WEAK_INT if together.weak else I8
    if together.is_complex:
        return ir.Op("pow", together, (cast(left, together), cast(right, together)))
    if isinstance(right, ir.Const) and float(right.value).is_integer():
        times = int(right.value)
        if not together.is_float and times < 0:
            if not together.weak:
                raise NotPossible(NEGATIVE_POWER, "Make the base a float.")
            together = WEAK_FLOAT
        if 1 <= times <= MULTIPLIED and (together.is_float or b.is_integer):
            return _product(cast(left, together), times, together)
    if together.is_float:
        return ir.Op("pow", together, (cast(left, together), cast(right, together)))
    site = site if together.kind == "i" and not isinstance(right, ir.Const) else -1
    return ir.Op("ipow", together, (cast(left, together), cast(right, together)), site)


def _product(base: ir.Expr, times: int, type: Scalar) -> ir.Expr:
    if times == 1:
        return base
    half = _product(base, times // 2, type)
    square = ir.Op("mul", type, (half, half))
    return ir.Op("mul", type, (square, base)) if times % 2 else square


def compare(name: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """A comparison: of integers by their value whatever their signs are, as Python's."""
    left, right = (
        constant(side.value, Scalar("u", 64)) if is_large(side) else side for side in (left, right)
    )
    a, b = scalar_type(left), scalar_type(right)
    result = WEAK_BOOL if a.weak and b.weak else BOOL
    if (a.is_complex or b.is_complex) and name not in ("eq", "ne"):
        raise NotPossible(
            "complex numbers have no order, as in Python", "Compare abs(x), x.real or x.imag."
        )
    if {a.kind, b.kind} == {"i", "u"} and Scalar("u", 64) in (a, b):
        return _compare_signs(name, left, right, result)
    # A weak int is compared as it is, not as the type of the other: no uint8 is below -1.
    together = promote(a.strong, b.strong) if a.is_integer and b.is_integer else promote(a, b)
    return ir.Op(name, result, (cast(left, together), cast(right, together)))


def _compare_signs(name: str, left: ir.Expr, right: ir.Expr, result: Scalar) -> ir.Expr:
    """A signed with an unsigned integer: they have no type together that holds both."""
    unsigned = Scalar("u", 64)
    if scalar_type(left).kind == "u":
        turned = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
        return _compare_signs(turned.get(name, name), right, left, result)
    is_negative = ir.Op("lt", result, (cast(left, I64), constant(0, I64)))
    as_unsigned = ir.Op(name, result, (cast(cast(left, I64), unsigned), cast(right, unsigned)))
    below = ir.Const(result, name in ("lt", "le", "ne"))
    return ir.Op("select", result, (is_negative, below, as_unsigned))


def as_float(expr: ir.Expr) -> ir.Expr:
    """A number as the float that NumPy's functions compute with."""
    type = scalar_type(expr)
    if type.is_complex:
        raise NotPossible(
            f"this function is for real numbers, not for {type}", "Write x.real or x.imag."
        )
    if type.is_float:
        return expr
    return cast(expr, WEAK_FLOAT if type.weak else F64)
