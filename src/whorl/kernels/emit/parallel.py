"""Writes parallel loops: iterations are cut into parts, and worker threads take part after part.

So uneven iterations even out. With reductions the number of parts does not depend on the number of
threads, and the parts' results are put together in their order: the result is the same for every
number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Final

from whorl.kernels import ir
from whorl.kernels.ir_walk import has_atomics, locals_in
from whorl.kernels.types import WEAK_INT, Scalar, Type, VectorType
from whorl.launch.launch_record import PARALLEL, THREADS

from .allocation import free_all
from .counting import CountedLoop, Payment
from .evaluation import value_of
from .instructions import combined, iterations_between, minimum
from .llvm_types import ALONE, ONCE, literal, llvm_type
from .polling import (
    BUDGET,
    begin_state,
    pace,
    poll,
    spend,
    state_argument,
    this_thread,
    wait_for_parts,
)
from .writer import FunctionWriter

__all__ = ["parallel_loop"]

PARTS: Final = 64  # of a loop with reductions
SHARE: Final = 8  # parts per thread of one without
PART: Final = "ptr noalias %context, ptr noalias %state, i64 %begin, i64 %end, i64 %part"


def parallel_loop(outer: FunctionWriter, loop: ir.Parallel) -> None:
    """Cut the iterations into parts, hand them to workers, put the reductions together."""
    start, stop, step = (value_of(outer, each) for each in (loop.start, loop.stop, loop.step))
    count = iterations_between(outer, start, stop, step)
    threads = outer.let(f"load i64, ptr {outer.word(THREADS)}")
    runtime = outer.let(f"load ptr, ptr {outer.word(PARALLEL)}")
    most = str(PARTS) if loop.reductions else outer.let(f"mul i64 {threads}, {SHARE}")
    parts = minimum(outer, most, count)
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
    may = outer.let(f"icmp sgt i64 {minimum(outer, threads, count)}, 1")
    has_runtime = outer.let(f"icmp ne ptr {runtime}, null")
    for test in (has_runtime, *(value_of(outer, guard) for guard in loop.guards)):
        may = outer.let(f"and i1 {may}, {test}")
    outer.branch(may, several, one)
    outer.open(several)
    workers = outer.let(f"trunc i64 {minimum(outer, threads, parts)} to i32")
    outer.do(f"call void {runtime}(ptr @{worker}, ptr {context.place}, i32 {workers}, i32 0)")
    outer.jump(end)
    outer.open(one)
    if loop.reductions:
        with each_part(outer, parts) as number:
            run_part(outer, alone, context, number, count, parts)
    else:
        call_part(outer, alone, context, "0", count, "0")
    outer.mark(end)
    for reduction in loop.reductions:
        combine(outer, reduction, context, parts)
    outer.leave_if_failed()


@contextmanager
def each_part(outer: FunctionWriter, parts: str) -> Iterator[str]:
    """Write the body of a loop over the numbers of the parts."""
    number = ir.Local("part", WEAK_INT)
    outer.set(number, "0")
    with outer.loop() as go_on_if:
        now = outer.get(number)
        go_on_if(outer.let(f"icmp slt i64 {now}, {parts}"))
        yield now
        outer.set(number, outer.let(f"add nsw i64 {now}, 1"))


def run_part(
    outer: FunctionWriter, part: str, context: Context, now: str, count: str, parts: str
) -> None:
    """Run the iterations of one part, by its number: an even share."""
    for reduction in context.loop.reductions:
        type, place = llvm_type(reduction.local.type), context.partial(reduction, now)
        outer.do(f"store {type} {neutral(reduction)}, ptr {place}")
    begin = outer.let(f"sdiv i64 {outer.let(f'mul i64 {now}, {count}')}, {parts}")
    after = outer.let(f"add i64 {now}, 1")
    end = outer.let(f"sdiv i64 {outer.let(f'mul i64 {after}, {count}')}, {parts}")
    call_part(outer, part, context, begin, end, now)


def call_part(
    outer: FunctionWriter, part: str, context: Context, begin: str, end: str, number: str
) -> None:
    """Run some iterations; the launch may have ended then."""
    numbers = ", ".join(f"i64 {each}" for each in (begin, end, number))
    outer.do(f"call void @{part}(ptr {context.place}, {state_argument(outer)}, {numbers})")
    outer.leave_if_failed()


def pieces_function(outer: FunctionWriter, loop: ir.Parallel, part: str, context: Context) -> str:
    """A function that runs a part like the one that is given, some iterations at a time, so that
    there is time for signals in between; its name."""
    module = outer.module
    if not module.polls:
        return part
    name = f"{part}_pieces"
    writer = FunctionWriter(module, name, PART, attributes=ONCE)
    inner = context.inside(writer)
    first = ir.Local("first", WEAK_INT)
    writer.set(first, "%begin")
    with writer.loop() as go_on_if:
        now = writer.get(first)
        go_on_if(writer.let(f"icmp slt i64 {now}, %end"))
        is_innermost, cost = module.loops.is_innermost(loop.body), module.loops.cost(loop.body)
        most = str(max(1, BUDGET // cost)) if is_innermost else pace(writer)
        least = module.declare("llvm.umin.i64", "i64", "i64", "i64")
        left = writer.let(f"sub i64 %end, {now}")
        size = writer.let(f"call i64 @{least}(i64 {left}, i64 {most})")
        after = writer.let(f"add i64 {now}, {size}")
        writer.set(first, after)
        call_part(writer, part, inner, now, after, "%part")
        if is_innermost:
            spend(writer, writer.let(f"mul i64 {size}, {cost}"))
        else:
            poll(writer)
    writer.finish()
    return name


def part_function(
    outer: FunctionWriter,
    loop: ir.Parallel,
    shared: list[ir.Local],
    context: Context,
    *,
    atomic: bool,
) -> str:
    """The function that runs the iterations of one part; its name."""
    name = f"{loop.label}_{'part' if atomic else 'alone'}"
    writer = FunctionWriter(outer.module, name, PART, atomic=atomic, attributes=ALONE)
    inner = context.inside(writer)
    writer.load_slots()
    for local in shared:
        type, place = llvm_type(local.type), inner.shared(local)
        writer.set(local, writer.let(f"load {type}, ptr {place}"))
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
    counted = CountedLoop(writer, loop.label, loop.body, Payment.NEVER)
    counted.write(("%begin", "%end", "1"), begin)
    for reduction in loop.reductions:
        type = llvm_type(reduction.local.type)
        place = inner.partial(reduction, "%part")
        writer.do(f"store {type} {writer.get(reduction.local)}, ptr {place}")
    writer.finish()
    return name


def worker_function(outer: FunctionWriter, loop: ir.Parallel, part: str, context: Context) -> str:
    """The function that each thread runs: parts, as long as there are some."""
    name = f"{loop.label}_worker"
    writer = FunctionWriter(outer.module, name, "ptr %context", attributes=ONCE)
    inner = context.inside(writer)
    if writer.module.polls:
        is_owner = writer.let(f"icmp eq i64 {this_thread(writer)}, {inner.word(Context.OWNER)}")
        begin_state(writer, writer.let(f"zext i1 {is_owner} to i64"))
    elif writer.module.has_state:
        begin_state(writer, "0")
    if writer.module.allocates:
        writer.exit = partial(free_all, writer)
    count, parts = inner.word(Context.COUNT), inner.word(Context.PARTS)
    with writer.loop() as go_on_if:
        writer.leave_if_failed()
        ticket = inner.address(Context.TICKET)
        now = writer.let(f"atomicrmw add ptr {ticket}, i64 1 monotonic")
        go_on_if(writer.let(f"icmp slt i64 {now}, {parts}"))
        run_part(writer, part, inner, now, count, parts)
        writer.let(f"atomicrmw add ptr {inner.address(Context.DONE)}, i64 1 release")
    if writer.module.polls:
        with writer.only_if(is_owner, "wait"):
            wait_for_parts(writer, inner.address(Context.DONE), parts)
    writer.finish()
    return name


def combine(outer: FunctionWriter, reduction: ir.Reduction, context: Context, parts: str) -> None:
    """Put the results of the parts together, in their order."""
    local, kind = reduction.local, reduction.local.type
    assert isinstance(kind, Scalar)
    with each_part(outer, parts) as number:
        place = context.partial(reduction, number)
        value = outer.let(f"load {llvm_type(kind)}, ptr {place}")
        outer.set(local, combined(outer, reduction.name, kind, outer.get(local), value))


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
        if kind.is_inexact and value == 0:
            return literal(kind, complex(-0.0, -0.0) if kind.is_complex else -0.0)
        return literal(kind, value)
    if kind.is_float:
        return literal(kind, math.inf if reduction.name in ("min", "fmin") else -math.inf)
    low, high = (0, 2**kind.bits - 1) if kind.kind == "u" else (
        -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1)  # fmt: skip
    return literal(kind, high if reduction.name == "min" else low)


class Context:
    """What the parts of a parallel loop share: a block of memory on the caller's stack.

    The record's address, the numbers below, the variables from outside, and one row of results
    per part for each reduction.
    """

    RECORD, COUNT, PARTS, TICKET, START, STEP, DONE, OWNER, FIRST = range(9)

    def __init__(self, writer: FunctionWriter, loop: ir.Parallel, shared: list[ir.Local]) -> None:
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
            at += _padded(reduction.local.type) * PARTS
        self._shared = shared
        self.place = writer.alloca(f"[{at} x i8], align 64", "context")

    def fill(self, count: str, parts: str, start: str, step: str) -> None:
        """Write everything into it."""
        writer = self._writer
        writer.do(f"store ptr %record, ptr {self.place}")
        words = [(self.COUNT, count), (self.PARTS, parts), (self.TICKET, "0"), (self.DONE, "0")]
        if writer.module.polls:
            words.append((self.OWNER, this_thread(writer)))
        for number, value in (*words, (self.START, start), (self.STEP, step)):
            writer.do(f"store i64 {value}, ptr {self.address(number)}")
        for local in self._shared:
            value = writer.get(local)
            writer.do(f"store {llvm_type(local.type)} {value}, ptr {self.shared(local)}")

    def inside(self, writer: FunctionWriter) -> Context:
        """The same, as the parameter of another function, which finds its record here."""
        writer.do("%record = load ptr, ptr %context")
        inner = copy(self)
        inner._writer, inner.place = writer, "%context"
        return inner

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
        words = _padded(reduction.local.type) // 8
        return self._writer.let(f"getelementptr inbounds [{words} x i64], ptr {row}, i64 {part}")

    def _at(self, offset: str) -> str:
        return self._writer.let(f"getelementptr inbounds i8, ptr {self.place}, i64 {offset}")


def _padded(type: Type) -> int:
    size = 8
    if isinstance(type, VectorType):
        size = type.size * type.element.bits // 8
    elif isinstance(type, Scalar):
        size = type.bits // 8
    return (size + 7) // 8 * 8
