"""Gives loops that may count from below zero a version of their own for when they do not.

`for k in range(starts[i], starts[i + 1])`: nobody knows that `starts[i]` is not negative, so each
`values[k]` would have to look whether it counts from the end. The loop is written twice: one for a
count that begins at zero or above, whose indices are direct, and one for all others.
"""

from __future__ import annotations

from typing import Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.ir_walk import (
    blocks_of,
    every_expression,
    every_part,
    statements_in,
)
from whorl.kernels.overlap import arithmetic, test
from whorl.kernels.types import WEAK_INT

from .indices import Bounds, bounds_in, lower_bound

__all__ = ["version_loops"]

_MOST: Final = 24  # statements of a loop that is written twice
_SIMPLE: Final = (ir.Set, ir.SetElement, ir.SetComponent, ir.If)


def version_loops(function: ir.Function) -> None:
    """Write the inner loops twice whose count may begin below zero and is used as an index."""
    bounds = bounds_in(function)
    for block in function.blocks:
        _in_block(block, bounds)


def _in_block(block: ir.Block, bounds: Bounds) -> None:
    for place, statement in reversed(list(enumerate(block))):
        if isinstance(statement, ir.For) and _is_worth_it(statement, bounds):
            block[place : place + 1] = _versions(statement)
            continue
        for inner in blocks_of(statement):
            _in_block(inner, bounds)


def _is_worth_it(loop: ir.For, bounds: Bounds) -> bool:
    if not (isinstance(loop.step, ir.Const) and loop.step.value > 0) or loop.is_free:
        return False
    low = lower_bound(loop.start, bounds)
    inside = list(statements_in(loop.body))
    if (low is not None and low >= 0) or len(inside) > _MOST:
        return False
    if not all(isinstance(each, _SIMPLE) for each in inside):
        return False
    elements = [each for each in every_expression(loop.body) if isinstance(each, ir.Element)]
    if any(_uses(loop.local, *_where(each.array)) for each in elements):
        return False
    return any(
        not is_direct and _uses(loop.local, index)
        for each in elements
        for index, is_direct in zip(each.indices, each.direct, strict=True)
    )


def _where(array: ir.ArrayRef) -> list[ir.Expr]:
    """All expressions that say where an array is, and what it is a part of."""
    parts = list(array.parts)
    if array.part_of is not None:
        whole, indices = array.part_of
        parts += [index for index in indices if index is not None]
        parts += _where(whole)
    return parts


def _uses(local: ir.Local, *exprs: ir.Expr) -> bool:
    return any(isinstance(part, ir.Get) and part.local is local for part in every_part(*exprs))


def _versions(loop: ir.For) -> ir.Block:
    start, count = ir.Local("start", WEAK_INT), ir.Local(loop.local.name, loop.local.type)
    begin = ir.Get(start)
    common = replace(
        loop,
        local=count,
        start=arithmetic("max", begin, ir.ZERO),  # so that it is seen not to be below
        body=[ir.Set(loop.local, ir.Get(count)), *_renamed_block(loop.body, loop.local, count)],
    )
    rare = replace(loop, start=begin, is_rare=True)
    return [
        ir.Set(start, loop.start),
        ir.If(test("ge", begin, ir.ZERO), [common], [rare]),
    ]


# -- a copy of a block, with another variable -------------------------------------------


def _renamed_block(block: ir.Block, old: ir.Local, new: ir.Local) -> ir.Block:
    def renamed(expr: ir.Expr) -> ir.Expr:
        return _renamed(expr, old, new)

    copies: ir.Block = []
    for statement in block:
        match statement:
            case ir.Set(local, value):
                copies.append(ir.Set(local, renamed(value)))
            case ir.SetElement(element, value):
                place = renamed(element)
                assert isinstance(place, ir.Element)
                copies.append(ir.SetElement(place, renamed(value)))
            case ir.SetComponent(component, value):
                part = renamed(component)
                assert isinstance(part, ir.Component)
                copies.append(ir.SetComponent(part, renamed(value)))
            case ir.If(condition, then, orelse):
                branches = (_renamed_block(each, old, new) for each in (then, orelse))
                copies.append(ir.If(renamed(condition), *branches))
            case _:
                raise AssertionError(statement)
    return copies


def _renamed(expr: ir.Expr, old: ir.Local, new: ir.Local) -> ir.Expr:
    match expr:
        case ir.Get(local) if local is old:
            return ir.Get(new)
        case ir.Op(args=args):
            return replace(expr, args=tuple(_renamed(arg, old, new) for arg in args))
        case ir.Both(left=left, right=right):
            return replace(expr, left=_renamed(left, old, new), right=_renamed(right, old, new))
        case ir.Element(indices=indices):
            return replace(expr, indices=tuple(_renamed(each, old, new) for each in indices))
        case ir.Component(index=index):
            return replace(expr, index=_renamed(index, old, new))
    return expr
