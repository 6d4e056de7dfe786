"""Writes the LLVM module of a program: the function that is launched, and all that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir
from whorl.kernels.types import Scalar
from whorl.launch.launch_record import ENTRY

from .allocation import free_all
from .checkpoints import resumptions
from .module import Module
from .polling import begin_state
from .statement_text import STATEMENTS
from .writer import FunctionWriter

__all__ = ["Emitted", "emit"]


@dataclass(frozen=True, slots=True)
class Emitted:
    """A module's text, and what a launch has to know of it."""

    text: str
    polls: bool  # whether it takes notice of signals
    lean_slots: list[int]  # the arrays of which it uses nothing but the address


def emit(function: ir.Function) -> Emitted:
    """The module of a program: one function takes the launch record and returns nothing; one more
    for each parallel loop and each subroutine."""
    module = Module(function, STATEMENTS)
    writer = FunctionWriter(module, ENTRY, "ptr noalias nonnull %record", linkage="")
    if module.has_state:
        begin_state(writer, "1")
    if module.allocates:
        writer.exit = partial(free_all, writer)
    writer.load_slots()
    if function.resumed:
        resumptions(writer, function.resumed)
    writer.block(function.body)
    for place, local in enumerate(_results(function.result), module.result_word):
        assert isinstance(local.type, Scalar)
        writer.store(local.type, writer.get(local), writer.word(place))
    writer.finish()
    return Emitted(module.text(), module.polls, module.lean_slots)


def _results(result: ir.Result) -> Iterator[ir.Local]:
    match result:
        case ir.Local():
            yield result
        case tuple():
            for part in result:
                yield from _results(part)
