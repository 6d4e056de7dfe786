"""A table while it is being made: operations, registers, references; and its simplification."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias

from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.reads import Path, World
from whorl.reads.world import Once

from .layout_search import object_layout
from .member_places import Member, attribute_places
from .selector import ATTRIBUTE, SLOT, Mark, Parameters, mark_of
from .table_operations import KINDS, OP_WORDS

# Simplifies a table: the same checks, with less to load.
#
# A global that has to be the very object it was needs no register: it is enough to see that its
# name still leads there. What else is checked of such an object is checked where it lies, and all
# such words one after the other in one operation.


ALL_BITS: Final = (1 << 64) - 1
HALF: Final = (1 << 32) - 1

Fixed: TypeAlias = dict[tuple[int, int], int]
"""Words that have to be as they were: the address and the mask of each, and what is there."""

Row: TypeAlias = list[int]

_SAME, _CLASS, _TYPE, _CODE = (KINDS[name] for name in ("SAME", "CLASS", "TYPE", "CODE"))


def simplify(first: list[Row], then: list[Row], fixed: Fixed, loaded: AbstractSet[int]) -> None:
    """Let globals that have to be the same object not be loaded; what they need else is fixed.

    `loaded` are registers that others than these operations look into.
    """
    uses = Counter(row[1] for row in (*first, *then))
    uses.update(row[4] for row in (*first, *then) if row[0] == KINDS["EQUAL"])
    by_register: dict[int, list[Row]] = {}
    for row in then:
        by_register.setdefault(row[1], []).append(row)
    done: set[int] = set()
    for number, row in enumerate(first):
        kind, _, register, scope, key, place, *_ = row
        checks = by_register.get(register, [])
        objects = {check[3] for check in checks if check[0] == _SAME}
        if kind != KINDS["GLOBAL"] or register in loaded or len(objects) != 1:
            continue
        (address,) = objects
        words: Fixed = {}
        if len(checks) != uses[register] or not all(_fix(row, address, words) for row in checks):
            continue
        if any(fixed.get(at, word) != word for at, word in words.items()):
            continue  # what contradicts itself is left to fail as it did
        fixed.update(words)
        stays = [KINDS["STAYS"], 0, 0, scope, key, address, place]
        first[number] = stays + [0] * (OP_WORDS - len(stays))
        done.update(id(check) for check in checks)
    then[:] = [row for row in then if id(row) not in done]


def _fix(check: Row, address: int, words: Fixed) -> bool:
    """Replace a check of an object by checks of words at fixed addresses; whether that can be."""
    at = object_layout()
    kind, _, _, a, b, *_ = check
    if kind == _SAME:
        return True
    if kind in (_TYPE, _CLASS):
        words[address + at.type, ALL_BITS] = a
        if kind == _CLASS:
            words[a + at.type_version, HALF] = b
        return True
    if kind == _CODE and b == id(types.FunctionType):  # which no function ceases to be
        words[address + at.function_code, ALL_BITS] = a
        return True
    return False


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
