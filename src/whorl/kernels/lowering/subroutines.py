"""Turns calls of large functions into subroutines, which are lowered once for all calls alike.

Small functions are followed in place, and LLVM sees through them. A large one that is called in
several places would be compiled as often; it becomes a subroutine for each combination of:
where the function is found, what is known, where views lead, and the types of the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir
from whorl.kernels.ir_walk import statements_in
from whorl.kernels.library import SUBROUTINES
from whorl.kernels.types import POINTER

from .frame import Frame
from .joins import OneArray, OneScalar, new_variable
from .operands import (
    ArrayOf,
    Items,
    Known,
    Operand,
    Value,
    Vec,
    ViewOperand,
    fingerprint_or_id,
)

__all__ = ["LARGE", "NotPassed", "Outlined", "outlined", "passed", "tree_name"]

LARGE: Final = 60  # statements


@dataclass(frozen=True, slots=True)
class Outlined:
    """A subroutine, and what its calls return: operands over its own result variables."""

    subroutine: ir.Subroutine
    returned: Operand


class NotPassed(Exception):
    """Something that is not passed to, or returned by, a subroutine."""


def outlined(
    frame: Frame, inner: Frame, names: dict[str, Operand], run: Callable[[], Operand]
) -> Operand | None:
    """What a call of a large function returns; None if it has to be followed in place."""
    lowering, tree = frame.lowering, inner.source.tree
    is_large = inner.code.function in SUBROUTINES or (
        sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) > LARGE
    )
    if not is_large and not lowering.inlining(inner.code.function):
        return None
    if lowering.stack_bases:  # which only the subroutine of the recursion knows
        return None
    args: list[ir.Expr] = []
    params: list[ir.Local] = []
    inside: dict[str, Operand] = {}
    parts: list[Any] = []
    try:
        for name, operand in names.items():
            inside[name], part = passed(operand, name, params, args)
            parts.append((name, part))
    except NotPassed:
        return None
    # By its place and not by its code: what it closes over is read there, and may be another's.
    key = (inner.code.path, lowering.parallel_depth > 0, lowering.is_in_prange, *parts)
    if key not in lowering.subroutines:
        number = len(lowering.subroutines)
        lowering.subroutines[key] = None  # its number is taken: its body may make others
        inner.names.update(inside)
        inner.path = [-1, number]
        lowering.subroutines[key] = _made(inner, f"{tree_name(tree)}_{number}", params, run)
    outlined_call = lowering.subroutines[key]
    if outlined_call is None:
        return None
    renamed = {
        local: ir.Local(local.name, local.type) for local in outlined_call.subroutine.results
    }
    lowering.emit(ir.SubroutineCall(outlined_call.subroutine, tuple(args), tuple(renamed.values())))
    return _renamed(outlined_call.returned, renamed)


def tree_name(tree: ast.AST) -> str:
    """A name that LLVM and people can read."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in getattr(tree, "name", "f"))


def _made(
    inner: Frame, name: str, params: list[ir.Local], run: Callable[[], Operand]
) -> Outlined | None:
    """The subroutine, lowered; None if it has checkpoints, or returns what cannot be."""
    lowering = inner.lowering
    body: ir.Block = []
    outside, lowering.outside = lowering.outside, set()
    try:
        with lowering.writing(body):
            result = run()
            results: list[ir.Local] = []
            try:
                returned = _returned(result, results, lowering.emit)
            except NotPassed:
                return None
    finally:
        lowering.outside = outside
    if any(isinstance(each, ir.Checkpoint) for each in statements_in(body)):
        return None  # a launch is resumed in the kernel's own function
    inlining = lowering.inlining(inner.code.function)
    subroutine = ir.Subroutine(name, tuple(params), body, tuple(results), inlining)
    lowering.function.subroutines.append(subroutine)
    return Outlined(subroutine, returned)


def passed(
    operand: Operand,
    name: str,
    params: list[ir.Local],
    args: list[ir.Expr],
    *,
    is_owned: bool = False,
) -> tuple[Operand, Any]:
    """An operand as the subroutine sees it, and what of it tells subroutines apart. `is_owned` if
    it has to know to whom the memory of an array belongs: it may return the array."""

    def parameter(variable: ir.Expr, expr: ir.Expr) -> None:
        assert isinstance(variable, ir.Get)
        params.append(variable.local)
        args.append(expr)

    match operand:
        case Known(value):
            return operand, ("known", type(value), fingerprint_or_id(value))
        case ViewOperand(view):
            return operand, ("place", view.path)
        case Value(expr):
            inside = new_variable(OneScalar(operand.type), name)
            assert isinstance(inside, Value)
            parameter(inside.expr, expr)
            return inside, ("value", operand.type)
        case ArrayOf(array, view):
            variable = new_variable(OneArray(array.type), name)
            assert isinstance(variable, ArrayOf)
            into = variable.array
            for place, expr in zip(into.parts, array.parts, strict=True):
                parameter(place, expr)
            owner = None
            if is_owned:
                owner = ir.Get(ir.Local(f"{name}.owner", POINTER))
                parameter(owner, array.owner or ir.NULL)
            seen = ir.ArrayRef(
                into.type, into.base, into.extents, into.strides, array.path, owner=owner
            )
            where = None if view is None else view.path
            return ArrayOf(seen, view), ("array", array.type, array.path, where)
        case Items(items):
            every = [
                passed(item, f"{name}.{i}", params, args, is_owned=is_owned)
                for i, item in enumerate(items)
            ]
            key = ("items", operand.is_list, *(part for _, part in every))
            return operand.with_items(each for each, _ in every), key
    raise NotPassed


def _returned(
    operand: Operand, results: list[ir.Local], emit: Callable[[ir.Stmt], None]
) -> Operand:
    match operand:
        case Known() | ViewOperand():
            return operand
        case Value(expr):
            local = ir.Local("result", expr.type)
            emit(ir.Set(local, expr))
            results.append(local)
            return Value(ir.Get(local))
        case Items(items):
            return operand.with_items([_returned(item, results, emit) for item in items])
    raise NotPassed


def _renamed(operand: Operand, names: dict[ir.Local, ir.Local]) -> Operand:
    match operand:
        case Value(ir.Get(local)):
            return Value(ir.Get(names[local]))
        case Items(items):
            return operand.with_items(_renamed(item, names) for item in items)
    assert not isinstance(operand, Vec)
    return operand
