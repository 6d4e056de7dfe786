"""Expressions of which a part may not be evaluated: `a and b`, `a if test else b`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from whorl.kernels import ir
from whorl.kernels.types import Scalar

from .arithmetic import (
    truth,
)
from .expressions import (
    TRUTH,
    condition,
    expression,
    number_at,
    resolved,
    snapshot,
)
from .frame import Frame, Jump, UnknownResult
from .joins import all_at_once, join, merge, new_variable, settings
from .operands import (
    Elementwise,
    Items,
    Known,
    Operand,
    Value,
)
from .sharing import copied

__all__ = ["CONDITIONALS", "short_circuit"]


def _boolop(frame: Frame, node: ast.BoolOp) -> Operand:
    is_or = isinstance(node.op, ast.Or)
    first, *others = node.values
    rest = others[0] if len(others) == 1 else ast.BoolOp(node.op, others)
    ast.copy_location(rest, others[0])
    return short_circuit(frame, node, is_or, resolved(frame, first), rest)


def short_circuit(
    frame: Frame, node: ast.AST, is_or: bool, first: Operand, rest: ast.expr
) -> Operand:
    """`first and rest`, `first or rest`: the rest is only evaluated if need be."""
    if isinstance(first, Known):
        return first if bool(first.value) is is_or else expression(frame, rest)
    if isinstance(first, Items):
        return first if bool(first.items) is is_or else expression(frame, rest)
    left = number_at(frame, node, first, TRUTH)
    written: ir.Block = []
    before, frame.names = frame.names, dict(frame.names)
    try:
        with frame.lowering.writing(written):
            second = resolved(frame, rest)
            right = number_at(frame, rest, second, TRUTH)
    except UnknownResult:
        return Value(left)  # a recursive call, of which nothing is known yet
    are_bools = _kind(left) == "b" and _kind(right) == "b"
    if are_bools and not written and not _differ(frame.names, before):
        return Value(ir.Both(is_or, left, right))
    left = frame.lowering.keep(left)
    test = truth(left)
    blocks: tuple[ir.Block, ir.Block] = ([], written) if is_or else (written, [])
    skipped = blocks[0] if is_or else blocks[1]
    _merge_names(frame, [Jump(skipped, before), Jump(written, frame.names)])
    return _either(frame, test, blocks, (Value(left), Value(right)) if is_or else
                   (Value(right), Value(left)))  # fmt: skip


def _kind(expr: ir.Expr) -> str:
    assert isinstance(expr.type, Scalar)
    return expr.type.kind


def _ifexp(frame: Frame, node: ast.IfExp) -> Operand:
    test = condition(frame, node.test)
    if isinstance(test, Known):
        return expression(frame, node.body if test.value else node.orelse)
    test = frame.lowering.keep(test)
    blocks: tuple[ir.Block, ir.Block] = ([], [])
    sides = []
    before, jumps = frame.names, []
    for block, side in zip(blocks, (node.body, node.orelse), strict=True):
        frame.names = dict(before)
        try:
            with frame.lowering.writing(block):
                side_operand = resolved(frame, side)
                if isinstance(side_operand, Elementwise | Items):
                    side_operand = snapshot(frame, side_operand)
        except UnknownResult:
            continue
        sides.append(side_operand)
        jumps.append(Jump(block, frame.names))
    if not sides:
        raise UnknownResult
    if len(sides) == 1:  # the other one is a recursive call, of which nothing is known yet
        return sides[0]
    _merge_names(frame, jumps)
    return _either(frame, test, blocks, (sides[0], sides[1]))


def _merge_names(frame: Frame, jumps: list[Jump]) -> None:
    """The names after two branches of an expression, which `:=` may have left different."""
    first, second = jumps
    if _differ(first.names, second.names):
        frame.names = merge(frame, first.names, jumps)


def _differ(left: dict[str, Operand], right: dict[str, Operand]) -> bool:
    return left.keys() != right.keys() or any(left[name] is not right[name] for name in left)


def _either(
    frame: Frame,
    test: ir.Expr,
    blocks: tuple[ir.Block, ir.Block],
    sides: tuple[Operand, Operand],
) -> Operand:
    """One of two operands, by a test of the run."""
    template = join(sides)
    variable = new_variable(template, "either")
    for block, side in zip(blocks, sides, strict=True):
        copied(frame, variable, side, frame.names.values())
        block.extend(all_at_once(settings(variable, side)))
    frame.lowering.emit(ir.If(test, *blocks))
    return variable


CONDITIONALS: Final[dict[type[ast.expr], Callable[[Frame, Any], Operand]]] = {
    ast.BoolOp: _boolop,
    ast.IfExp: _ifexp,
}
