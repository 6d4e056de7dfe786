"""Iterates over the statements, expressions and variables of a program."""

from __future__ import annotations

from collections.abc import Iterator

from . import ir

__all__ = [
    "blocks_of",
    "compared",
    "every_expression",
    "every_part",
    "expressions_of",
    "has_atomics",
    "locals_in",
    "parts_of",
    "set_in",
    "set_once",
    "statements_in",
    "statements_of",
]


def blocks_of(statement: ir.Stmt) -> tuple[ir.Block, ...]:
    """The blocks inside of a statement."""
    match statement:
        case ir.If(_, then, orelse):
            return then, orelse
        case ir.While(before=before, body=body):
            return before, body
        case ir.For(body=body) | ir.Scope(body=body) | ir.Parallel(body=body):
            return (body,)
        case ir.Checkpoint(body=body):
            return (body,)
        case ir.Update(body=body):
            return (body,)
    return ()


def statements_of(function: ir.Function) -> Iterator[ir.Stmt]:
    """Every statement of a program."""
    for block in function.blocks:
        yield from statements_in(block)


def statements_in(block: ir.Block) -> Iterator[ir.Stmt]:
    """Every statement of a block, at any depth."""
    for statement in block:
        yield statement
        for inner in blocks_of(statement):
            yield from statements_in(inner)


def expressions_of(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions that a statement itself has, outermost only."""
    match statement:
        case ir.Set(_, value):
            return (value,)
        case ir.Store(element, value) | ir.Atomic(_, element, value):
            return (element, value)
        case ir.Update(element, old, value=value):
            return (element, ir.Get(old), value)
        case ir.SetComponent(component, value):
            return (component.index, value)
        case ir.If(test=test) | ir.While(test=test):
            return (test,)
        case ir.For() | ir.Parallel():
            bounds = (statement.start, statement.stop, statement.step)
            return (*bounds, *statement.guards) if isinstance(statement, ir.Parallel) else bounds
        case ir.Raise(_, values) | ir.Print(_, values) | ir.Call(_, values):
            return values
        case ir.Yield(_, flag):
            return (flag,)
    return ()


def parts_of(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """The expressions inside of an expression."""
    match expr:
        case ir.Op(args=args):
            return args
        case ir.Both(left=left, right=right):
            return left, right
        case ir.Element(array, indices):
            return (array.base, *array.extents, *(array.strides or ()), *indices)
        case ir.Component(_, index):
            return (index,)
    return ()


def every_part(*exprs: ir.Expr) -> Iterator[ir.Expr]:
    """Some expressions, and every expression inside of them."""
    waiting = list(exprs)
    while waiting:
        expr = waiting.pop()
        yield expr
        waiting.extend(parts_of(expr))


def every_expression(block: ir.Block) -> Iterator[ir.Expr]:
    """Every expression of a block, at any depth."""
    for statement in statements_in(block):
        yield from every_part(*expressions_of(statement))


def has_atomics(block: ir.Block) -> bool:
    """Whether a block has an atomic operation, or calls what has one."""
    return any(
        isinstance(statement, ir.Atomic)
        or (isinstance(statement, ir.Update) and not statement.is_own)
        or (isinstance(statement, ir.Call) and has_atomics(statement.callee.body))
        for statement in statements_in(block)
    )


def set_in(block: ir.Block) -> set[ir.Local]:
    """The variables that a block sets."""
    found: set[ir.Local] = set()
    for statement in statements_in(block):
        match statement:
            case ir.Set(local) | ir.For(local=local) | ir.Parallel(local=local):
                found.add(local)
            case ir.SetComponent(component):
                found.add(component.local)
            case ir.Atomic(old=old) | ir.Update(old=old):
                found.add(old)
            case ir.Call(results=results):
                found.update(results)
    return found


def locals_in(loop: ir.Parallel) -> list[ir.Local]:
    """The variables that a parallel loop takes from outside, in the order of their first use."""
    own = set_in(loop.body) | {loop.local} | {reduction.local for reduction in loop.reductions}
    found: dict[ir.Local, None] = {}
    for expr in every_expression(loop.body):
        match expr:
            case ir.Get(local) | ir.Component(local) if local not in own:
                found[local] = None
    return list(found)


def set_once(function: ir.Function) -> dict[ir.Local, ir.Set | ir.For]:
    """What sets each variable that is set in one place only."""
    found: dict[ir.Local, list[ir.Stmt]] = {}
    for statement in statements_of(function):
        match statement:
            case ir.Set(local) | ir.For(local=local) | ir.Atomic(old=local):
                found.setdefault(local, []).append(statement)
            case ir.Parallel(local=local, reductions=reductions):
                for each in (local, *(reduction.local for reduction in reductions)):
                    found.setdefault(each, []).append(statement)
            case ir.Call(results=results):
                for each in results:
                    found.setdefault(each, []).append(statement)
    return {
        local: statements[0]
        for local, statements in found.items()
        if len(statements) == 1 and isinstance(statements[0], ir.Set | ir.For)
    }


def compared(expr: ir.Expr, *, is_max: bool) -> tuple[ir.Expr, ...]:
    """The numbers of which an expression is the larger, or the smaller."""
    match expr:
        case ir.Op("max" | "min" as name, args=args) if (name == "max") == is_max:
            return args
        case ir.Op(
            "select", args=(ir.Op("lt" | "le" | "gt" | "ge" as test, args=sides), *sides_chosen)
        ):
            chosen = (sides, sides[::-1])[(test in ("gt", "ge")) != is_max]
            return sides if tuple(sides_chosen) == chosen else ()
    return ()
