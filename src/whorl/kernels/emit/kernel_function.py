"""Writes the LLVM module of a program: the function that is launched, and all that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir
from whorl.kernels.types import Scalar
from whorl.launch.launch_record import ENTRY, words_of

from .allocation import free_all
from .checkpoints import resumptions
from .module import Module
from .polling import begin_state
from .result_arrays import begin_results, new_results, release_results
from .statement_text import STATEMENTS
from .writer import FunctionWriter

__all__ = ["Emitted", "emit"]


@dataclass(frozen=True, slots=True)
class Emitted:
    """A module's text, and what a launch has to know of it."""

    text: str
    polls: bool  # whether it takes notice of signals
    lean_slots: list[int]  # the arrays of which it uses nothing but the address


def emit(function: ir.Function, *, fuses: bool = False) -> Emitted:
    """The module of a program: one function takes the launch record and returns nothing; one more
    for each parallel loop and each subroutine. `fuses` says that the processor multiplies and adds
    in one step."""
    module = Module(function, STATEMENTS, fuses=fuses)
    writer = FunctionWriter(module, ENTRY, "ptr noalias nonnull %record", linkage="")
    if module.has_state:
        begin_state(writer, "1")
    makes_results = bool(new_results(function))
    if module.allocates or makes_results:
        writer.exit = partial(_end, writer)
    if makes_results:
        begin_results(writer)
    writer.load_slots()
    if function.resumed:
        resumptions(writer, function.resumed)
    writer.block(function.body)
    place = module.result_word
    for local in _results(function.result):
        assert isinstance(local.type, Scalar)
        writer.store(local.type, writer.get(local), writer.word(place))
        place += words_of(local.type)
    writer.finish()
    return Emitted(module.text(), module.polls, module.lean_slots)


def _end(writer: FunctionWriter) -> None:
    """What happens however the function ends."""
    if writer.module.allocates:
        free_all(writer)
    if new_results(writer.module.function):
        release_results(writer)


def _results(result: ir.Result) -> Iterator[ir.Local]:
    match result:
        case ir.Local():
            yield result
        case tuple():
            for part in result:
                yield from _results(part)
