"""Calls that make complex numbers or take them apart: `complex`, `np.angle`, `cmath`."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import WEAK_BOOL, WEAK_COMPLEX, WEAK_FLOAT
from whorl.launch.scalar_functions import SCALAR_FUNCTIONS

from .arithmetic import (
    as_float,
    binary,
    cast,
    complex_number,
    constant,
    imaginary_part,
    real_part,
    scalar_type,
)
from .array_expressions import elementwise, is_array
from .attributes import part_of_array
from .complex_functions import angle, complex_test, of_python
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Elementwise, Items, Known, Operand, Value
from .run_values import resolve
from .scalar_calls import of_numbers

__all__ = ["COMPLEX_CALLS"]


def _complex(call: KnownCall) -> Operand:
    """`complex(real, imag)`: each may be complex itself, as in Python."""
    given = call.bound("real", "imag", required=0)
    sides = [Known(0) if each is None else each for each in given.values()]
    if all(isinstance(side, Known) for side in sides):
        return Known(complex(*(side.value for side in sides if isinstance(side, Known))))
    first, second = (call.number(side) for side in sides)
    if given["imag"] is None:
        return Value(cast(first, WEAK_COMPLEX))
    first, second = (cast(call.frame.lowering.keep(side), WEAK_COMPLEX) for side in (first, second))
    real = binary("sub", real_part(first), imaginary_part(second))
    if not scalar_type(call.number(sides[1])).is_complex:
        real = real_part(first)
    imaginary = real_part(second)
    if scalar_type(call.number(sides[0])).is_complex:
        imaginary = binary("add", imaginary_part(first), imaginary)
    return Value(complex_number(real, imaginary))


def _part(name: str, call: KnownCall) -> Operand:
    """`np.real`, `np.imag`: as the attributes."""
    (operand,) = call.decided(1)
    if is_array(operand):
        assert isinstance(operand, ArrayOf | Elementwise)
        return part_of_array(call.frame, operand, name)
    take = real_part if name == "real" else imaginary_part
    return Value(take(call.number(operand)))


def _angle(call: KnownCall) -> Operand:
    given = call.bound("z", "deg")
    operand, deg = given["z"], given["deg"]
    assert operand is not None
    in_degrees = deg is not None and bool(call.known_value(deg))

    def make(expr: ir.Expr) -> ir.Expr:
        type = scalar_type(expr).strong
        result = angle(cast(expr, type))
        if not in_degrees:
            return result
        return binary("mul", result, constant(180 / math.pi, scalar_type(result)))

    if is_array(operand):
        return elementwise(call.frame, call.node, make, (operand,))
    return Value(make(call.frame.lowering.keep(call.number(operand))))


def _python(*exprs: ir.Expr) -> tuple[ir.Expr, ...]:
    return tuple(cast(expr, WEAK_COMPLEX) for expr in exprs)


def _polar(call: KnownCall) -> Operand:
    (expr,) = _python(call.frame.lowering.keep(call.number(call.decided(1)[0])))
    size = ir.Op("abs", WEAK_FLOAT, (expr,))
    return Items((Value(size), Value(angle(expr))))


def _rect(size: ir.Expr, phase: ir.Expr) -> ir.Expr:
    size, phase = (cast(as_float(each), WEAK_FLOAT) for each in (size, phase))
    turns = (ir.Op(name, WEAK_FLOAT, (phase,)) for name in ("cos", "sin"))
    return complex_number(*(binary("mul", size, turn) for turn in turns))


def _iscomplexobj(is_complex: bool, call: KnownCall) -> Operand:
    operand = resolve(call.positional(1)[0])
    match operand:
        case Elementwise(element):
            pass
        case ArrayOf(array):
            element = array.type.element
        case _:
            element = scalar_type(call.number(operand))
    return Known(element.is_complex is is_complex)


COMPLEX_CALLS: Final[dict[str, Handler]] = {
    **{
        f"cmath.{row.math}": of_numbers(1, partial(of_python, row.operation))
        for row in SCALAR_FUNCTIONS
        if row.math and (row.is_complex or row.math == "log10")
    },
    "builtins.complex": _complex,
    "cmath.isfinite": of_numbers(
        1, lambda expr: complex_test("isfinite", WEAK_BOOL, *_python(expr))
    ),
    "cmath.isinf": of_numbers(1, lambda expr: complex_test("isinf", WEAK_BOOL, *_python(expr))),
    "cmath.isnan": of_numbers(1, lambda expr: complex_test("isnan", WEAK_BOOL, *_python(expr))),
    "cmath.phase": of_numbers(1, lambda expr: angle(*_python(expr))),
    "cmath.polar": _polar,
    "cmath.rect": of_numbers(2, _rect),
    "numpy.angle": _angle,
    "numpy.imag": partial(_part, "imag"),
    "numpy.iscomplexobj": partial(_iscomplexobj, True),
    "numpy.isrealobj": partial(_iscomplexobj, False),
    "numpy.real": partial(_part, "real"),
}
"""By the name that a function has of its own: a program can bind it to any other."""
