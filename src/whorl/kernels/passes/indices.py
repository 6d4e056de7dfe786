"""Marks the indices that are never negative as direct.

A negative index counts from the end, which costs a comparison at every access. Most indices
are loop counts, sums with constants, and extents: a lower bound of these is found without
looking at the run.
"""

from __future__ import annotations

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.ir_walk import blocks_of, statements_of
from whorl.kernels.types import Scalar

__all__ = ["Bounds", "bounds_in", "direct_indices", "lower_bound"]

Bounds = dict[ir.Local, int | None]


def direct_indices(function: ir.Function) -> None:
    """Mark the indices whose lower bound is not below zero."""
    bounds = bounds_in(function)
    for block in function.blocks:
        _mark(block, bounds)


def bounds_in(function: ir.Function) -> Bounds:
    """A lower bound for each integer variable.

    Of those that are set in several places it is assumed first that they are never negative, and
    no longer where that does not hold. The others follow, in the order in which they are set.
    """
    sets: dict[ir.Local, list[ir.Expr | None]] = {}  # None: something that has no bound
    for statement in statements_of(function):
        match statement:
            case ir.Set(local, value) if isinstance(local.type, Scalar) and local.type.is_integer:
                sets.setdefault(local, []).append(value)
            case ir.For(local=local, start=start, step=step):
                sets.setdefault(local, []).append(start if _rises(step) else None)
            case ir.Parallel(local=local, start=start, step=step):
                sets.setdefault(local, []).append(start if _rises(step) else None)
                for reduction in statement.reductions:
                    sets.setdefault(reduction.local, []).append(None)
            case ir.Atomic(old=local) | ir.Update(old=local):
                sets.setdefault(local, []).append(None)
    assumed = {local for local, values in sets.items() if len(values) > 1 and all(values)}
    while True:
        bounds: Bounds = dict.fromkeys(assumed, 0)
        for local, values in sets.items():
            if len(values) == 1:
                bounds[local] = None if values[0] is None else lower_bound(values[0], bounds)
        wrong = {
            local
            for local in assumed
            if not all(value and _is_at_least_zero(value, bounds) for value in sets[local])
        }
        if not wrong:
            return bounds
        assumed -= wrong


def _rises(step: ir.Expr) -> bool:
    return isinstance(step, ir.Const) and step.value > 0


def _is_at_least_zero(expr: ir.Expr, bounds: Bounds) -> bool:
    bound = lower_bound(expr, bounds)
    return bound is not None and bound >= 0


def lower_bound(expr: ir.Expr, bounds: Bounds) -> int | None:
    """A number that an integer expression is never below; None if none is known.

    Sums and products of 64 bits are taken not to overflow: an index that does is out of bounds.
    Those of fewer bits wrap around, and may well be negative then.
    """
    match expr:
        case ir.Const(type, value):
            return int(value) if not type.is_float else None
        case ir.Get(local):
            return bounds.get(local)
        case ir.Extent():
            return 0
        case ir.Op("cast", Scalar() as to, (inner,)):
            return _of_cast(inner, to, bounds)
        case ir.Op("distinct", args=(inner,)):
            return lower_bound(inner, bounds)
        case ir.Op(name, Scalar("i", 64), args):
            return _of_operation(name, args, [lower_bound(arg, bounds) for arg in args])
    return 0 if isinstance(expr.type, Scalar) and expr.type.kind == "u" else None


def _of_cast(inner: ir.Expr, to: Scalar, bounds: Bounds) -> int | None:
    kind = inner.type
    if not isinstance(kind, Scalar) or kind.is_float:
        return None
    if to.kind != "i" or kind.kind == "b":
        return 0
    if kind.kind == "u":
        return 0 if to.bits > kind.bits or to.bits == 64 else None
    return lower_bound(inner, bounds) if to.bits >= kind.bits else None


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


# -- the marks --------------------------------------------------------------------------


def _mark(block: ir.Block, bounds: Bounds) -> None:
    for statement in block:
        match statement:
            case ir.Set(_, value):
                statement.value = _marked(value, bounds)
            case ir.SetElement(element, value):
                statement.element = _element(element, bounds)
                statement.value = _marked(value, bounds)
            case ir.Atomic(_, element, value) | ir.Update(element, value=value):
                statement.element = _element(element, bounds)
                statement.value = _marked(value, bounds)
            case ir.SetComponent(component, value):
                index = _marked(component.index, bounds)
                statement.component = replace(component, index=index)
                statement.value = _marked(value, bounds)
            case ir.If(test=test) | ir.While(test=test):
                statement.test = _marked(test, bounds)
            case ir.For() | ir.Parallel():
                statement.start = _marked(statement.start, bounds)
                statement.stop = _marked(statement.stop, bounds)
                statement.step = _marked(statement.step, bounds)
            case ir.Raise(_, values) | ir.Print(_, values):
                statement.values = tuple(_marked(value, bounds) for value in values)
            case ir.Yield(_, flag):
                statement.flag = _element(flag, bounds)
            case ir.Allocate(_, size):
                statement.size = _marked(size, bounds)
            case ir.SubroutineCall(_, args):
                statement.args = tuple(_marked(arg, bounds) for arg in args)
        for inner in blocks_of(statement):
            _mark(inner, bounds)


def _marked(expr: ir.Expr, bounds: Bounds) -> ir.Expr:
    match expr:
        case ir.Op("wrap", args=(index, _), site=-1) if _is_at_least_zero(index, bounds):
            return _marked(index, bounds)
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
