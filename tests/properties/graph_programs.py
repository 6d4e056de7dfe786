"""Source texts of kernels with loops and checkpoints, made up piece by piece.

Every loop ends: its count is in an array that only goes down. Every checkpoint yields as often as
its fuel lasts. What a program does it notes in a log. Names are of two kinds: those that follow
from the arguments, which may be used anywhere, and those that follow from arrays, which a launch
that is resumed does not have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.properties.kernel_programs import Choices

__all__ = ["GraphProgram", "graph_program"]

HEAD = """\
import enum
import whorl
from whorl.graph import do_while
MODULE_LABEL = 1001
class Stage(enum.IntEnum):
    ZERO = 0
    ONE = 1
    TWO = 2
    THREE = 3
class Outer:
    class Stage(enum.IntEnum):
        FOUR = 4
        FIVE = 5

def note(s, step):
    s.log[s.count[()]] = step
    s.count[()] += 1

def half(n, k):
    if n > k:
        return n // 2
    return k

def noted(s, n):
    note(s, n)
    return n * 3

"""
LABELS = ("Stage.ONE", "17", "Outer.Stage.FIVE", "MODULE_LABEL", "Stage.TWO", "-3", "Stage.ZERO",
          "Outer.Stage.FOUR", "Stage.THREE", "99")  # fmt: skip
DEEPEST = 4


@dataclass
class GraphProgram:
    """A module's source with the function `program(s)`, and what its objects need."""

    source: str
    loops: int  # how many counts there are
    checkpoints: int  # how many flags and fuels
    is_sure: bool  # whether it has to compile


@dataclass
class Writer:
    """A program that is being written."""

    choices: Choices
    functions: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    level: int = 0  # how many blocks are around
    loops: int = 0
    checkpoints: int = 0
    fresh: int = 0
    steps: int = 0
    sure: list[str] = field(default_factory=list)  # names that follow from the arguments
    other: list[str] = field(default_factory=list)  # names that follow from arrays
    may_stop: bool = True  # no checkpoint and no for is around
    has_others: bool = False
    may_jump: bool = False  # a loop is around, and its count has gone down
    size: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def value(self) -> str:
        """An int from the names that there are."""
        names = [*self.sure, "s.n", "2"]
        if self.other and self.choices.number(0, 3) == 0:
            return self.choices.pick(self.other)
        return self.choices.pick(names)

    def note(self) -> None:
        self.steps += 1
        if self.choices.number(0, 2):
            self.line(f"note(s, {self.steps})")
        else:
            self.line(f"note(s, {self.steps} * 1000 + {self.value()})")

    # -- statements ---------------------------------------------------------------------

    def block(self) -> None:
        self.level += 1
        outside = (list(self.sure), list(self.other), self.may_jump)
        for _ in range(self.choices.number(1, 3)):
            self.statement()
        self.note()
        self.sure, self.other, self.may_jump = outside
        self.level -= 1

    def statement(self) -> None:
        self.size += 1
        kinds = ["note", "store", "sure", "other"]
        if (self.sure or self.other) and self.choices.number(0, 2) == 0:
            kinds.append("again")
        if self.level < DEEPEST and self.size < 40:
            kinds += ["do_while", "do_while", "if", "static", "for", "while", "call"]
            if self.may_stop:
                kinds += ["checkpoint"] * 4
        if self.may_jump:
            kinds.append("jump")
        getattr(self, f"_{self.choices.pick(kinds)}")()

    def _note(self) -> None:
        self.note()

    def _store(self) -> None:
        self.line(f"s.x[{self.choices.number(0, 3)}] += {self.value()}")

    def _sure(self) -> None:
        name = self.new("k")
        base = self.choices.pick([*self.sure, "s.n"])
        match self.choices.number(0, 4):
            case 0:
                self.line(f"{name} = {base} * 2 + s.log.size")
            case 1:
                self.line(f"{name} = half({base}, {self.choices.number(0, 9)})")
            case 2:
                self.line(f"if {base} > {self.choices.number(0, 9)}:")
                self.line(f"    {name} = {base} + 1")
                self.line("else:")
                self.line(f"    {name} = 5")
            case 3:
                self.line(f"{name} = noted(s, {base})")
            case 4:
                vector = self.new("v")
                self.line(f"{vector} = whorl.vec({base}, 1, s.n)")
                self.line(f"{vector}[1] = {base} + 3")
                self.line(f"{name} = {vector}[1] + {vector}[2]")
        self.sure.append(name)

    def _other(self) -> None:
        name = self.new("m")
        base = self.choices.pick([*self.other, f"int(s.x[{self.choices.number(0, 3)}]) % 100"])
        match self.choices.number(0, 4):
            case 0 | 1:
                self.line(f"{name} = {base}")
            case 2:
                self.line(f"{name} = half({base}, {self.value()})")
            case 3:
                self.line(f"{name} = {self.value()}")
                self.line(f"if {base} > 5:")
                self.line(f"    {name} = 7")
            case 4:
                vector = self.new("v")
                self.line(f"{vector} = whorl.vec({self.value()}, 1, s.n)")
                self.line(f"{vector}[{self.choices.number(0, 2)}] = {base}")
                self.line(f"{name} = {vector}[{self.choices.number(0, 2)}]")
        self.other.append(name)

    def _again(self) -> None:
        """A name that is there gets another value, maybe in every round of a loop."""
        name = self.choices.pick([*self.sure, *self.other])
        value = self.choices.pick([f"({name} + 1) % 50", "s.n", f"half({name}, 3)", "5"])
        self.line(f"{name} = {value}")
        self.has_others = True
        if name in self.sure and value not in ("s.n", "5"):
            self.sure.remove(name)
            self.other.append(name)

    def _loop(self, head: str) -> None:
        number = self.loops
        self.loops += 1
        self.line(f"s.c{number}[()] = {self.choices.number(0, 3)}")
        self.line(head.format(number))
        self.depth += 1
        before = self.may_jump, list(self.other)
        early = self.choices.number(0, 1)
        if early:
            self.line(f"s.c{number}[()] = max(s.c{number}[()] - 1, 0)")
        self.may_jump = bool(early)
        self.block()
        if not early:
            self.line(f"s.c{number}[()] = max(s.c{number}[()] - 1, 0)")
        self.may_jump, self.other = before
        self.depth -= 1

    def _do_while(self) -> None:
        self._loop("while do_while(s.c{}):")
        if self.choices.number(0, 4) == 0:
            self.line("else:")
            self.depth += 1
            self.note()
            self.depth -= 1

    def _while(self) -> None:
        self._loop("while s.c{}[()] > 0:")

    def _for(self) -> None:
        before = self.may_stop, self.may_jump
        self.may_stop, self.may_jump = False, True
        name = self.new("i")
        self.line(f"for {name} in range({self.choices.number(0, 2)}):")
        self.depth += 1
        self.block()
        self.depth -= 1
        self.may_stop, self.may_jump = before

    def _if(self) -> None:
        test = self.choices.pick([f"s.x[{self.choices.number(0, 3)}] > 3", "s.n > 4", "s.x[0] < 9"])
        self.line(f"if {test}:")
        self._nested()
        if self.choices.number(0, 1):
            self.line("else:")
            self._nested()

    def _static(self) -> None:
        self.line(f"if whorl.static({self.choices.pick(['True', 'False'])}):")
        self._nested()
        self.line("else:")
        self._nested()

    def _nested(self) -> None:
        self.depth += 1
        self.block()
        self.depth -= 1

    def _jump(self) -> None:
        self.line(f"if s.x[{self.choices.number(0, 3)}] > {self.choices.number(0, 9)}:")
        self.line(f"    {self.choices.pick(['break', 'continue'])}")

    def _call(self) -> None:
        """A function of its own, with all that a kernel has."""
        name = self.new("part")
        inner = Writer(
            self.choices, self.functions, level=self.level + 1, loops=self.loops,
            checkpoints=self.checkpoints, fresh=self.fresh, steps=self.steps, sure=["k0"],
            may_stop=self.may_stop, size=self.size,
        )  # fmt: skip
        inner.block()
        if self.choices.number(0, 1):
            inner.line("return k0 + 1")
        else:
            inner.line("return s.n")
        self.functions.append("\n".join([f"def {name}(s, k0):", *inner.lines, ""]))
        self.has_others |= inner.has_others
        for kept in ("loops", "checkpoints", "fresh", "steps", "size"):
            setattr(self, kept, getattr(inner, kept))
        base = self.choices.pick([*self.sure, "s.n"])
        if self.choices.number(0, 1):
            self.line(f"{name}(s, {base})")
        else:
            result = self.new("k")
            self.line(f"{result} = {name}(s, k0={base})")
            self.sure.append(result)

    def _checkpoint(self) -> None:
        number = self.checkpoints
        if number >= len(LABELS):
            self.note()
            return
        self.checkpoints += 1
        before, self.may_stop = self.may_stop, False
        self.line(f"with whorl.checkpoint({LABELS[number]}, yield_on=s.f{number}):")
        self.depth += 1
        self.block()
        self.line(f"if s.fuel[{number}] > 0:")
        self.line(f"    s.fuel[{number}] -= 1")
        self.line(f"    s.f{number}[()] = 1")
        self.depth -= 1
        self.may_stop = before


def graph_program(choices: Choices) -> GraphProgram:
    """A program, with at least one checkpoint."""
    writer = Writer(choices)
    writer.block()
    if not writer.checkpoints:
        writer._checkpoint()
    writer.note()
    body = "\n".join(["def program(s):", *writer.lines, ""])
    source = "\n".join([HEAD, *writer.functions, body])
    has_others = writer.has_others or re.search(r"\bm\d+\b", source) is not None
    return GraphProgram(source, writer.loops, writer.checkpoints, not has_others)
