"""Writes checkpoints: where a launch stops, and where a resumed one begins.

A resumed launch jumps from the begin of the function into the middle of it. That costs the others
one test at the begin, and nothing in a loop. It is sound because nothing is kept in registers from
one statement to the next but the slots, which are read before.
"""

from __future__ import annotations

from whorl.kernels import ir
from whorl.launch.launch_record import CHECKPOINT

from .evaluation import value_of
from .writer import FunctionWriter

__all__ = ["checkpoint", "resumptions", "yield_"]


def resumptions(writer: FunctionWriter, resumed: list[tuple[ir.CheckpointLabel, ir.Block]]) -> None:
    """Go where the launch begins: at the begin, or at one of the checkpoints."""
    word = writer.word(CHECKPOINT)
    wanted = writer.let(f"load i64, ptr {word}")
    writer.do(f"store i64 0, ptr {word}")
    begin = writer.fresh("begin")
    targets = [writer.fresh("resume") for _ in resumed]
    cases = " ".join(f"i64 {i}, label %{target}" for i, target in enumerate(targets, 1))
    writer.end(f"switch i64 {wanted}, label %{begin} [ {cases} ]")
    for number, (target, (label, block)) in enumerate(zip(targets, resumed, strict=True), 1):
        writer.open(target)
        writer.block(block)
        writer.checkpoints[label] = (number, writer.fresh("checkpoint"))
        writer.jump(writer.checkpoints[label][1])
    writer.open(begin)


def checkpoint(writer: FunctionWriter, statement: ir.Checkpoint) -> None:
    """A block that can be jumped to."""
    writer.mark(writer.checkpoints[statement.label][1])
    writer.block(statement.body)


def yield_(writer: FunctionWriter, statement: ir.Yield) -> None:
    """Leave the kernel if the flag is set; the record says where."""
    flag = value_of(writer, statement.flag)
    with writer.only_if(writer.let(f"icmp ne i32 {flag}, 0"), "yield"):
        number, _ = writer.checkpoints[statement.label]
        writer.do(f"store i64 {number}, ptr {writer.word(CHECKPOINT)}")
        writer.leave()
