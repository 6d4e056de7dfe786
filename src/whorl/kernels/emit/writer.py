"""Writes the text of one LLVM function: instructions, basic blocks, variables, the launch record.

Variables are stack slots: LLVM turns them into registers. Slots of the launch record are read
once, where the function begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whorl.kernels import ir
from whorl.kernels.types import Scalar
from whorl.launch.launch_record import STATUS, STATUS_VALUES, words_of

from .llvm_types import INLINED, llvm_type, memory_type
from .module import Module

__all__ = ["FunctionWriter"]


class FunctionWriter:
    """One function that is being written. It returns nothing, and its record is `%record`."""

    def __init__(
        self, module: Module, name: str, arguments: str, *,
        linkage: str = "internal ", result: str = "void", atomic: bool = True,
        attributes: str = INLINED,
    ) -> None:  # fmt: skip
        self.module = module
        self._head = f"define {linkage}{result} @{name}({arguments}) {attributes} {{"
        self.atomic = atomic  # whether other threads may run the same code
        self.targets: dict[
            str, tuple[str, str]
        ] = {}  # label of a loop: its end, its next iteration
        self.checkpoints: dict[ir.CheckpointLabel, tuple[int, str]] = {}  # their numbers and labels
        self.state = "%state"  # what the thread knows of signals, see `polling`
        self.is_paced = False  # whether the caller measures how long its iterations take
        self.depth = 0  # how many loops of this function are around
        self.is_open = True  # whether the basic block has not ended
        self.exit: Callable[[], None] | None = None  # what it does last, however it ends
        self._lines: list[str] = []
        self._allocas: list[str] = []
        self._places: dict[ir.Local, str] = {}
        self._slots: dict[tuple[int, int], str] = {}
        self._numbers = 0

    # -- instructions -------------------------------------------------------------------

    def fresh(self, name: str = "") -> str:
        """A name that nothing else has."""
        self._numbers += 1
        return f"{name}.{self._numbers}"

    def let(self, text: str) -> str:
        """An instruction with a result."""
        name = "%" + self.fresh("v")
        self.do(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without one."""
        self._lines.append(f"  {text}")

    def call(self, name: str, type: str, *args: str, flags: str = "") -> str:
        """A call of a function of numbers of one type, which is declared."""
        self.module.declare(name, type, *[type] * len(args))
        return self.let(f"call{flags} {type} @{name}({', '.join(f'{type} {arg}' for arg in args)})")

    def alloca(self, type: str, name: str) -> str:
        """A place on the stack."""
        place = f"%{''.join(c if c.isalnum() and c.isascii() else '_' for c in name)}{self.fresh()}"
        self._allocas.append(f"  {place} = alloca {type}")
        return place

    def finish(self) -> None:
        """Add the function to the module."""
        if self.is_open:
            self.leave()
        if self.exit is not None:
            self.open("exit")
            self.exit()
            self.end("ret void")
        lines = [self._head, "entry:", *self._allocas, *self._lines, "}"]
        self.module.functions.append("\n".join(lines))

    # -- basic blocks -------------------------------------------------------------------

    def open(self, label: str) -> None:
        """Begin a basic block after one that has ended."""
        self._lines.append(f"{label}:")
        self.is_open = True

    def mark(self, label: str) -> None:
        """Begin a basic block; the one before goes on with it."""
        self.jump(label)
        self.open(label)

    def jump(self, label: str, note: str = "") -> None:
        """End a basic block, if it has not ended; `note` is metadata."""
        if self.is_open:
            self.end(f"br label %{label}{note}")

    def branch(self, test: str, yes: str, no: str, note: str = "") -> None:
        """End a basic block by a test; `note` is metadata."""
        self.end(f"br i1 {test}, label %{yes}, label %{no}{note}")

    def leave(self) -> None:
        """End a basic block by leaving the function."""
        self.end("ret void" if self.exit is None else "br label %exit")

    def end(self, text: str) -> None:
        """End a basic block by an instruction."""
        self.do(text)
        self.is_open = False

    @contextmanager
    def only_if(self, test: str, name: str = "then", *, holds: bool = True) -> Iterator[None]:
        """Write what runs only if a test holds, or only if it does not."""
        inside, after = self.fresh(name), self.fresh("after")
        self.branch(test, *((inside, after) if holds else (after, inside)))
        self.open(inside)
        yield
        self.mark(after)

    @contextmanager
    def loop(self) -> Iterator[Callable[[str], None]]:
        """Write a loop: what comes to its test, a call with that test, and then its body."""
        head, body, end = map(self.fresh, ("head", "body", "end"))

        def go_on_if(test: str) -> None:
            self.branch(test, body, end)
            self.open(body)

        self.mark(head)
        yield go_on_if
        self.jump(head)
        self.open(end)

    def loop_body(self, label: str, end: str, next: str, body: ir.Block) -> None:
        """The statements of a loop; a jump leads to its end, or to its next iteration."""
        self.targets[label] = (end, next)
        self.depth += 1
        self.block(body)
        self.depth -= 1

    def block(self, block: ir.Block) -> None:
        """Statements in order; what cannot be reached is left out."""
        for statement in block:
            if not self.is_open:
                return
            self.module.statements[type(statement)](self, statement)

    # -- the record ---------------------------------------------------------------------

    def load_slots(self) -> None:
        """Read all slots of the record."""
        for slot, first in zip(self.module.function.slots, self.module.slot_words, strict=True):
            if isinstance(slot.type, Scalar):
                self._slots[slot.index, 0] = self.load(slot.type, self.word(first))
                continue
            self._slots[slot.index, 0] = self.let(f"load ptr, ptr {self.word(first)}")
            for i in range(1, words_of(slot.type)):
                self._slots[slot.index, i] = self.let(f"load i64, ptr {self.word(first + i)}")

    def slot(self, slot: ir.Slot, number: int = 0) -> str:
        """What a slot holds: the number, or a word of the array."""
        self.module.use_word(slot, number)
        return self._slots[slot.index, number]

    def word(self, number: int) -> str:
        """The address of a word of the record."""
        return self.let(f"getelementptr inbounds i64, ptr %record, i64 {number}")

    # -- memory and variables -----------------------------------------------------------

    def load(self, type: Scalar, address: str, note: str = "") -> str:
        """A number from memory; `note` is metadata of the instruction."""
        if type.is_complex:
            parts = [self.load(type.part, place, note) for place in self.part_places(type, address)]
            return self.joined(type, *parts)
        value = self.let(f"load {memory_type(type)}, ptr {address}{note}")
        return self.let(f"icmp ne i8 {value}, 0") if type.kind == "b" else value

    def store(self, type: Scalar, value: str, address: str, note: str = "") -> None:
        """A number into memory; `note` is metadata of the instruction."""
        if type.is_complex:
            places = self.part_places(type, address)
            for part, place in zip(self.split(type, value), places, strict=True):
                self.store(type.part, part, place, note)
            return
        if type.kind == "b":
            value = self.let(f"zext i1 {value} to i8")
        self.do(f"store {memory_type(type)} {value}, ptr {address}{note}")

    def part_places(self, type: Scalar, address: str) -> tuple[str, str]:
        """Where the real and the imaginary part of a complex number in memory are."""
        part = llvm_type(type.part)
        return address, self.let(f"getelementptr inbounds {part}, ptr {address}, i64 1")

    def joined(self, type: Scalar, real: str, imaginary: str) -> str:
        """A complex number of its parts."""
        whole, part = llvm_type(type), llvm_type(type.part)
        first = self.let(f"insertvalue {whole} poison, {part} {real}, 0")
        return self.let(f"insertvalue {whole} {first}, {part} {imaginary}, 1")

    def split(self, type: Scalar, value: str) -> tuple[str, str]:
        """The parts of a complex number."""
        first, second = (self.let(f"extractvalue {llvm_type(type)} {value}, {i}") for i in range(2))
        return first, second

    def place(self, local: ir.Local) -> str:
        """The address of a variable."""
        if local not in self._places:
            self._places[local] = self.alloca(llvm_type(local.type), local.name)
        return self._places[local]

    def get(self, local: ir.Local) -> str:
        """What a variable holds."""
        if isinstance(local.type, Scalar) and local.type.is_complex:
            return self.load(local.type, self.place(local))
        return self.let(f"load {llvm_type(local.type)}, ptr {self.place(local)}")

    def set(self, local: ir.Local, value: str) -> None:
        """Set a variable."""
        if isinstance(local.type, Scalar) and local.type.is_complex:
            self.store(local.type, value, self.place(local))
            return
        self.do(f"store {llvm_type(local.type)} {value}, ptr {self.place(local)}")

    # -- the end of a launch ------------------------------------------------------------

    def fail_unless(self, test: str, site: int, values: tuple[str, ...]) -> None:
        """Leave the function where a test does not hold."""
        with self.only_if(test, "fail", holds=False):
            self.fail(site, values)

    def fail(self, site: int, values: tuple[str, ...]) -> None:
        """Put into the record which site failed, if it is the first, and leave."""
        status = self.word(STATUS)
        first = self.let(f"cmpxchg ptr {status}, i64 0, i64 {site + 1} monotonic monotonic")
        with self.only_if(self.let(f"extractvalue {{ i64, i1 }} {first}, 1"), "first"):
            self._store_values(values)
        self.leave()

    def _store_values(self, values: tuple[str, ...]) -> None:
        """Put the values that the message of an error shows into the record: more than there are
        words for into memory that whoever raises the error frees."""
        if len(values) <= STATUS_VALUES:
            for i, value in enumerate(values):
                self.do(f"store i64 {value}, ptr {self.word(STATUS + 1 + i)}")
            return
        self.module.declare_as("malloc", "declare noalias ptr @malloc(i64)")
        memory = self.let(f"call noalias ptr @malloc(i64 {8 * len(values)})")
        self.do(f"store ptr {memory}, ptr {self.word(STATUS + 1)}")
        with self.only_if(self.let(f"icmp ne ptr {memory}, null"), "more"):
            for i, value in enumerate(values):
                place = self.let(f"getelementptr inbounds i64, ptr {memory}, i64 {i}")
                self.do(f"store i64 {value}, ptr {place}")

    def leave_if_failed(self) -> None:
        """Leave the function if a part of a parallel loop, or a subroutine, has failed."""
        if not self.module.can_stop:
            return
        status = self.let(f"load atomic i64, ptr {self.word(STATUS)} monotonic, align 8")
        with self.only_if(self.let(f"icmp eq i64 {status}, 0"), "out", holds=False):
            self.leave()
