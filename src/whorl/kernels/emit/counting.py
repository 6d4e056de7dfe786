"""Writes counted loops: in pieces, where they may run for long."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir

from .instructions import iterations_between
from .long_loops import may_leave, takes_elements
from .polling import BUDGET, spend, unlikely
from .writer import FunctionWriter

__all__ = ["CountedLoop", "Payment", "payment"]

_PIECE: Final = 1 << 14  # iterations of a loop that is cut into pieces
_MANY: Final = 256  # a loop in another one spends its iterations only if it has more than these


class Payment(enum.Enum):
    """When a loop spends its iterations, so that it takes notice of signals; see `polling`."""

    NEVER = enum.auto()  # it is short
    EACH = enum.auto()  # one at a time
    PIECES = enum.auto()  # many at a time: within a piece the loop is as it was
    WHOLE = enum.auto()  # all of them where it begins


def payment(writer: FunctionWriter, body: ir.Block, local: ir.Local) -> Payment:
    """When a loop with this body and this count spends its iterations.

    A loop in another one that takes element after element of an array is not cut: it ends where
    the array ends, and it may be so short that cutting it costs a tenth. In the iterations of a
    parallel loop it is not counted either: how long these take is measured.
    """
    if not writer.module.polls:
        return Payment.NEVER
    if may_leave(body):
        return Payment.EACH
    if (
        writer.depth == 0
        or not writer.module.loops.is_innermost(body)
        or not takes_elements(body, local)
    ):
        return Payment.PIECES
    return Payment.NEVER if writer.is_paced and writer.depth == 1 else Payment.WHOLE


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop over numbers, to be written."""

    writer: FunctionWriter
    label: str
    body: ir.Block
    paid: Payment
    is_rare: bool = False

    @property
    def cost(self) -> int:
        """What an iteration costs."""
        return self.writer.module.loops.cost(self.body)

    def write(self, bounds: tuple[str, str, str], begin: Callable[[str], None]) -> None:
        """Write the loop; `begin` writes what an iteration does first with its number."""
        start, stop, step = bounds
        writer = self.writer
        counter = writer.alloca("i64", "count")
        writer.do(f"store i64 {start}, ptr {counter}")
        if step in ("1", "-1"):
            if self.paid is Payment.WHOLE:
                ends = (stop, start) if step == "1" else (start, stop)
                self._pay_all(writer.let(f"sub i64 {ends[0]}, {ends[1]}"))
            self._by_ones(counter, stop, int(step), begin)
        else:
            iterations = iterations_between(writer, start, stop, step)
            if self.paid is Payment.WHOLE:
                self._pay_all(iterations)
            self._by_steps(counter, iterations, step, begin)

    @property
    def _note(self) -> str:
        """What LLVM is told at the end of an iteration."""
        return self.writer.module.note_of_rare_loop() if self.is_rare else ""

    def _pay_all(self, iterations: str) -> None:
        """Spend all iterations before the first, if they are many."""
        is_much = self.writer.let(f"icmp sgt i64 {iterations}, {_MANY}")
        with self.writer.only_if(unlikely(self.writer, is_much), "pay"):
            spend(self.writer, iterations)

    def _by_ones(self, counter: str, stop: str, step: int, begin: Callable[[str], None]) -> None:
        writer = self.writer
        head, body, next_, end = map(writer.fresh, ("head", "body", "next", "end"))
        inside, towards = ("slt", "add") if step > 0 else ("sgt", "sub")
        writer.mark(head)
        first = writer.let(f"load i64, ptr {counter}")
        test = writer.let(f"icmp {inside} i64 {first}, {stop}")
        piece, paid = writer.fresh("piece"), writer.fresh("paid")
        size, limit = "1", stop
        if self.paid is Payment.PIECES:
            writer.branch(test, piece, end)
            writer.open(piece)
            now = writer.let(f"load i64, ptr {counter}")
            low, high = (now, stop) if step > 0 else (stop, now)
            size = self._size(writer.let(f"sub i64 {high}, {low}"))
            limit = writer.let(f"{towards} nsw i64 {now}, {size}")
            writer.mark(body)
        else:
            writer.branch(test, body, end)
            writer.open(body)
        now = writer.let(f"load i64, ptr {counter}")
        self._iteration(now, end, next_, begin)
        after = writer.let(f"add nsw i64 {now}, {step}")
        writer.do(f"store i64 {after}, ptr {counter}")
        if self.paid is Payment.PIECES:
            writer.branch(writer.let(f"icmp ne i64 {after}, {limit}"), body, paid, self._note)
            writer.open(paid)
            has_more = writer.let(f"icmp {inside} i64 {after}, {stop}")
            self._pay(size, has_more, piece, end)
        else:
            if self.paid is Payment.EACH:
                spend(writer, str(self.cost))
            writer.jump(head, self._note)
        writer.open(end)

    def _by_steps(self, counter: str, count: str, step: str, begin: Callable[[str], None]) -> None:
        """It ends when no iterations are left: the number after the last may overflow."""
        writer, is_cut = self.writer, self.paid is Payment.PIECES
        names = ("piece", "body", "next", "more", "paid", "again", "end")
        piece, body, next_, more, paid, again, end = map(writer.fresh, names)
        left = writer.alloca("i64", "left")
        writer.do(f"store i64 {count}, ptr {left}")
        writer.branch(writer.let(f"icmp ne i64 {count}, 0"), piece, end)
        writer.open(piece)
        limit = size = "0"
        if is_cut:
            now_left = writer.let(f"load i64, ptr {left}")
            size = self._size(now_left)
            limit = writer.let(f"sub nuw i64 {now_left}, {size}")
        writer.mark(body)
        self._iteration(writer.let(f"load i64, ptr {counter}"), end, next_, begin)
        fewer = writer.let(f"sub i64 {writer.let(f'load i64, ptr {left}')}, 1")
        writer.do(f"store i64 {fewer}, ptr {left}")
        if self.paid is Payment.EACH:
            spend(writer, str(self.cost))
        test = writer.let(f"icmp ne i64 {fewer}, {limit}")
        writer.branch(test, more, paid if is_cut else end)
        writer.open(more)
        self._step(counter, step)
        writer.jump(body)
        if is_cut:
            writer.open(paid)
            self._pay(size, writer.let(f"icmp ne i64 {fewer}, 0"), again, end)
            writer.open(again)
            self._step(counter, step)
            writer.jump(piece)
        writer.open(end)

    def _pay(self, size: str, has_more: str, piece: str, end: str) -> None:
        """Spend a piece, and go on with the next. A loop without others in it is paid for by those
        around it, if it has one piece only."""
        writer = self.writer
        if self.cost == 1:
            more = writer.fresh("more")
            writer.branch(has_more, more, end)
            writer.open(more)
            spend(writer, str(_PIECE))
            writer.jump(piece)
        else:
            spend(writer, writer.let(f"mul i64 {size}, {self.cost}"))
            writer.branch(has_more, piece, end)

    def _iteration(self, now: str, end: str, next_: str, begin: Callable[[str], None]) -> None:
        begin(now)
        self.writer.loop_body(self.label, end, next_, self.body)
        self.writer.mark(next_)

    def _step(self, counter: str, step: str) -> None:
        writer = self.writer
        now = writer.let(f"load i64, ptr {counter}")
        writer.do(f"store i64 {writer.let(f'add nsw i64 {now}, {step}')}, ptr {counter}")

    def _size(self, left: str) -> str:
        """How many iterations the next piece has."""
        most = _PIECE if self.cost == 1 else max(1, BUDGET // self.cost)
        least = self.writer.module.declare("llvm.umin.i64", "i64", "i64", "i64")
        return self.writer.let(f"call i64 @{least}(i64 {left}, i64 {most})")
