"""Iterates over the statements, expressions and variables of a program."""

from __future__ import annotations

from collections.abc import Iterator

from . import ir

__all__ = [
    "allocates",
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
    "sets_of",
    "statements_in",
    "statements_of",
    "statements_reached",
    "writes_memory",
]


def blocks_of(statement: ir.Stmt) -> tuple[ir.Block, ...]:
    """The blocks inside of a statement."""
    match statement:
        case ir.If(_, then, orelse):
            return then, orelse
        case ir.While(before=before, body=body):
            return before, body
        case ir.For(body=body) | ir.Region(body=body) | ir.Parallel(body=body):
            return (body,)
        case ir.Checkpoint(body=body) | ir.Update(body=body):
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


def statements_reached(block: ir.Block) -> Iterator[ir.Stmt]:
    """Every statement of a block, and of the subroutines that it leads to: each of these once."""
    waiting = [block]
    seen: set[ir.Subroutine] = set()
    while waiting:
        for statement in statements_in(waiting.pop()):
            yield statement
            if isinstance(statement, ir.SubroutineCall) and statement.callee not in seen:
                seen.add(statement.callee)
                waiting.append(statement.callee.body)


def expressions_of(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions that a statement itself has, outermost only."""
    match statement:
        case ir.Set(_, value):
            return (value,)
        case ir.SetElement(element, value) | ir.Atomic(_, element, value):
            return (element, value)
        case ir.Update(element, old, value=value):
            return (element, ir.Get(old), value)
        case ir.SetComponent(component, value):
            return (component.index, value)
        case ir.If(test=test) | ir.While(test=test):
            return (test,)
        case ir.For(start=start, stop=stop, step=step):
            return start, stop, step
        case ir.Parallel(start=start, stop=stop, step=step, guards=guards):
            return start, stop, step, *guards
        case ir.Raise(_, values) | ir.Print(_, values) | ir.SubroutineCall(_, values):
            return values
        case ir.Yield(_, flag):
            return (flag,)
        case ir.ForeignCall(_, address, args):
            return address, *args
        case ir.RoutineCall(_, args):
            return args
        case ir.Reserve(_, words):
            return (words,)
        case ir.Allocate(_, size, extents=extents):
            return size, *extents
        case ir.ReturnArray(_, array):
            return *array.parts, *array.all_strides
        case ir.Sweep(since, live):
            return ir.Get(since), *live
    return ()


def parts_of(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """The expressions inside of an expression."""
    match expr:
        case ir.Op(args=args):
            return args
        case ir.Both(left=left, right=right):
            return left, right
        case ir.Element(array, indices):
            return *array.parts, *indices
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
        for statement in statements_reached(block)
    )


def allocates(block: ir.Block) -> bool:
    """Whether a block allocates memory, or calls what does, or may."""
    return any(
        isinstance(statement, ir.Allocate)
        or (isinstance(statement, ir.SubroutineCall) and statement.callee.is_recursive)
        for statement in statements_reached(block)
    )


def writes_memory(block: ir.Block) -> bool:
    """Whether a block may change an element of an array or of a vector that was there before."""
    statements = list(statements_in(block))
    new = {each.local for each in statements if isinstance(each, ir.Allocate)}
    for statement in statements:
        match statement:
            case ir.SetElement(ir.Element(ir.ArrayRef(base=ir.Get(local)))) if local in new:
                continue
            case ir.SetElement() | ir.SetComponent() | ir.Atomic() | ir.Update():
                return True
            case ir.SubroutineCall(callee) if callee.is_recursive or writes_memory(callee.body):
                return True
    return False


def sets_of(statement: ir.Stmt) -> tuple[ir.Local, ...]:
    """The variables that a statement itself sets."""
    match statement:
        case ir.Set(local) | ir.Allocate(local) | ir.Mark(local):
            return (local,)
        case ir.StackArray(local):
            return (local,)
        case (
            ir.For(local=local, reductions=reductions)
            | ir.Parallel(local=local, reductions=reductions)
        ):
            return local, *(reduction.local for reduction in reductions)
        case ir.SetComponent(component):
            return (component.local,)
        case ir.Atomic(old=old) | ir.Update(old=old):
            return (old,)
        case ir.SubroutineCall(results=results):
            return results
        case ir.ForeignCall(result=ir.Local() as local) | ir.Reserve(local):
            return (local,)
        case ir.RoutineCall(result=ir.Local() as local):
            return (local,)
    return ()


def set_in(block: ir.Block) -> set[ir.Local]:
    """The variables that a block sets."""
    return {local for statement in statements_in(block) for local in sets_of(statement)}


def locals_in(loop: ir.Parallel) -> list[ir.Local]:
    """The variables that a parallel loop takes from outside, in the order of their first use."""
    own = set_in([loop])
    outside: dict[ir.Local, None] = {}
    for expr in every_expression(loop.body):
        match expr:
            case ir.Get(local) | ir.Component(local) if local not in own:
                outside[local] = None
    return list(outside)


def set_once(function: ir.Function) -> dict[ir.Local, ir.Set | ir.For]:
    """What sets each variable that is set in one place only."""
    settings: dict[ir.Local, list[ir.Stmt]] = {}
    for statement in statements_of(function):
        for local in sets_of(statement):
            settings.setdefault(local, []).append(statement)
    return {
        local: statements[0]
        for local, statements in settings.items()
        if len(statements) == 1 and isinstance(statements[0], ir.Set | ir.For)
    }


def compared(expr: ir.Expr, *, is_max: bool) -> tuple[ir.Expr, ...]:
    """The numbers of which an expression is the larger, or the smaller."""
    match expr:
        case ir.Op("max" | "min" as name, args=args) if (name == "max") == is_max:
            return args
        case ir.Op("select", args=(ir.Op("lt" | "le" | "gt" | "ge" as test, args=sides), *values)):
            chosen = (sides, sides[::-1])[(test in ("gt", "ge")) != is_max]
            return sides if tuple(values) == chosen else ()
    return ()
