"""A table while it is being made: its operations, its registers, and what it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.reads import Path, World
from whorl.reads.once import Once

from .member_places import Member, attribute_places
from .selector import ATTRIBUTE, SLOT, Mark, Parameters, mark_of
from .table_operations import KINDS, OP_WORDS
from .table_simplification import Fixed, Row

__all__ = ["ArrayRun", "NotNative", "SlotWords", "TableState"]


class NotNative(Exception):
    """A specialization with something that is not checked natively, and what that is."""


@dataclass(frozen=True, slots=True)
class SlotWords:
    """Where a slot goes in the record, and as what: "int", "float", "bool", "scalar", "array"."""

    kind: str
    word: int
    extents: int = 0  # of an array: `members.EXTENTS`, `STRIDES` or `BARE`


class ArrayRun(NamedTuple):
    """What arrays have in common that are checked in one loop."""

    kind: str
    place: int
    is_about: bool  # arguments, and nothing else
    dtype: int
    ndim: int
    flags: int
    extents: int


class TableState:
    """A table that is being made.

    Whatever can run code of the user comes `first`. What is loaded after that may be borrowed:
    nobody else runs until the launch is over, unless it lets other code run (`keeps`).
    """

    def __init__(
        self,
        world: World | Once,
        parameters: Parameters,
        given: frozenset[int],
        slots: Mapping[Path, SlotWords],
        *,
        keeps: bool,
    ) -> None:
        self.world = world
        self.parameters = parameters
        self.given = given  # the numbers of the parameters that are not left to defaults
        self.names = list(world.arguments)  # of all parameters but a label
        self.slots = slots
        self.keeps = keeps
        self.filled: set[Path] = set()  # slots
        self.before: list[Row] = []
        self.first: list[Row] = []
        self.then: list[Row] = []
        self.runs: dict[ArrayRun, list[bytes]] = {}
        self.fixed: Fixed = {}
        self.registers: dict[Path, int] = {}
        self.places: dict[tuple[Path, bool], int] = {}
        self.members: dict[Path, Member] = {}
        self.early: set[Path] = set()  # paths that are walked before code of the user may run
        self.modules: set[str] = set()
        self.lasting: set[int] = set()  # registers with what is hardly replaced by an equal object
        self.marks: dict[Mark, int] = {}
        self.marked: dict[Mark, tuple[int, int, int]] = {}  # where members with a mark are
        self.count = len(parameters.names)  # of registers
        self.references: list[Any] = []

    def op(
        self, kind: str, source: int = 0, target: int = 0, *rest: int, first: bool = False
    ) -> None:
        """One more operation."""
        (self.first if first else self.then).append(row(kind, source, target, *rest))

    def address(self, value: object) -> int:
        """The address of an object, which is then kept alive."""
        self.references.append(value)
        return id(value)

    def new(self, count: int = 1) -> int:
        """A new register; the first of so many."""
        self.count += count
        return self.count - count

    def mark(self, register: int, kind: int, number: int) -> None:
        """What an argument has in every call that fits."""
        if register in self.given:
            self.marks.setdefault(Mark(register, kind), number)

    def mark_member(self, path: Path, value: Any) -> None:
        """What a member of an argument has in every call that fits."""
        member = self.members.get(path)
        if member is None or path.root != "arg" or len(path.steps) != 1:
            return
        cls, argument = self.address(member.cls), self.names.index(path.name)
        if argument not in self.given:
            return
        name = self.address(member.name)
        if member.offset is not None:
            mark = Mark(argument, SLOT, cls, name)
            self.marked[mark] = (member.offset, 0, 0)
        else:
            mark = Mark(argument, ATTRIBUTE, cls, name)
            self.marked[mark] = (*attribute_places(member.cls), member.numbers)
        self.marks[mark] = mark_of(value)


def row(kind: str, source: int = 0, target: int = 0, *rest: int) -> Row:
    """The words of one operation."""
    return [KINDS[kind], source, target, *rest, *([0] * (OP_WORDS - 3 - len(rest)))]
