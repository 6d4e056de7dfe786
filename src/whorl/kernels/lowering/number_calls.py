"""Functions and methods of Python's numbers and sequences: `round`, `any`, `n.bit_length()`."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.library import number_functions
from whorl.kernels.types import WEAK_INT, Scalar

from .arithmetic import as_float, cast, scalar_type, truth
from .array_expressions import elementwise, expression_of, is_array
from .complex_functions import conjugate
from .known_calls import Handler, KnownCall
from .operands import LIST, Access, Elementwise, Items, Iteration, Known, Operand, Value
from .reductions import ALL, ANY, reduce_all
from .run_values import resolve
from .scalar_calls import SCALAR_CALLS, of_elements, of_numbers

__all__ = ["NUMBER_CALLS", "NUMBER_METHODS"]


def _library(function: Callable[..., Any], call: KnownCall) -> Operand:
    assert isinstance(function, types.FunctionType)
    return call.frame.lowering.syntax.library(call, function)


def _by_count(count: int, function: Callable[..., Any], otherwise: Handler) -> Handler:
    """A function of the library for so many arguments, and another handler for all others."""

    def handle(call: KnownCall) -> Operand:
        if len(call.args) + len(call.named) == count:
            return _library(function, call)
        return otherwise(call)

    return handle


def _round(call: KnownCall) -> Operand:
    given = call.bound("number", "ndigits")
    digits = given["ndigits"]
    assert given["number"] is not None
    if digits is None or (isinstance(digits, Known) and digits.value is None):
        return SCALAR_CALLS["builtins.round"](replace(call, args=[given["number"]], named={}))
    operands = [given["number"], digits]
    return _library(number_functions.rounded, replace(call, args=operands, named={}))


def _hypot(call: KnownCall) -> Operand:
    """Of any number of coordinates."""
    if len(call.args) == 2:
        return SCALAR_CALLS["math.hypot"](call)
    args: list[Operand] = [Items(tuple(call.positional(len(call.args))))]
    return _library(number_functions.norm_of, replace(call, args=args))


def _some(is_any: bool, call: KnownCall) -> Operand:
    """`any`, `all`: of an array with one dimension, or of items that are known one by one."""
    operand = resolve(call.positional(1)[0])
    frame = call.frame
    if is_array(operand) or isinstance(operand, Iteration):
        tests = elementwise(frame, call.node, truth, (operand,))
        if tests.ndim != 1:
            call.refuse("this is for one dimension", "Write np.any(...) or np.all(...).")
        return Value(reduce_all(frame, call.node, tests, ANY if is_any else ALL))
    result: Operand = Known(not is_any)
    for item in reversed(call.parts(operand)):
        found = resolve(item)
        if isinstance(found, Known):
            result = Known(is_any) if bool(found.value) is is_any else result
            continue
        test = Value(truth(call.number(found)))
        if isinstance(result, Known):
            result = result if bool(result.value) is is_any else test
        else:
            assert isinstance(result, Value)
            result = Value(ir.Both(is_any, test.expr, result.expr))
    return result


def _items(is_list: bool, call: KnownCall) -> Operand:
    """`list` and `tuple` of something whose length is known."""
    if not call.args:
        return Items((), is_list)
    operand = resolve(call.positional(1)[0])
    is_counted = isinstance(operand, Iteration) and operand.bounds is None
    if is_list and (is_array(operand) or isinstance(operand, Iteration)):
        value = expression_of(call.frame, operand)
        if is_counted or not all(isinstance(extent, ir.Const) for extent in value.extents):
            return _list_of(call, value)
    return Items(tuple(call.parts(resolve(call.positional(1)[0]))), is_list)


def _list_of(call: KnownCall, value: Elementwise) -> Iteration:
    """The numbers of something with one dimension, as a list."""
    if value.ndim != 1:
        call.refuse("a list of the rows of an array", "Use the array.")

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        return Value(call.frame.lowering.keep(value.at(counts, Access())))

    return Iteration(LIST, value.extents, item, is_list=True)


def _ldexp(x: ir.Expr, power: ir.Expr) -> ir.Expr:
    number = as_float(x)
    return ir.Op("ldexp", scalar_type(number), (number, cast(power, WEAK_INT)))


def _size(expr: ir.Expr) -> ir.Expr:
    type = scalar_type(expr)
    if not type.is_integer:
        expr = cast(expr, WEAK_INT)
    return ir.Op("abs", scalar_type(expr), (expr,)) if scalar_type(expr).kind == "i" else expr


def _bit_count(result: Scalar, expr: ir.Expr) -> ir.Expr:
    size = _size(expr)
    return cast(ir.Op("count_bits", scalar_type(size), (size,)), result)


def _bit_length(expr: ir.Expr) -> ir.Expr:
    size = _size(expr)
    return cast(ir.Op("bit_length", scalar_type(size), (size,)), WEAK_INT)


def _is_integer(call: KnownCall) -> Operand:
    if not scalar_type(call.number(resolve(call.args[0]))).is_float:
        return Known(True)
    return _library(number_functions.is_integer, call)


NUMBER_CALLS: Final[dict[str, Handler]] = {
    "builtins.all": partial(_some, False),
    "builtins.any": partial(_some, True),
    "builtins.list": partial(_items, True),
    "builtins.pow": _by_count(3, number_functions.power_modulo, SCALAR_CALLS["builtins.pow"]),
    "builtins.round": _round,
    "builtins.tuple": partial(_items, False),
    "math.hypot": _hypot,
    "math.ldexp": of_numbers(2, _ldexp),
    "math.log": _by_count(2, number_functions.logarithm, SCALAR_CALLS["math.log"]),
    "numpy.bitwise_count": of_elements(1, partial(_bit_count, Scalar("u", 8))),
    "numpy.ldexp": of_elements(2, _ldexp),
}
"""By the name that a function has of its own: a program can bind it to any other."""
NUMBER_METHODS: Final[dict[str, Handler]] = {
    "bit_count": of_numbers(1, partial(_bit_count, WEAK_INT)),
    "bit_length": of_numbers(1, _bit_length),
    "conj": of_numbers(1, conjugate),
    "conjugate": of_numbers(1, conjugate),
    "is_integer": _is_integer,
    "item": of_numbers(1, lambda expr: expr),
}
"""Methods of numbers; the number is the first argument."""
