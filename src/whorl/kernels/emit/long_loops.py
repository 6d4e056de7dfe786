"""Finds the loops of a program that may run for long, and what an iteration of one costs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from whorl.kernels import ir
from whorl.kernels.ir_walk import compared, every_expression, set_once, statements_in, statements_of

__all__ = ["CLOCKS", "LongLoops", "may_leave", "takes_elements"]

CLOCKS: Final = {"linux": 1, "darwin": 6}  # CLOCK_MONOTONIC; elsewhere loops poll no signals
_COST_OF_LOOPS: Final = 64  # of an iteration that has loops in it
_FEW: Final = 64  # iterations that are not worth counting


class LongLoops:
    """What is known of the loops of a program."""

    def __init__(self, function: ir.Function) -> None:
        self._set_once = set_once(function)
        self.exist = sys.platform in CLOCKS and any(map(self.is_long, statements_of(function)))

    def is_long(self, statement: ir.Stmt) -> bool:
        """Whether a statement may run for long: a call, or a loop that is not known to be short."""
        if isinstance(statement, ir.For):
            most = self._most(statement)
            return most is None or most > _FEW
        return isinstance(statement, ir.While | ir.Parallel | ir.SubroutineCall)

    def is_innermost(self, body: ir.Block) -> bool:
        """Whether a loop with this body has no long loop in it, and calls nothing."""
        return not any(map(self.is_long, statements_in(body)))

    def cost(self, body: ir.Block) -> int:
        """About how many iterations of short loops one with this body has; of long ones, a few."""
        total = 1
        for statement in statements_in(body):
            if isinstance(statement, ir.For):
                most = self._most(statement)
                if most is not None and most <= _FEW:
                    total = max(total, most * self.cost(statement.body))
        return total if self.is_innermost(body) else max(total, _COST_OF_LOOPS)

    def _most(self, loop: ir.For) -> int | None:
        """How many iterations a loop has at most, if its bounds are constants, or it ends where it
        begins plus a constant."""
        match loop.start, loop.stop, loop.step:
            case ir.Const(_, start), ir.Const(_, stop), ir.Const(_, step):
                return len(range(int(start), int(stop), int(step)))
        if isinstance(loop.step, ir.Const) and loop.step.value > 0:
            for end in self._ends(loop.stop):
                match end:
                    case ir.Op("add", args=(begin, ir.Const(_, number))) if begin == loop.start:
                        return max(0, int(number))
        return None

    def _ends(self, expr: ir.Expr) -> Iterator[ir.Expr]:
        """The numbers that an expression is not above."""
        if isinstance(expr, ir.Get):
            setting = self._set_once.get(expr.local)
            if isinstance(setting, ir.Set):
                expr = setting.value
        yield expr
        for each in compared(expr, is_max=False):
            yield from self._ends(each)


def takes_elements(body: ir.Block, count: ir.Local) -> bool:
    """Whether a loop with this body takes element after element of an array."""
    number = ir.Get(count)
    for expr in every_expression(body):
        if isinstance(expr, ir.Element):
            for index in expr.indices:
                match index:
                    case ir.Op("add" | "sub", args=args) if number in args:
                        return True
                if index == number:
                    return True
    return False


def may_leave(body: ir.Block) -> bool:
    """Whether a jump may make an iteration of a loop with this body the last one."""
    inside: set[str] = set()
    jumps: set[str] = set()
    for statement in statements_in(body):
        match statement:
            case ir.For(label=label) | ir.While(label=label) | ir.Region(label=label):
                inside.add(label)
            case ir.Leave(label):
                jumps.add(label)
    return bool(jumps - inside)
