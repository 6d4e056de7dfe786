"""Loops in, the text by which a long one takes notice of signals out.

Every function has a budget of rounds, which its loops spend; when it is used up, `whorl_poll` is
called. A loop that LLVM may turn into vector instructions is cut into pieces of many rounds, and
spends each piece at once: within a piece it is as it was. `whorl_poll` looks at a clock, and every
tenth of a second lets Python run the handlers of signals that have arrived. That is for the thread
which called the kernel; the other threads of a parallel loop look whether the launch has ended.

If a handler raises, its exception is put into the record, where the status says so, and all loops
end. Functions that call others, and loops that hand their rounds to threads, look at the status
when those return, as they do for checks that have failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whorl.kernels import ir
from whorl.kernels.walk import compared, every_expression, set_once, statements_in
from whorl.launch.launch_record import INTERRUPTED, STATUS

from .spelling import ONCE

if TYPE_CHECKING:
    from .module import Module
    from .writer import Writer

__all__ = [
    "BUDGET",
    "PIECE",
    "WORTH",
    "Loops",
    "begin_state",
    "helpers",
    "may_leave",
    "owner_waits",
    "pace",
    "poll",
    "spend",
    "takes_elements",
    "this_thread",
    "unlikely",
]

BUDGET: Final = 1 << 16  # rounds: 20 µs of the shortest, 0.1 s of long ones
PIECE: Final = 1 << 14  # rounds of a loop that is cut into pieces
WORTH: Final = 256  # more rounds than these are counted where a loop in another one ends
COST_OF_LOOPS: Final = 64  # of a round that has loops in it
FEW: Final = 64  # rounds that are not worth counting
_INTERVAL: Final = 100_000_000  # ns between two looks at what Python knows of signals
_SPIN: Final = 200_000  # ns for which a thread that waits for others does not sleep
_CLOCKS: Final = {"linux": 1, "darwin": 6}  # CLOCK_MONOTONIC

FUEL, LAST, OWNER, RECORD, PACE, SEEN = range(0, 48, 8)  # the places in the state of a thread
STATE: Final = "[6 x i64]"


# -- which loops ------------------------------------------------------------------------


class Loops:
    """The loops of a program: which may run for long, and what a round of one costs."""

    def __init__(self, function: ir.Function) -> None:
        self._set_once = set_once(function)
        statements = (each for block in function.blocks for each in statements_in(block))
        self.polls = sys.platform in _CLOCKS and any(map(self.is_long, statements))

    def is_long(self, statement: ir.Stmt) -> bool:
        """Whether a statement may run for long: a loop, but for a short one, or a call."""
        if isinstance(statement, ir.For):
            most = self._most(statement)
            return most is None or most > FEW
        return isinstance(statement, ir.While | ir.Parallel | ir.Call)

    def is_innermost(self, body: ir.Block) -> bool:
        """Whether a loop with this body has no long loop in it, and calls nothing."""
        return not any(map(self.is_long, statements_in(body)))

    def cost(self, body: ir.Block) -> int:
        """About how many rounds of short loops a round with this body has; of long ones, a few."""
        total = 1
        for statement in statements_in(body):
            if isinstance(statement, ir.For):
                most = self._most(statement)
                if most is not None and most <= FEW:
                    total = max(total, most * self.cost(statement.body))
        return total if self.is_innermost(body) else max(total, COST_OF_LOOPS)

    def _most(self, loop: ir.For) -> int | None:
        """How many rounds a loop has at most, if it begins at a constant, or ends where it begins
        plus a constant."""
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
    """Whether a round of a loop with this body may be the last one by a jump."""
    inside: set[str] = set()
    jumps: set[str] = set()
    for statement in statements_in(body):
        match statement:
            case ir.For(label=label) | ir.While(label=label) | ir.Scope(label=label):
                inside.add(label)
            case ir.Leave(label):
                jumps.add(label)
    return bool(jumps - inside)


# -- the text ---------------------------------------------------------------------------


def begin_state(writer: Writer, owner: str) -> str:
    """The state of a thread that begins; its place."""
    place = writer.alloca(STATE, "state")
    words = {FUEL: str(BUDGET), LAST: "0", OWNER: owner, PACE: "64", SEEN: "0"}
    for offset, value in words.items():
        writer.do(f"store i64 {value}, ptr {_at(writer, place, offset)}")
    writer.do(f"store ptr {writer.record}, ptr {_at(writer, place, RECORD)}")
    return place


def _at(writer: Writer, place: str, offset: int) -> str:
    return writer.let(f"getelementptr inbounds i8, ptr {place}, i64 {offset}")


def spend(writer: Writer, rounds: str) -> None:
    """Take rounds from the budget; where it is used up, look whether the launch is to end."""
    if not writer.module.polls:
        return
    fuel = _at(writer, writer.state, FUEL)
    left = writer.let(f"sub i64 {writer.let(f'load i64, ptr {fuel}')}, {rounds}")
    writer.do(f"store i64 {left}, ptr {fuel}")
    is_spent = unlikely(writer, writer.let(f"icmp slt i64 {left}, 0"))
    spent, go_on = writer.fresh("spent"), writer.fresh("on")
    writer.branch(is_spent, spent, go_on)
    writer.open(spent)
    poll(writer)
    writer.mark(go_on)


def poll(writer: Writer) -> None:
    """Look whether the launch is to end, and leave the function then."""
    writer.module.add_polls()
    ends = writer.let(f"call i1 @whorl_poll(ptr {writer.state})")
    out, go_on = writer.fresh("out"), writer.fresh("on")
    writer.branch(ends, out, go_on)
    writer.open(out)
    writer.do(writer.status)
    writer.open(go_on)


def pace(writer: Writer) -> str:
    """How many rounds with loops in them take about a millisecond, as far as is known."""
    return writer.let(f"load i64, ptr {_at(writer, writer.state, PACE)}")


def unlikely(writer: Writer, test: str) -> str:
    """A test that LLVM takes to be false."""
    name = writer.module.declare("llvm.expect.i1", "i1", "i1", "i1")
    return writer.let(f"call i1 @{name}(i1 {test}, i1 false)")


def this_thread(writer: Writer) -> str:
    """The number of the thread that runs."""
    writer.module.add_polls()
    return writer.let("call i64 @PyThread_get_thread_ident()")


def owner_waits(writer: Writer, done: str, parts: str) -> None:
    """Wait until all parts of a loop are done, and take notice of signals while others work.

    The runtime would wait too, but for ever.
    """
    writer.module.add_polls()
    writer.do(f"call void @whorl_wait(ptr {writer.state}, ptr {done}, i64 {parts})")


def helpers(module: Module) -> str:
    """The functions that the others call, and what these need declared."""
    module.declared.update(_DECLARED)
    for name in ("llvm.umin.i64", "llvm.umax.i64"):
        module.declare(name, "i64", "i64", "i64")
    return _TEXT.format(
        status=STATUS, interrupted=INTERRUPTED, clock=_CLOCKS.get(sys.platform, 1),
        interval=_INTERVAL, spin=_SPIN, budget=BUDGET,
        last=LAST, owner=OWNER, once=ONCE, fuel=FUEL, record=RECORD, pace=PACE, seen=SEEN,
    )  # fmt: skip


_DECLARED: Final = {
    "clock_gettime": "declare i32 @clock_gettime(i32, ptr)",
    "usleep": "declare i32 @usleep(i32)",
    "PyGILState_Ensure": "declare i32 @PyGILState_Ensure()",
    "PyGILState_Release": "declare void @PyGILState_Release(i32)",
    "PyErr_CheckSignals": "declare i32 @PyErr_CheckSignals()",
    "PyErr_Fetch": "declare void @PyErr_Fetch(ptr, ptr, ptr)",
    "PyErr_Clear": "declare void @PyErr_Clear()",
    "PyThread_get_thread_ident": "declare i64 @PyThread_get_thread_ident()",
}

# What the handlers of signals do to arrays is their business: here they are taken to do nothing
# to them, as other threads are.
_TEXT: Final = """define internal i64 @whorl_clock() {once} {{
entry:
  %time = alloca [2 x i64]
  %got = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest_place = getelementptr inbounds i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_place
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}}
define internal i1 @whorl_poll(ptr %state) {once} memory(argmem: readwrite, inaccessiblemem: readwrite) {{
entry:
  %fuel_place = getelementptr inbounds i8, ptr %state, i64 {fuel}
  store i64 {budget}, ptr %fuel_place
  %record_place = getelementptr inbounds i8, ptr %state, i64 {record}
  %record = load ptr, ptr %record_place
  %status_place = getelementptr inbounds i64, ptr %record, i64 {status}
  %status = load atomic i64, ptr %status_place monotonic, align 8
  %has_ended = icmp ne i64 %status, 0
  br i1 %has_ended, label %stop, label %when
when:
  %now = call i64 @whorl_clock()
  %last_place = getelementptr inbounds i8, ptr %state, i64 {last}
  %last = load i64, ptr %last_place
  %seen_place = getelementptr inbounds i8, ptr %state, i64 {seen}
  %seen = load i64, ptr %seen_place
  store i64 %now, ptr %seen_place
  %is_first = icmp eq i64 %last, 0
  br i1 %is_first, label %first, label %again
first:
  store i64 %now, ptr %last_place
  br label %go_on
again:
  ; Twice as many rounds before the next look if these were done soon, a quarter if not.
  %took = sub i64 %now, %seen
  %pace_place = getelementptr inbounds i8, ptr %state, i64 {pace}
  %pace = load i64, ptr %pace_place
  %twice = shl i64 %pace, 1
  %faster = call i64 @llvm.umin.i64(i64 %twice, i64 1048576)
  %quarter = lshr i64 %pace, 2
  %slower = call i64 @llvm.umax.i64(i64 %quarter, i64 1)
  %was_soon = icmp slt i64 %took, 1000000
  %was_late = icmp sgt i64 %took, 16000000
  %rather = select i1 %was_soon, i64 %faster, i64 %pace
  %next = select i1 %was_late, i64 %slower, i64 %rather
  store i64 %next, ptr %pace_place
  %owner_place = getelementptr inbounds i8, ptr %state, i64 {owner}
  %owner = load i64, ptr %owner_place
  %is_owner = icmp ne i64 %owner, 0
  br i1 %is_owner, label %whether, label %go_on
whether:
  %waited = sub i64 %now, %last
  %is_soon = icmp slt i64 %waited, {interval}
  br i1 %is_soon, label %go_on, label %look
look:
  store i64 %now, ptr %last_place
  %lock = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %has_raised = icmp ne i32 %raised, 0
  br i1 %has_raised, label %end, label %unlock
end:
  ; A check that has failed at the same time ends the launch as well, and its error is raised.
  %swapped = cmpxchg ptr %status_place, i64 0, i64 {interrupted} monotonic monotonic
  %is_first_error = extractvalue {{ i64, i1 }} %swapped, 1
  br i1 %is_first_error, label %keep, label %drop
keep:
  %type_place = getelementptr inbounds i64, ptr %status_place, i64 1
  %value_place = getelementptr inbounds i64, ptr %status_place, i64 2
  %trace_place = getelementptr inbounds i64, ptr %status_place, i64 3
  call void @PyErr_Fetch(ptr %type_place, ptr %value_place, ptr %trace_place)
  br label %unlock
drop:
  call void @PyErr_Clear()
  br label %unlock
unlock:
  call void @PyGILState_Release(i32 %lock)
  ret i1 %has_raised
go_on:
  ret i1 false
stop:
  ret i1 true
}}
define internal void @whorl_wait(ptr %state, ptr %done, i64 %parts) {once} {{
entry:
  %already = load atomic i64, ptr %done monotonic, align 8
  %is_already = icmp sge i64 %already, %parts
  br i1 %is_already, label %end, label %wait
wait:
  %begin = call i64 @whorl_clock()
  br label %spin
spin:
  %spun = load atomic i64, ptr %done monotonic, align 8
  %is_spun = icmp sge i64 %spun, %parts
  br i1 %is_spun, label %end, label %longer
longer:
  %now = call i64 @whorl_clock()
  %waited = sub i64 %now, %begin
  %is_short = icmp slt i64 %waited, {spin}
  br i1 %is_short, label %spin, label %head
head:
  %then = call i64 @whorl_clock()
  %since = sub i64 %then, %begin
  %share = udiv i64 %since, 16000
  %at_most = call i64 @llvm.umin.i64(i64 %share, i64 10000)
  %at_least = call i64 @llvm.umax.i64(i64 %at_most, i64 10)
  %micros = trunc i64 %at_least to i32
  %slept = call i32 @usleep(i32 %micros)
  %found = load atomic i64, ptr %done monotonic, align 8
  %is_done = icmp sge i64 %found, %parts
  br i1 %is_done, label %end, label %poll
poll:
  %ends = call i1 @whorl_poll(ptr %state)
  br i1 %ends, label %end, label %head
end:
  ret void
}}"""  # noqa: E501  # LLVM's text
