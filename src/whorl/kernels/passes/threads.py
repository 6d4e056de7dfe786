"""Lets the loops over whole arrays run on several threads, in kernels with `parallel=True`.

Lowering marks the loops whose iterations are free of each other. The outermost of a nest becomes a
parallel loop, if there is enough to do: that is known when it begins. Where the outer axis may be
short, the one below is cut as well, into a power of two parts, so that each thread has something
to do. Nothing of this depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.ir_walk import (
    blocks_of,
    every_expression,
    every_part,
    set_in,
    statements_in,
    statements_reached,
)
from whorl.kernels.overlap import arithmetic, test, total
from whorl.kernels.types import WEAK_INT

__all__ = ["run_on_threads"]

_ENOUGH: Final = 1 << 16  # operations that are worth several threads: about 30 µs
_SHORT: Final = 16  # iterations that are too few to be divided among threads
_CUTS: Final = 5  # a short outer axis: so many times is the one below cut in half
_COSTS: Final = {"sqrt": 8, "fdiv": 4, "floordiv": 8, "mod": 8, "pow": 40}
_CHEAP: Final = frozenset((
    "add", "sub", "mul", "cast", "select", "and", "or", "xor", "not", "neg", "eq", "ne", "lt", "le",
    "gt", "ge", "min", "max", "fmin", "fmax", "abs", "offset", "address", "null", "isnan", "shl",
    "shr", "copysign", "floor", "ceil", "trunc", "rint", "fma",
))  # fmt: skip
_UNKNOWN: Final = 64  # iterations of a loop of which nothing is known before
_FUNCTION: Final = 20  # what a function of the C library costs


def run_on_threads(function: ir.Function) -> None:
    """Turn the free loops of a program into parallel ones, if it is to run on threads."""
    if not function.parallel:
        return
    inside: set[str] = set()  # subroutines that are called in parallel loops
    for block in function.blocks:
        for statement in statements_in(block):
            if isinstance(statement, ir.Parallel):
                inside |= _called(statement.body)
    _in_block(function.body)
    for subroutine in function.subroutines:
        if subroutine.name not in inside:
            _in_block(subroutine.body)


def _called(block: ir.Block) -> set[str]:
    """The subroutines that a block calls, and those that these call."""
    return {
        statement.callee.name
        for statement in statements_reached(block)
        if isinstance(statement, ir.SubroutineCall)
    }


def _in_block(block: ir.Block) -> None:
    for place, statement in reversed(list(enumerate(block))):
        if isinstance(statement, ir.Parallel):
            continue
        if isinstance(statement, ir.For) and statement.is_free and not _is_short(statement):
            block[place : place + 1] = _parallel(statement)
            continue
        for inner in blocks_of(statement):
            _in_block(inner)


def _is_short(loop: ir.For) -> bool:
    return isinstance(loop.stop, ir.Const) and loop.stop.value < _SHORT


def _parallel(loop: ir.For) -> ir.Block:
    """A parallel loop with the iterations of one whose iterations are free of each other."""
    guards = (test("ge", _work(loop, loop), ir.Const(WEAK_INT, _ENOUGH)),)
    match loop:
        case ir.For(start=ir.Const(_, 0), step=ir.Const(_, 1), body=[ir.For() as inner]) if (
            not loop.reductions and _may_be_cut(loop, inner)
        ):
            return _cut(loop, inner, guards)
    return [
        ir.Parallel(
            loop.label, loop.local, loop.start, loop.stop, loop.step, loop.body,
            loop.reductions, guards,
        )
    ]  # fmt: skip


def _may_be_cut(loop: ir.For, inner: ir.For) -> bool:
    """Whether two loops are a nest whose outer axis may be short, and whose inner one is not."""
    match inner:
        case ir.For(is_free=True, start=ir.Const(_, 0), step=ir.Const(_, 1)):
            is_known = isinstance(loop.stop, ir.Const) or isinstance(inner.stop, ir.Const)
            return not is_known and _is_outside(loop, inner.stop)
    return False


def _is_outside(loop: ir.For, expr: ir.Expr) -> bool:
    """Whether an expression is the same before a loop."""
    own = set_in([loop])
    return not any(
        isinstance(part, ir.Element | ir.Component)
        or (isinstance(part, ir.Get) and part.local in own)
        for part in every_part(expr)
    )


def _cut(loop: ir.For, inner: ir.For, guards: tuple[ir.Expr, ...]) -> ir.Block:
    """A parallel loop over the parts of all iterations of an outer loop."""
    is_below = [
        arithmetic("cast", test("lt", loop.stop, ir.Const(WEAK_INT, 2**cut)))
        for cut in range(1, _CUTS + 1)
    ]
    cuts, both = ir.Local("cuts", WEAK_INT), ir.Local("part", WEAK_INT)
    begin, end = ir.Local("begin", WEAK_INT), ir.Local("end", WEAK_INT)
    pieces = arithmetic("shl", ir.ONE, ir.Get(cuts))
    number = arithmetic("and", ir.Get(both), arithmetic("sub", pieces, ir.ONE))

    def limit(number: ir.Expr) -> ir.Expr:
        return arithmetic("shr", arithmetic("mul", number, inner.stop), ir.Get(cuts))

    body: ir.Block = [
        ir.Set(loop.local, arithmetic("shr", ir.Get(both), ir.Get(cuts))),
        ir.Set(begin, limit(number)),
        ir.Set(end, limit(arithmetic("add", number, ir.ONE))),
        replace(inner, start=ir.Get(begin), stop=ir.Get(end)),
    ]
    count = arithmetic("shl", loop.stop, ir.Get(cuts))
    return [
        ir.Set(cuts, total(is_below)),
        ir.Parallel(loop.label, both, ir.ZERO, count, ir.ONE, body, (), guards),
    ]


# -- how much there is to do ------------------------------------------------------------


def _work(loop: ir.For, outermost: ir.For) -> ir.Expr:
    """About how many operations a loop makes, as far as that is known before the outermost one."""
    bounds = (loop.start, loop.stop, loop.step)
    count: ir.Expr = ir.Const(WEAK_INT, _UNKNOWN)
    if all(_is_outside(outermost, bound) for bound in bounds):
        count = arithmetic("floordiv", arithmetic("sub", loop.stop, loop.start), loop.step)
        if loop.step == ir.ONE:
            count = loop.stop if loop.start == ir.ZERO else arithmetic("sub", *bounds[1::-1])
    inner = list(_loops_in(loop.body))
    parts = [_work(each, outermost) for each in inner] or [ir.Const(WEAK_INT, _cost(loop.body))]
    return arithmetic("mul", count, total(parts))


def _loops_in(block: ir.Block) -> Iterator[ir.For]:
    """The loops of a block that are in no other loop."""
    for statement in block:
        if isinstance(statement, ir.For):
            yield statement
        else:
            for inner in blocks_of(statement):
                yield from _loops_in(inner)


def _cost(block: ir.Block) -> int:
    """About how many operations a block makes."""
    cost = 1
    for expr in every_expression(block):
        match expr:
            case ir.Op(name) if name not in _CHEAP:
                cost += _COSTS.get(name, _FUNCTION)
            case ir.Op() | ir.Element():
                cost += 1
    return cost
