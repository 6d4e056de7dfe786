"""The typed program in, the text of its LLVM module out.

One function per kernel, which takes the launch record and returns nothing; one more for each
parallel loop and each subroutine.
"""

from __future__ import annotations

from collections.abc import Iterator

from whorl.kernels import ir
from whorl.launch.launch_record import ENTRY, offsets

from .checkpoints import resumptions
from .interrupts import Loops, begin_state, helpers
from .spelling import llvm_type
from .statements import STATEMENTS
from .writer import Writer

__all__ = ["Module", "emit"]


def emit(function: ir.Function) -> str:
    """The text of a program's module."""
    module = Module(function)
    module.kernel()
    return module.text()


class Module:
    """The functions of one kernel, and what they need declared."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.statements = STATEMENTS
        self.loops = Loops(function)
        self.polls = self.loops.polls
        self.slot_words, self.result_word = offsets([slot.type for slot in function.slots])
        self.declared: dict[str, str] = {}
        self.bodies: list[str] = []
        self.helpers: set[str] = set()
        self._polls = ""  # the text of what takes notice of signals
        self._subroutines: set[tuple[ir.Subroutine, bool]] = set()  # those that are written

    def declare(self, name: str, result: str, *arguments: str) -> str:
        """A function of another module."""
        attributes = "" if name.startswith("llvm.") else " nounwind willreturn memory(none)"
        self.declared[name] = f"declare {result} @{name}({', '.join(arguments)}){attributes}"
        return name

    @property
    def can_stop(self) -> bool:
        """Whether a launch may end before its end."""
        return self.polls or bool(self.function.sites)

    def add_polls(self) -> None:
        """Write the functions that take notice of signals, if they are not there."""
        if not self._polls:
            self._polls = helpers(self)

    def kernel(self) -> None:
        """The function that is launched."""
        writer = Writer(self, ENTRY, "ptr noalias nonnull %record", "%record", linkage="")
        if self.polls:
            writer.state = begin_state(writer, "1")
        writer.begin()
        if self.function.resumed:
            resumptions(writer, self.function.resumed)
        writer.block(self.function.body)
        place = self.result_word
        for local in _results(self.function.result):
            writer.store_word(place, writer.get(local), local.type)
            place += 1
        writer.finish()

    def subroutine(self, each: ir.Subroutine, *, atomic: bool) -> str:
        """The function of a subroutine, written when it is first called; its name."""
        name = f"{each.name}_{'shared' if atomic else 'alone'}"
        if (each, atomic) in self._subroutines:
            return name
        self._subroutines.add((each, atomic))
        params = [f"{llvm_type(param.type)} %p{i}" for i, param in enumerate(each.params)]
        outs = [f"ptr %out{i}" for i in range(len(each.results))]
        heads = ("ptr noalias nonnull %record", "ptr noalias %state")
        arguments = ", ".join((*heads, *params, *outs))
        writer = Writer(self, name, arguments, "%record", atomic=atomic)
        writer.begin()
        for i, param in enumerate(each.params):
            writer.set(param, f"%p{i}")
        writer.block(each.body)
        if writer.is_open:
            for i, local in enumerate(each.results):
                writer.do(f"store {llvm_type(local.type)} {writer.get(local)}, ptr %out{i}")
        writer.finish()
        return name

    def text(self) -> str:
        """The module."""
        return "\n".join([*self.declared.values(), *self.bodies, self._polls, ""])


def _results(result: ir.Result) -> Iterator[ir.Local]:
    match result:
        case ir.Local():
            yield result
        case tuple():
            for part in result:
                yield from _results(part)
