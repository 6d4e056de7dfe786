"""A program in, the same with indices that are never negative marked as direct out.

A negative index counts from the end, which costs a comparison at every access. Most indices
are loop counts, sums with constants, and extents: a lower bound of these is found without
looking at the run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import Scalar
from whorl.kernels.walk import blocks_of, statements_in

__all__ = ["direct_indices"]

Bounds = dict[ir.Local, int | None]
ROUNDS: Final = 4  # of assuming and dropping assumptions
_WRAPPING: Final = frozenset(("add", "sub", "mul"))


def direct_indices(function: ir.Function) -> None:
    """Mark the indices whose lower bound is not below zero."""
    bounds = _bounds(function)
    _mark(function.body, bounds)


def _bounds(function: ir.Function) -> Bounds:
    """A lower bound for each integer variable: assumed first, dropped where it does not hold."""
    sets: dict[ir.Local, list[ir.Expr]] = {}
    loops: list[ir.For | ir.Parallel] = []
    counts: Counter[ir.Local] = Counter()
    for statement in statements_in(function.body):
        match statement:
            case ir.Set(local, value) if isinstance(local.type, Scalar) and local.type.is_integer:
                sets.setdefault(local, []).append(value)
                counts[local] += 1
            case ir.For() | ir.Parallel():
                loops.append(statement)
    reduced = {
        reduction.local
        for loop in loops
        if isinstance(loop, ir.Parallel)
        for reduction in loop.reductions
    }
    bounds: Bounds = {
        local: 0 if counts[local] > 1 else None for local in sets if local not in reduced
    }
    for _ in range(ROUNDS):
        # Those that are set once follow from the others, in the order in which they are set.
        for loop in loops:
            rises = isinstance(loop.step, ir.Const) and loop.step.value > 0
            bounds[loop.local] = lower_bound(loop.start, bounds) if rises else None
        for local, values in sets.items():
            if counts[local] == 1 and local not in reduced:
                bounds[local] = lower_bound(values[0], bounds)
        wrong = [
            local
            for local, values in sets.items()
            if counts[local] > 1
            and bounds.get(local) is not None
            and not all(_is_at_least_zero(value, bounds) for value in values)
        ]
        if not wrong:
            return bounds
        for local in wrong:
            bounds[local] = None
    return {}


def _is_at_least_zero(expr: ir.Expr, bounds: Bounds) -> bool:
    found = lower_bound(expr, bounds)
    return found is not None and found >= 0


def lower_bound(expr: ir.Expr, bounds: Bounds) -> int | None:
    """A number that an integer expression is never below; None if none is known.

    Sums and products of 64 bits are taken not to overflow: an index that does is out of bounds.
    Those of narrower types wrap, as in NumPy, and may well be inside then.
    """
    match expr:
        case ir.Const(type, value):
            return int(value) if not type.is_float else None
        case ir.Get(local):
            return bounds.get(local)
        case ir.Extent():
            return 0
        case ir.Op("cast", Scalar() as type, (inner,)):
            kind = inner.type
            if not isinstance(kind, Scalar) or not type.is_integer or kind.bits > type.bits:
                return None  # cut off, or wrapped
            if kind.kind in "bu":
                return 0
            return lower_bound(inner, bounds) if kind.is_integer else None
        case ir.Op(name, Scalar() as type, args):
            if name in _WRAPPING and type.bits < 64:
                return None
            return _of_operation(name, args, [lower_bound(arg, bounds) for arg in args])
    return None


def _of_operation(name: str, args: tuple[ir.Expr, ...], low: list[int | None]) -> int | None:
    match name, low:
        case "add", [int(a), int(b)]:
            return a + b
        case "sub", [int(a), _] if isinstance(args[1], ir.Const):
            return a - int(args[1].value)
        case "mul", [int(a), int(b)] if a >= 0 and b >= 0:
            return a * b
        case "floordiv", [int(a), int(b)] if a >= 0 and b >= 1:
            return 0
        case "mod", [_, int(b)] if b >= 0:
            return 0
        case "and", [a, b] if (a is not None and a >= 0) or (b is not None and b >= 0):
            return 0
        case "shr", [int(a), _] if a >= 0:
            return 0
        case "min", [int(a), int(b)]:
            return min(a, b)
        case "max", [a, b] if a is not None or b is not None:
            return max(bound for bound in (a, b) if bound is not None)
        case "select", [_, int(a), int(b)]:
            return min(a, b)
    return None


# -- marking ----------------------------------------------------------------------------


def _mark(block: ir.Block, bounds: Bounds) -> None:
    for statement in block:
        match statement:
            case ir.Set(_, value):
                statement.value = _marked(value, bounds)
            case ir.Store(element, value):
                statement.element = _element(element, bounds)
                statement.value = _marked(value, bounds)
            case ir.Atomic(_, element, value):
                statement.element = _element(element, bounds)
                statement.value = _marked(value, bounds)
            case ir.SetComponent(_, value):
                statement.value = _marked(value, bounds)
            case ir.If(test=test) | ir.While(test=test):
                statement.test = _marked(test, bounds)
            case ir.For() | ir.Parallel():
                statement.start = _marked(statement.start, bounds)
                statement.stop = _marked(statement.stop, bounds)
                statement.step = _marked(statement.step, bounds)
            case ir.Raise(_, values) | ir.Print(_, values):
                statement.values = tuple(_marked(value, bounds) for value in values)
        for inner in blocks_of(statement):
            _mark(inner, bounds)


def _marked(expr: ir.Expr, bounds: Bounds) -> ir.Expr:
    match expr:
        case ir.Op(args=args):
            marked = tuple(_marked(arg, bounds) for arg in args)
            return expr if all(map(_is, marked, args)) else replace(expr, args=marked)
        case ir.Both(left=left, right=right):
            return replace(expr, left=_marked(left, bounds), right=_marked(right, bounds))
        case ir.Element():
            return _element(expr, bounds)
        case ir.Component(index=index):
            return replace(expr, index=_marked(index, bounds))
    return expr


def _is(left: object, right: object) -> bool:
    return left is right


def _element(element: ir.Element, bounds: Bounds) -> ir.Element:
    indices = tuple(_marked(index, bounds) for index in element.indices)
    direct = tuple(
        known or _is_at_least_zero(index, bounds)
        for known, index in zip(element.direct, indices, strict=True)
    )
    return replace(element, indices=indices, direct=direct)
