"""Checkpoints in, the text that stops a launch there and begins another one there out.

A resumed launch jumps from the begin of the function into the middle of it. That costs the others
one test at the begin, and nothing in a loop. It is sound because nothing of the text but the
slots, which are read before, is kept in registers from one statement to the next.
"""

from __future__ import annotations

from whorl.kernels import ir
from whorl.launch.launch_record import CHECKPOINT

from .writer import Writer

__all__ = ["checkpoint", "resumptions", "yield_"]


def resumptions(writer: Writer, resumed: list[tuple[ir.Mark, ir.Block]]) -> None:
    """Go where the launch begins: at the begin, or at one of the checkpoints."""
    word = writer.word(CHECKPOINT)
    wanted = writer.let(f"load i64, ptr {word}")
    writer.do(f"store i64 0, ptr {word}")
    begin = writer.fresh("begin")
    labels = [writer.fresh("resume") for _ in resumed]
    cases = " ".join(f"i64 {i}, label %{label}" for i, label in enumerate(labels, 1))
    writer.do(f"switch i64 {wanted}, label %{begin} [ {cases} ]")
    writer.is_open = False
    for number, (label, (mark, block)) in enumerate(zip(labels, resumed, strict=True), 1):
        writer.lines.append(f"{label}:")
        writer.is_open = True
        writer.block(block)
        writer.checkpoints[mark] = (number, writer.fresh("checkpoint"))
        writer.jump(writer.checkpoints[mark][1])
    writer.lines.append(f"{begin}:")
    writer.is_open = True


def checkpoint(writer: Writer, statement: ir.Checkpoint) -> None:
    """A block that can be jumped to."""
    writer.mark(writer.checkpoints[statement.mark][1])
    writer.block(statement.body)


def yield_(writer: Writer, statement: ir.Yield) -> None:
    """Leave the kernel, and say where."""
    flag = writer.expr(statement.flag)
    out, go_on = writer.fresh("yield"), writer.fresh("on")
    writer.branch(writer.let(f"icmp ne i32 {flag}, 0"), out, go_on)
    writer.lines.append(f"{out}:")
    number, _ = writer.checkpoints[statement.mark]
    writer.do(f"store i64 {number}, ptr {writer.word(CHECKPOINT)}")
    writer.do("ret void")
    writer.lines.append(f"{go_on}:")
    writer.is_open = True
