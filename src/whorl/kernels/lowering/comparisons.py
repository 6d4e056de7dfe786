"""Comparisons of operands: `a < b`, `a < b < c`, `a is None`, `a in b`."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.types import BOOL, WEAK_BOOL, WEAK_INT
from whorl.reads.static_functions import OPERATED, checked
from whorl.signals import pass_on

from . import vectors
from .arithmetic import (
    COMPARISONS,
    NotPossible,
    binary,
    cast,
    compare,
    scalar_type,
    unary,
)
from .array_expressions import beside_vectors, elementwise, is_array
from .conditionals import short_circuit
from .data_classes import is_instance
from .expressions import (
    operands_of,
    parts,
    refuse_truth,
    remedy_for,
    snapshot,
)
from .frame import Frame
from .operands import (
    Elementwise,
    Items,
    Iteration,
    Known,
    Operand,
    Value,
    Vec,
    ViewOperand,
    describe,
)
from .reductions import ANY, reduce_all
from .run_values import is_scalar, number, resolve

__all__ = ["CHAINS"]


def _compare(frame: Frame, node: ast.Compare) -> Operand:
    if len(node.ops) == 1:
        left, right = operands_of(frame, (node.left, node.comparators[0]))
        return _compared(frame, node, node.ops[0], left, right)
    # A chain: each side is evaluated once, and the rest only if the first holds.
    left, right = operands_of(frame, (node.left, node.comparators[0]))
    right = snapshot(frame, resolve(right))
    first = _compared(frame, node, node.ops[0], left, right)
    name = f"*{id(node)}"  # no name that a program can have
    frame.names[name] = right
    rest = ast.Compare(ast.Name(name, ast.Load()), node.ops[1:], node.comparators[1:])
    ast.copy_location(rest, node)
    ast.copy_location(rest.left, node)
    try:
        return short_circuit(frame, node, False, first, rest)
    finally:
        del frame.names[name]


def _compared(frame: Frame, node: ast.AST, op: ast.cmpop, left: Operand, right: Operand) -> Operand:
    if isinstance(op, ast.Is | ast.IsNot):
        return _identical(frame, node, left, right, isinstance(op, ast.IsNot))
    left, right = resolve(left), resolve(right)
    left, right = _class_beside(right, left), _class_beside(left, right)
    if isinstance(op, ast.In | ast.NotIn):
        return _contained(frame, node, left, right, isinstance(op, ast.NotIn))
    name, known = COMPARISONS[type(op)]
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            checked((left.value, right.value), OPERATED)
            with np.errstate(all="ignore"):
                return Known(bool(known(left.value, right.value)))
        except Exception as error:
            pass_on(error)
            what = f"this raises {type(error).__name__}: {error}"
            frame.refuse(node, what, remedy_for(left, right))
    if is_instance(left) or is_instance(right):
        frame.refuse(
            node,
            f"{describe(left)} is compared with {describe(right)}",
            "Compare their fields: a.x == b.x.",
        )
    if isinstance(left, Items) and isinstance(right, Items) and name in ("eq", "ne"):
        return _equal_items(frame, node, left, right, name)
    if isinstance(left, Items) and isinstance(right, Items) and left.is_list is right.is_list:
        return _ordered_items(frame, node, op, left, right)
    left, right = beside_vectors(frame, (left, right))
    if isinstance(left, Vec) or isinstance(right, Vec):
        sides = vectors.together(left, right)
        if sides is not None:
            return vectors.elementwise(frame, sides[0], partial(compare, name), *sides[1])
    if is_array(left) or is_array(right):
        return elementwise(frame, node, partial(compare, name), (left, right), keeps=False)
    for side, other in ((left, right), (right, left)):
        if not is_scalar(side):
            if isinstance(side, Known) and name in ("eq", "ne") and is_scalar(other):
                return Known(name == "ne")  # a number is never a text, nor None
            what = f"{describe(left)} cannot be compared with {describe(right)}"
            frame.refuse(node, what, remedy_for(side))
    return Value(compare(name, number(left), number(right)))


def _class_beside(dtype: Operand, operand: Operand) -> Operand:
    """A class as a value, where it is compared with a dtype: `x.dtype == np.float32`."""
    if not (isinstance(dtype, Known) and isinstance(dtype.value, np.dtype)):
        return operand
    if isinstance(operand, ViewOperand) and isinstance(operand.view.peek(), type):
        return Known(operand.view.value())
    return operand


def _equal_items(frame: Frame, node: ast.AST, left: Items, right: Items, name: str) -> Operand:
    if len(left.items) != len(right.items) or left.is_list is not right.is_list:
        return Known(name == "ne")
    result: ir.Expr = ir.Const(WEAK_BOOL, True)
    for a, b in zip(left.items, right.items, strict=True):
        is_equal = _compared(frame, node, ast.Eq(), a, b)
        result = ir.Op("and", WEAK_BOOL, (result, cast(number(is_equal), WEAK_BOOL)))
    return Value(unary("not", result) if name == "ne" else result)


def _ordered_items(
    frame: Frame, node: ast.AST, op: ast.cmpop, left: Items, right: Items
) -> Operand:
    """Which of two tuples comes first: the first items that differ decide."""
    longer, shorter = len(left.items) > len(right.items), len(left.items) < len(right.items)
    known = {ast.Lt: shorter, ast.LtE: not longer, ast.Gt: longer, ast.GtE: not shorter}
    result: ir.Expr = ir.Const(WEAK_BOOL, known[type(op)])
    strict = ast.Lt() if isinstance(op, ast.Lt | ast.LtE) else ast.Gt()
    pairs = [
        (snapshot(frame, resolve(a)), snapshot(frame, resolve(b)))
        for a, b in zip(left.items, right.items, strict=False)
    ]
    for a, b in reversed(pairs):
        is_first, is_equal = (
            cast(number(_compared(frame, node, each, a, b)), WEAK_BOOL)
            for each in (strict, ast.Eq())
        )
        result = ir.Op("select", WEAK_BOOL, (is_equal, result, is_first))
    return Value(result)


def _identical(frame: Frame, node: ast.AST, left: Operand, right: Operand, is_not: bool) -> Operand:
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Known) and other.value is None:
            if isinstance(one, ViewOperand):
                return Known(one.view.is_none() is not is_not)
            return Known((isinstance(one, Known) and one.value is None) is not is_not)
    left, right = resolve(left), resolve(right)
    known = [side.value for side in (left, right) if isinstance(side, Known)]
    if len(known) == 2 and any(isinstance(value, bool | enum.Enum) for value in known):
        return Known((known[0] is known[1]) is not is_not)
    here, there = _class(left), _class(right)
    if here is not None and there is not None:
        return Known((here is there) is not is_not)
    frame.refuse(
        node, "`is` is for None, bools, enum members and classes", "Write == to compare numbers."
    )


def _class(operand: Operand) -> type | None:
    """The class that an operand is, read by value; None if it is no class."""
    match operand:
        case Known(type() as value):
            return value
        case ViewOperand(view) if isinstance(view.peek(), type):
            cls: type = view.value()
            return cls
    return None


def _in_range(frame: Frame, expr: ir.Expr, source: Iteration) -> ir.Expr:
    """Whether a range has a number."""
    assert source.bounds is not None
    start, _, step = source.bounds
    if not scalar_type(expr).is_integer:
        raise NotPossible("only ints are looked for in a range", "Convert it with int(...).")
    apart = frame.lowering.keep(binary("sub", cast(expr, WEAK_INT), start))
    count = frame.lowering.keep(binary("floordiv", apart, step))
    tests = (
        compare("eq", binary("mod", apart, step), ir.ZERO),
        compare("ge", count, ir.ZERO),
        compare("lt", count, source.extents[0]),
    )
    return ir.Op("and", WEAK_BOOL, (ir.Op("and", WEAK_BOOL, tests[:2]), tests[2]))


def _contained(frame: Frame, node: ast.AST, left: Operand, right: Operand, is_not: bool) -> Operand:
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            checked((left.value, right.value), OPERATED)
            with np.errstate(all="ignore"):
                return Known((left.value in right.value) is not is_not)
        except TypeError as error:
            frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    if is_array(right) and is_scalar(left):  # as NumPy: whether any element is equal
        equal = elementwise(frame, node, partial(compare, "eq"), (left, right), keeps=False)
        assert isinstance(equal, Elementwise)
        bools = replace(equal, element=BOOL, at=lambda *given: cast(equal.at(*given), BOOL))
        found = cast(reduce_all(frame, node, bools, ANY), WEAK_BOOL)
        return Value(unary("not", found) if is_not else found)
    if is_array(left) or is_array(right):
        refuse_truth(frame, node)
    if isinstance(right, Iteration) and right.bounds is not None and is_scalar(left):
        is_inside = _in_range(frame, number(left), right)
        return Value(unary("not", is_inside) if is_not else is_inside)
    result: Operand = Known(False)
    for item in parts(frame, node, right):
        is_equal = _compared(frame, node, ast.Eq(), left, item)
        if isinstance(is_equal, Known):
            if is_equal.value:
                return Known(not is_not)
            continue
        assert isinstance(is_equal, Value)
        result = is_equal if isinstance(result, Known) else Value(
            ir.Op("or", WEAK_BOOL, (number(result), is_equal.expr)))  # fmt: skip
    if isinstance(result, Known):
        return Known(is_not)
    return Value(unary("not", number(result))) if is_not else result


CHAINS: Final[dict[type[ast.expr], Callable[[Frame, Any], Operand]]] = {
    ast.Compare: _compare,
}
