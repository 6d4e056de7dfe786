"""A parallel loop in, the text that cuts its rounds into parts and hands them to workers out.

Workers take one part after the other, so that uneven rounds even out. With reductions the number
of parts does not depend on the number of threads, and the parts' results are put together in
their order: the result is the same for every number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import WEAK_INT, Scalar, Type, VectorType
from whorl.kernels.walk import has_atomics, locals_in
from whorl.launch.launch_record import PARALLEL, THREADS

from .counting import CountedLoop, Payment
from .interrupts import (
    BUDGET,
    begin_state,
    owner_waits,
    pace,
    poll,
    spend,
    this_thread,
)
from .operations import combined, rounds_between
from .spelling import ALONE, ONCE, literal, llvm_type
from .writer import Writer

__all__ = ["parallel_loop"]

PARTS: Final = 64  # of a loop with reductions
SHARE: Final = 8  # parts per thread of one without
PART: Final = "ptr noalias %context, ptr noalias %state, i64 %begin, i64 %end, i64 %part"


def parallel_loop(outer: Writer, loop: ir.Parallel) -> None:
    """Cut the rounds into parts, hand them to workers, put the reductions together."""
    start, stop, step = map(outer.expr, (loop.start, loop.stop, loop.step))
    count = rounds_between(outer, start, stop, step)
    threads = outer.let(f"load i64, ptr {outer.word(THREADS)}")
    runtime = outer.let(f"load ptr, ptr {outer.word(PARALLEL)}")
    most = str(PARTS) if loop.reductions else outer.let(f"mul i64 {threads}, {SHARE}")
    parts = outer.minimum(most, count)
    shared = locals_in(loop)
    context = Context(outer, loop, shared)
    context.fill(count, parts, start, step)
    part = part_function(outer, loop, shared, context, atomic=True)
    part = alone = pieces_function(outer, loop, part, context)
    if has_atomics(loop.body):
        alone = part_function(outer, loop, shared, context, atomic=False)
        alone = pieces_function(outer, loop, alone, context)
    worker = worker_function(outer, loop, part, context)

    several, one, end = outer.fresh("several"), outer.fresh("one"), outer.fresh("end")
    may = outer.let(f"icmp sgt i64 {outer.minimum(threads, count)}, 1")
    has_runtime = outer.let(f"icmp ne ptr {runtime}, null")
    for test in (has_runtime, *map(outer.expr, loop.guards)):
        may = outer.let(f"and i1 {may}, {test}")
    outer.branch(may, several, one)
    outer.lines.append(f"{several}:")
    outer.is_open = True
    workers = outer.let(f"trunc i64 {outer.minimum(threads, parts)} to i32")
    outer.do(f"call void {runtime}(ptr @{worker}, ptr {context.place}, i32 {workers}, i32 0)")
    outer.jump(end)
    outer.lines.append(f"{one}:")
    outer.is_open = True
    if loop.reductions:
        number = ir.Local("part", WEAK_INT)
        count_parts(
            outer, number, parts, lambda: run_part(outer, alone, context, number, count, parts)
        )
    else:
        call_part(outer, alone, context, "0", count, "0")
    outer.mark(end)
    for reduction in loop.reductions:
        combine(outer, reduction, context, parts)
    outer.leave_if_failed()


def count_parts(outer: Writer, number: ir.Local, parts: str, body: Callable[[], None]) -> None:
    """A loop over part numbers, written by a function."""
    head, round_, end = outer.fresh("head"), outer.fresh("round"), outer.fresh("end")
    outer.set(number, "0")
    outer.mark(head)
    now = outer.get(number)
    outer.branch(outer.let(f"icmp slt i64 {now}, {parts}"), round_, end)
    outer.lines.append(f"{round_}:")
    outer.is_open = True
    body()
    outer.set(number, outer.let(f"add nsw i64 {now}, 1"))
    outer.jump(head)
    outer.lines.append(f"{end}:")
    outer.is_open = True


def run_part(
    outer: Writer, part: str, context: Context, number: ir.Local, count: str, parts: str
) -> None:
    """Run the rounds of one part: an even share."""
    now = outer.get(number)
    for reduction in context.loop.reductions:
        type, place = llvm_type(reduction.local.type), context.partial(reduction, now)
        outer.do(f"store {type} {neutral(reduction)}, ptr {place}")
    begin = outer.let(f"sdiv i64 {outer.let(f'mul i64 {now}, {count}')}, {parts}")
    after = outer.let(f"add i64 {now}, 1")
    end = outer.let(f"sdiv i64 {outer.let(f'mul i64 {after}, {count}')}, {parts}")
    call_part(outer, part, context, begin, end, now)


def call_part(
    outer: Writer, part: str, context: Context, begin: str, end: str, number: str
) -> None:
    """Run some rounds; the launch may have ended then."""
    state = outer.state if outer.module.polls else "null"
    rounds = ", ".join(f"i64 {each}" for each in (begin, end, number))
    outer.do(f"call void @{part}(ptr {context.place}, ptr {state}, {rounds})")
    outer.leave_if_failed()


def pieces_function(outer: Writer, loop: ir.Parallel, part: str, context: Context) -> str:
    """A function that runs a part, or a piece of one, like the one that is given: some rounds at a
    time, so that there is time for signals in between; its name."""
    module = outer.module
    if not module.polls:
        return part
    name = f"{part}_pieces"
    writer = Writer(module, name, PART, "%record", attributes=ONCE)
    writer.lines.append("  %record = load ptr, ptr %context")
    head, piece, done = map(writer.fresh, ("head", "piece", "done"))
    first = writer.alloca("i64", "first")
    writer.do(f"store i64 %begin, ptr {first}")
    writer.mark(head)
    now = writer.let(f"load i64, ptr {first}")
    writer.branch(writer.let(f"icmp slt i64 {now}, %end"), piece, done)
    writer.open(piece)
    is_innermost, cost = module.loops.is_innermost(loop.body), module.loops.cost(loop.body)
    most = str(max(1, BUDGET // cost)) if is_innermost else pace(writer)
    least = module.declare("llvm.umin.i64", "i64", "i64", "i64")
    left = writer.let(f"sub i64 %end, {now}")
    size = writer.let(f"call i64 @{least}(i64 {left}, i64 {most})")
    after = writer.let(f"add i64 {now}, {size}")
    writer.do(f"store i64 {after}, ptr {first}")
    call_part(writer, part, context.inside(writer, "%context"), now, after, "%part")
    if is_innermost:
        spend(writer, writer.let(f"mul i64 {size}, {cost}"))
    else:
        poll(writer)
    writer.jump(head)
    writer.open(done)
    writer.finish()
    return name


def part_function(
    outer: Writer, loop: ir.Parallel, shared: list[ir.Local], context: Context, *, atomic: bool
) -> str:
    """The function that runs the rounds of one part; its name."""
    name = f"{loop.label}_{'part' if atomic else 'alone'}"
    writer = Writer(
        outer.module, name, PART, "%record", atomic=atomic, attributes=ALONE,
    )  # fmt: skip
    writer.lines.append("  %record = load ptr, ptr %context")
    writer.begin()
    inner = context.inside(writer, "%context")
    for local in shared:
        place = inner.shared(local)
        type = llvm_type(local.type)
        writer.do(
            f"store {type} {writer.let(f'load {type}, ptr {place}')}, ptr {writer.place(local)}"
        )
    for reduction in loop.reductions:
        type = llvm_type(reduction.local.type)
        place = inner.partial(reduction, "%part")
        writer.set(reduction.local, writer.let(f"load {type}, ptr {place}"))
    start, step = inner.word(Context.START), inner.word(Context.STEP)
    if isinstance(loop.step, ir.Const):
        step = literal(loop.step.type, loop.step.value)
    if isinstance(loop.start, ir.Const):
        start = literal(loop.start.type, loop.start.value)

    def begin(now: str) -> None:
        # A large step goes beyond the numbers there are, and comes back with the start.
        scaled = now if step == "1" else writer.let(f"mul i64 {now}, {step}")
        writer.set(loop.local, scaled if start == "0" else writer.let(f"add i64 {start}, {scaled}"))

    writer.is_paced = True
    rounds = CountedLoop(writer, loop.label, loop.body, Payment.NEVER)
    rounds.write(("%begin", "%end", "1"), begin)
    for reduction in loop.reductions:
        type = llvm_type(reduction.local.type)
        place = inner.partial(reduction, "%part")
        writer.do(f"store {type} {writer.get(reduction.local)}, ptr {place}")
    writer.finish()
    return name


def worker_function(outer: Writer, loop: ir.Parallel, part: str, context: Context) -> str:
    """The function that each thread runs: parts, as long as there are some."""
    name = f"{loop.label}_worker"
    writer = Writer(outer.module, name, "ptr %context", "%record", attributes=ONCE)
    inner = context.inside(writer, "%context")
    writer.lines.append("  %record = load ptr, ptr %context")
    if writer.module.polls:
        is_owner = writer.let(f"icmp eq i64 {this_thread(writer)}, {inner.word(Context.OWNER)}")
        owner = writer.let(f"zext i1 {is_owner} to i64")
        writer.state = begin_state(writer, owner)
    count, parts = inner.word(Context.COUNT), inner.word(Context.PARTS)
    number = ir.Local("part", WEAK_INT)
    head, round_, end = writer.fresh("head"), writer.fresh("round"), writer.fresh("end")
    writer.mark(head)
    writer.leave_if_failed()
    ticket = inner.address(Context.TICKET)
    now = writer.let(f"atomicrmw add ptr {ticket}, i64 1 monotonic")
    writer.branch(writer.let(f"icmp slt i64 {now}, {parts}"), round_, end)
    writer.lines.append(f"{round_}:")
    writer.is_open = True
    writer.set(number, now)
    run_part(writer, part, inner, number, count, parts)
    done = inner.address(Context.DONE)
    writer.let(f"atomicrmw add ptr {done}, i64 1 release")
    writer.jump(head)
    writer.open(end)
    if writer.module.polls:
        wait, out = writer.fresh("wait"), writer.fresh("out")
        writer.branch(is_owner, wait, out)
        writer.open(wait)
        owner_waits(writer, inner.address(Context.DONE), parts)
        writer.mark(out)
    writer.finish()
    return name


def combine(outer: Writer, reduction: ir.Reduction, context: Context, parts: str) -> None:
    """Put the results of the parts together, in their order."""
    number = ir.Local("part", WEAK_INT)
    local = reduction.local
    assert isinstance(local.type, Scalar)
    kind = local.type

    def add() -> None:
        place = context.partial(reduction, outer.get(number))
        value = outer.let(f"load {llvm_type(kind)}, ptr {place}")
        outer.set(local, combined(outer, reduction.name, kind, outer.get(local), value))

    count_parts(outer, number, parts, add)


def neutral(reduction: ir.Reduction) -> str:
    """The number that a part begins with."""
    kind = reduction.local.type
    assert isinstance(kind, Scalar)
    value: float
    if kind.kind == "b":
        return literal(kind, reduction.name in ("mul", "min"))
    if reduction.name in ("add", "mul"):
        value = 0 if reduction.name == "add" else 1
        # minus zero, so that a sum of nothing but minus zeros stays one
        return literal(kind, -0.0 if kind.is_float and value == 0 else value)
    if kind.is_float:
        return literal(kind, math.inf if reduction.name == "min" else -math.inf)
    low, high = (0, 2**kind.bits - 1) if kind.kind == "u" else (
        -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1)  # fmt: skip
    return literal(kind, high if reduction.name == "min" else low)


class Context:
    """What the parts of a parallel loop share: a block of memory on the caller's stack.

    The record's address, the numbers below, the variables from outside, and one row of results
    per part for each reduction.
    """

    RECORD, COUNT, PARTS, TICKET, START, STEP, DONE, OWNER, FIRST = range(9)

    def __init__(self, writer: Writer, loop: ir.Parallel, shared: list[ir.Local]) -> None:
        self._writer = writer
        self.loop = loop
        self._offsets: dict[ir.Local, int] = {}
        self._rows: dict[ir.Local, int] = {}
        at = self.FIRST * 8
        for local in shared:
            self._offsets[local] = at
            at += _padded(local.type)
        for reduction in loop.reductions:
            self._rows[reduction.local] = at
            at += 8 * PARTS
        self._shared = shared
        self.place = writer.alloca(f"[{at} x i8], align 64", "context")

    def fill(self, count: str, parts: str, start: str, step: str) -> None:
        """Write everything into it."""
        writer = self._writer
        writer.do(f"store ptr {writer.record}, ptr {self.place}")
        words = [(self.COUNT, count), (self.PARTS, parts), (self.TICKET, "0"), (self.DONE, "0")]
        if writer.module.polls:
            words.append((self.OWNER, this_thread(writer)))
        for number, value in (*words, (self.START, start), (self.STEP, step)):
            writer.do(f"store i64 {value}, ptr {self.address(number)}")
        for local in self._shared:
            type = llvm_type(local.type)
            value = writer.let(f"load {type}, ptr {writer.place(local)}")
            writer.do(f"store {type} {value}, ptr {self.shared(local)}")

    def inside(self, writer: Writer, place: str) -> Context:
        """The same, seen by another function."""
        made = object.__new__(Context)
        made._writer, made.place, made.loop = writer, place, self.loop
        made._offsets, made._rows, made._shared = self._offsets, self._rows, self._shared
        return made

    def address(self, number: int) -> str:
        """Where a number is."""
        return self._at(str(number * 8))

    def word(self, number: int) -> str:
        """A number."""
        return self._writer.let(f"load i64, ptr {self.address(number)}")

    def shared(self, local: ir.Local) -> str:
        """Where a variable from outside is."""
        return self._at(str(self._offsets[local]))

    def partial(self, reduction: ir.Reduction, part: str) -> str:
        """Where the result of a part is."""
        row = self._at(str(self._rows[reduction.local]))
        return self._writer.let(f"getelementptr inbounds i64, ptr {row}, i64 {part}")

    def _at(self, offset: str) -> str:
        return self._writer.let(f"getelementptr inbounds i8, ptr {self.place}, i64 {offset}")


def _padded(type: Type) -> int:
    size = type.size * type.element.bits // 8 if isinstance(type, VectorType) else 8
    return (size + 7) // 8 * 8
