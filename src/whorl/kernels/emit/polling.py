"""Writes the code by which a long loop takes notice of signals.

Every function has a budget of iterations, which its loops spend; when it is used up, `whorl_poll`
is called. A loop that LLVM may turn into vector instructions is cut into pieces of many iterations,
and spends each piece at once: within a piece it is as it was. `whorl_poll` reads a clock, and every
tenth of a second lets Python run the handlers of signals that have arrived. That is for the thread
which called the kernel; the other threads of a parallel loop check whether the launch has ended.

If a handler raises, its exception is put into the record, where the status says so, and all loops
end. Functions that call others, and loops that hand their iterations to threads, check the status
when those return, as they do for checks that have failed.
"""

from __future__ import annotations

import sys
from typing import Final

from whorl.launch.launch_record import INTERRUPTED, STATUS

from .llvm_types import ONCE
from .long_loops import CLOCKS
from .module import Module
from .writer import FunctionWriter

__all__ = [
    "BLOCKS",
    "BUDGET",
    "DECLARATIONS",
    "NUMBER",
    "begin_state",
    "pace",
    "poll",
    "spend",
    "state_argument",
    "state_place",
    "this_thread",
    "unlikely",
    "wait_for_parts",
]

BUDGET: Final = 1 << 16  # iterations: 20 µs of the shortest, 0.1 s of long ones
_INTERVAL: Final = 100_000_000  # ns after which Python may run the handlers of signals again
_SPIN: Final = 200_000  # ns for which a thread that waits for others does not sleep

FUEL, LAST, OWNER, RECORD, PACE, SEEN = range(0, 48, 8)  # the places in the state of a thread
BLOCKS, NUMBER = 48, 56  # and, where memory is allocated, those of `memory`
_WORDS: Final = 6
_WORDS_WITH_BLOCKS: Final = 8


def begin_state(writer: FunctionWriter, owner: str) -> None:
    """Write the state of a thread that begins here."""
    allocates = writer.module.allocates
    place = writer.alloca(f"[{_WORDS_WITH_BLOCKS if allocates else _WORDS} x i64]", "state")
    words = {FUEL: str(BUDGET), LAST: "0", OWNER: owner, PACE: "64", SEEN: "0"}
    if allocates:
        words |= {BLOCKS: "0", NUMBER: "0"}
    for offset, value in words.items():
        writer.do(f"store i64 {value}, ptr {_at(writer, place, offset)}")
    writer.do(f"store ptr %record, ptr {_at(writer, place, RECORD)}")
    writer.state = place


def state_argument(writer: FunctionWriter) -> str:
    """The state as the argument of a call."""
    return f"ptr {writer.state if writer.module.has_state else 'null'}"


def state_place(writer: FunctionWriter, offset: int) -> str:
    """The address of a place in the state."""
    return _at(writer, writer.state, offset)


def _at(writer: FunctionWriter, place: str, offset: int) -> str:
    return writer.let(f"getelementptr inbounds i8, ptr {place}, i64 {offset}")


def spend(writer: FunctionWriter, iterations: str) -> None:
    """Take iterations from the budget; where it is used up, poll."""
    if not writer.module.polls:
        return
    fuel = _at(writer, writer.state, FUEL)
    left = writer.let(f"sub i64 {writer.let(f'load i64, ptr {fuel}')}, {iterations}")
    writer.do(f"store i64 {left}, ptr {fuel}")
    with writer.only_if(unlikely(writer, writer.let(f"icmp slt i64 {left}, 0")), "spent"):
        poll(writer)


def poll(writer: FunctionWriter) -> None:
    """Leave the function if the launch is to end."""
    _add_helpers(writer.module)
    ends = writer.let(f"call i1 @whorl_poll(ptr {writer.state})")
    with writer.only_if(ends, "out"):
        writer.leave()


def pace(writer: FunctionWriter) -> str:
    """How many iterations with loops in them take about a millisecond, as far as is known."""
    return writer.let(f"load i64, ptr {_at(writer, writer.state, PACE)}")


def unlikely(writer: FunctionWriter, test: str) -> str:
    """A test that LLVM takes to be false."""
    name = writer.module.declare("llvm.expect.i1", "i1", "i1", "i1")
    return writer.let(f"call i1 @{name}(i1 {test}, i1 false)")


def this_thread(writer: FunctionWriter) -> str:
    """The number of the thread that runs."""
    _add_helpers(writer.module)
    return writer.let("call i64 @PyThread_get_thread_ident()")


def wait_for_parts(writer: FunctionWriter, done: str, parts: str) -> None:
    """Wait until all parts of a loop are done, and take notice of signals while others work.

    The runtime would wait too, but for ever.
    """
    _add_helpers(writer.module)
    writer.do(f"call void @whorl_wait(ptr {writer.state}, ptr {done}, i64 {parts})")


def _add_helpers(module: Module) -> None:
    """The functions that the others call, and their declarations, once in a module."""
    if not module.begins("whorl_poll"):
        return
    for name, text in DECLARATIONS.items():
        module.declare_as(name, text)
    for name in ("llvm.umin.i64", "llvm.umax.i64"):
        module.declare(name, "i64", "i64", "i64")
    module.last = _TEXT.format(
        status=STATUS, interrupted=INTERRUPTED, clock=CLOCKS.get(sys.platform, 1),
        interval=_INTERVAL, spin=_SPIN, budget=BUDGET,
        last=LAST, owner=OWNER, once=ONCE, fuel=FUEL, record=RECORD, pace=PACE, seen=SEEN,
    )  # fmt: skip


DECLARATIONS: Final = {
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
  ; Twice as many iterations before the next poll if these were fast, a quarter if slow.
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
  br i1 %is_soon, label %go_on, label %check
check:
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
