"""Writes the code that allocates memory for arrays made in a kernel, and frees it.

Every thread has a list of the blocks that it has allocated, the newest first. It hangs on the
thread's state (see `polling`), and the function in which the state begins frees what is left of
it, however it ends. A block has a number, one more than the block before it: what was allocated
since a mark is what has a larger number. Before the elements stand, in 64 bytes:

    word 0      what `malloc` has returned
    word 1      the next block of the list, by the address of its elements
    word 2      the number
"""

from __future__ import annotations

import sys
from typing import Final

from whorl.kernels import ir
from whorl.kernels.types import VectorType
from whorl.launch.launch_record import PRINT

from .evaluation import value_of
from .llvm_types import ONCE
from .module import Module
from .polling import BLOCKS, NUMBER, state_place
from .result_arrays import make_result
from .writer import FunctionWriter

__all__ = ["allocate", "free_all", "mark", "return_array", "stack_array", "sweep"]


def allocate(writer: FunctionWriter, statement: ir.Allocate) -> None:
    """Set a variable to the address of new memory, or fail."""
    size = value_of(writer, statement.size)
    if statement.result >= 0:
        address = make_result(writer, statement)
        writer.fail_unless(writer.let(f"icmp ne ptr {address}, null"), statement.site, (size,))
        writer.set(statement.local, address)
        return
    _add_helpers(writer.module)
    zero = "true" if statement.is_zero else "false"
    arguments = f"ptr {writer.state}, i64 {size}, i1 {zero}"
    address = writer.let(f"call noalias ptr @whorl_allocate({arguments})")
    writer.fail_unless(writer.let(f"icmp ne ptr {address}, null"), statement.site, (size,))
    writer.set(statement.local, address)


def stack_array(writer: FunctionWriter, statement: ir.StackArray) -> None:
    """Set a variable to the address of zeros on the stack."""
    name = "llvm.memset.p0.i64"
    writer.module.declare_as(name, f"declare void @{name}(ptr, i8, i64, i1)")
    place, type = writer.place(statement.memory), statement.memory.type
    assert isinstance(type, VectorType)
    writer.do(f"call void @{name}(ptr {place}, i8 0, i64 {8 * type.size}, i1 false)")
    writer.set(statement.local, place)


def return_array(writer: FunctionWriter, statement: ir.ReturnArray) -> None:
    """Say where an array that is returned lies."""
    array = statement.array
    base = writer.let(f"ptrtoint ptr {value_of(writer, array.base)} to i64")
    numbers = [value_of(writer, expr) for expr in (*array.extents, *array.all_strides)]
    numbers.insert(0, base)
    values = writer.alloca(f"[{len(numbers)} x i64]", "values")
    for i, number in enumerate(numbers):
        place = writer.let(f"getelementptr inbounds i64, ptr {values}, i64 {i}")
        writer.do(f"store i64 {number}, ptr {place}")
    function = writer.let(f"load ptr, ptr {writer.word(PRINT)}")
    site = -1 - statement.number
    writer.do(f"call void {function}(i64 {site}, i64 {len(numbers)}, ptr {values})")


def mark(writer: FunctionWriter, statement: ir.Mark) -> None:
    """Set a variable to the number of the newest block."""
    number = writer.let(f"load i64, ptr {state_place(writer, NUMBER)}")
    writer.set(statement.local, number)


def sweep(writer: FunctionWriter, statement: ir.Sweep) -> None:
    """Free what was allocated since a mark, except for what is live."""
    _add_helpers(writer.module)
    live = statement.live
    places = "null"
    if live:
        places = writer.alloca(f"[{len(live)} x ptr]", "live")
        for i, expr in enumerate(live):
            place = writer.let(f"getelementptr inbounds ptr, ptr {places}, i64 {i}")
            writer.do(f"store ptr {value_of(writer, expr)}, ptr {place}")
    since = writer.get(statement.since)
    arguments = f"ptr {writer.state}, i64 {since}, ptr {places}, i64 {len(live)}"
    writer.do(f"call void @whorl_sweep({arguments})")


def free_all(writer: FunctionWriter) -> None:
    """Free every block of the thread whose state has begun in this function."""
    _add_helpers(writer.module)
    writer.do(f"call void @whorl_sweep(ptr {writer.state}, i64 0, ptr null, i64 0)")


def _add_helpers(module: Module) -> None:
    if not module.begins("whorl_allocate"):
        return
    module.declare_as("malloc", "declare noalias ptr @malloc(i64)")
    module.declare_as("calloc", "declare noalias ptr @calloc(i64, i64)")
    module.declare_as("free", "declare void @free(ptr)")
    huge = ""
    if sys.platform == "linux":
        module.declare_as("madvise", "declare i32 @madvise(ptr, i64, i32)")
        huge = _HUGE
    text = _TEXT.format(once=ONCE, blocks=BLOCKS, number=NUMBER, huge=huge)
    module.functions.append(text)


# A large block asks for large pages, as NumPy's do: there are fewer first touches, each of which is
# a trap into the system. MADV_HUGEPAGE is 14; the address has to be that of a page.
_HUGE: Final = f"""  %is_large = icmp uge i64 %size, {1 << 22}
  br i1 %is_large, label %large, label %ready
large:
  %above = add i64 %address, 4095
  %page = and i64 %above, -4096
  %pages = inttoptr i64 %page to ptr
  %advised = call i32 @madvise(ptr %pages, i64 %size, i32 14)
  br label %ready
ready:"""
_TEXT: Final = """define internal ptr @whorl_allocate(ptr %state, i64 %size, i1 %zero) {once} {{
entry:
  %room = add i64 %size, 128
  br i1 %zero, label %zeros, label %any
zeros:
  %cleared = call noalias ptr @calloc(i64 %room, i64 1)
  br label %after
any:
  %fresh = call noalias ptr @malloc(i64 %room)
  br label %after
after:
  %raw = phi ptr [ %cleared, %zeros ], [ %fresh, %any ]
  %is_null = icmp eq ptr %raw, null
  br i1 %is_null, label %none, label %link
link:
  %address = ptrtoint ptr %raw to i64
{huge}
  %beyond = add i64 %address, 127
  %aligned = and i64 %beyond, -64
  %distance = sub i64 %aligned, %address
  %block = getelementptr inbounds i8, ptr %raw, i64 %distance
  %raw_place = getelementptr inbounds i8, ptr %block, i64 -64
  store ptr %raw, ptr %raw_place
  %first_place = getelementptr inbounds i8, ptr %state, i64 {blocks}
  %first = load ptr, ptr %first_place
  %next_place = getelementptr inbounds i8, ptr %block, i64 -56
  store ptr %first, ptr %next_place
  store ptr %block, ptr %first_place
  %last_place = getelementptr inbounds i8, ptr %state, i64 {number}
  %last = load i64, ptr %last_place
  %number = add i64 %last, 1
  store i64 %number, ptr %last_place
  %number_place = getelementptr inbounds i8, ptr %block, i64 -48
  store i64 %number, ptr %number_place
  ret ptr %block
none:
  ret ptr null
}}
define internal void @whorl_sweep(ptr %state, i64 %since, ptr %live, i64 %count) {once} {{
entry:
  %first_place = getelementptr inbounds i8, ptr %state, i64 {blocks}
  br label %head
head:
  %link = phi ptr [ %first_place, %entry ], [ %next_place, %keep ], [ %link, %drop ]
  %block = load ptr, ptr %link
  %is_end = icmp eq ptr %block, null
  br i1 %is_end, label %end, label %when
when:
  %number_place = getelementptr inbounds i8, ptr %block, i64 -48
  %number = load i64, ptr %number_place
  %is_old = icmp sle i64 %number, %since
  br i1 %is_old, label %end, label %search
search:
  %i = phi i64 [ 0, %when ], [ %after, %other ]
  %has_more = icmp slt i64 %i, %count
  br i1 %has_more, label %compare, label %drop
compare:
  %place = getelementptr inbounds ptr, ptr %live, i64 %i
  %each = load ptr, ptr %place
  %is_live = icmp eq ptr %each, %block
  br i1 %is_live, label %keep, label %other
other:
  %after = add i64 %i, 1
  br label %search
keep:
  %next_place = getelementptr inbounds i8, ptr %block, i64 -56
  br label %head
drop:
  %rest_place = getelementptr inbounds i8, ptr %block, i64 -56
  %rest = load ptr, ptr %rest_place
  store ptr %rest, ptr %link
  %raw_place = getelementptr inbounds i8, ptr %block, i64 -64
  %raw = load ptr, ptr %raw_place
  call void @free(ptr %raw)
  br label %head
end:
  ret void
}}"""
