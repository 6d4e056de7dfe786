"""Operators of Python on operands: `a + b`, `-a`, `a @ b`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from whorl.reads.static_functions import OPERATED, checked
from whorl.signals import pass_on

from . import vectors
from .arithmetic import (
    NEGATIVE_POWER,
    OPERATORS,
    UNARY,
    ZERO_DIVISION,
    NotPossible,
    binary,
    unary,
)
from .array_expressions import array_binary, beside_vectors, elementwise, is_array
from .data_classes import is_instance
from .expressions import (
    PLAIN,
    number_at,
    operands_of,
    refuse_truth,
    remedy_for,
    resolved,
)
from .frame import Frame
from .operands import (
    Items,
    Known,
    Operand,
    Value,
    Vec,
    describe,
)
from .run_values import is_scalar, number, resolve

__all__ = ["OPERATIONS", "apply"]


def _binop(frame: Frame, node: ast.BinOp) -> Operand:
    left, right = operands_of(frame, (node.left, node.right))
    return apply(frame, node, node.op, left, right)


def apply(frame: Frame, node: ast.AST, op: ast.operator, left: Operand, right: Operand) -> Operand:
    """What an operator makes of two operands."""
    left, right = resolve(left), resolve(right)
    left, right = beside_vectors(frame, (left, right))
    if isinstance(left, Known) and isinstance(right, Known):
        return _known_binary(frame, node, op, left.value, right.value)
    if (is_array(left) or is_array(right)) and not isinstance(op, ast.MatMult):
        name, sign, _ = OPERATORS[type(op)]
        try:
            return array_binary(frame, node, name, left, right)
        except NotPossible as error:
            frame.refuse(node, f"`{sign}`: {error.reason}", error.remedy, _origins(left, right))
    if isinstance(left, Items) or isinstance(right, Items):
        left, right = _items(left), _items(right)
    if _are_tuples(left, right) and isinstance(op, ast.Add):
        assert isinstance(left, Items)
        assert isinstance(right, Items)
        if left.is_list is not right.is_list:
            frame.refuse(node, "a list and a tuple cannot be added")
        return left.with_items((*left.items, *right.items))
    if isinstance(op, ast.Mult):
        for items, times in ((left, right), (right, left)):
            if isinstance(items, Items) and isinstance(times, Known) and type(times.value) is int:
                return items.with_items(items.items * times.value)
    is_product = isinstance(op, ast.MatMult) and (is_array(left) or is_array(right))
    if (isinstance(left, Vec) or isinstance(right, Vec)) and not is_product:
        return vectors.binary_of(frame, node, op, left, right)
    if is_product:
        return frame.lowering.syntax.product(frame, node, left, right)
    if isinstance(op, ast.MatMult):
        frame.refuse(
            node, f"`@` of {describe(left)} and {describe(right)}",
            "Write the loops, or use small vectors: whorl.vec(...).",
        )  # fmt: skip
    name, sign, _ = OPERATORS[type(op)]
    for side in (left, right):
        if not is_scalar(side):
            frame.refuse(
                node,
                f"`{sign}` of {describe(left)} and {describe(right)}: {describe(side)} "
                "is no number",
                remedy_for(side),
            )
    site = frame.check(node, *_CHECKED[name]) if name in _CHECKED else -1
    try:
        first = number(left)
        if name == "pow":  # it may be used more than once
            first = frame.lowering.keep(first)
        return Value(binary(name, first, number(right), site))
    except NotPossible as error:
        frame.refuse(node, f"`{sign}`: {error.reason}", error.remedy, _origins(left, right))


_CHECKED: Final = {
    "floordiv": ZERO_DIVISION,
    "mod": ZERO_DIVISION,
    "pow": ("ValueError", NEGATIVE_POWER),
}
"""What is checked of an operation under `debug`."""


def _origins(*operands: Operand) -> tuple[str, ...]:
    return tuple(f"{side} is {describe(operand)}" for side, operand in zip(
        ("the left side", "the right side"), operands, strict=False))  # fmt: skip


def _are_tuples(*operands: Operand) -> bool:
    return all(isinstance(each, Items) and not is_instance(each) for each in operands)


def _items(operand: Operand) -> Operand:
    """A tuple or list that is known, as one of operands."""
    match operand:
        case Known(tuple() | list() as value):
            return Items(tuple(map(Known, value)), is_list=isinstance(value, list))
    return operand


def _known_binary(frame: Frame, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Operand:
    for side in (left, right):
        if not isinstance(side, PLAIN):
            frame.refuse(node, f"a {type(side).__name__} is no operand in a kernel")
    try:
        checked((left, right), OPERATED)
        with np.errstate(all="ignore"):
            return Known(OPERATORS[type(op)][2](left, right))
    except Exception as error:
        pass_on(error)
        remedy = remedy_for(Known(left), Known(right))
        frame.refuse(node, f"this raises {type(error).__name__}: {error}", remedy)


def _unaryop(frame: Frame, node: ast.UnaryOp) -> Operand:
    operand = resolved(frame, node.operand)
    name, known = UNARY[type(node.op)]
    if isinstance(operand, Known) and isinstance(operand.value, PLAIN):
        try:
            checked(operand.value, OPERATED)
            with np.errstate(all="ignore"):
                return Known(known(operand.value))
        except Exception as error:
            pass_on(error)
            frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    if name == "not" and isinstance(operand, Items):
        return Known(not operand.items)
    if isinstance(operand, Vec):
        return vectors.unary_of(frame, name, operand)
    if is_array(operand):
        if name == "not":
            refuse_truth(frame, node)
        return elementwise(frame, node, partial(unary, name), (operand,))
    return Value(unary(name, number_at(frame, node, operand)))


OPERATIONS: Final[dict[type[ast.expr], Callable[[Frame, Any], Operand]]] = {
    ast.BinOp: _binop,
    ast.UnaryOp: _unaryop,
}
