"""The text of one LLVM module while it is written, and what is known of its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whorl.kernels import ir
from whorl.kernels.ir_walk import statements_of
from whorl.kernels.types import ArrayType
from whorl.launch.launch_record import offsets, words_of

from .long_loops import LongLoops

__all__ = ["Module"]


class Module:
    """The functions of one kernel, and the declarations they need.

    `statements` is the table by which the parts of a statement are written in turn: it comes from
    above, so that no emitter imports another that imports it.
    """

    def __init__(
        self,
        function: ir.Function,
        statements: Mapping[type, Callable[..., None]],
        *,
        fuses: bool = False,
    ) -> None:
        self.function = function
        self.fuses = fuses  # whether the processor multiplies and adds in one step
        self.statements = statements
        self.loops = LongLoops(function)
        self.flags = "".join(f" {flag}" for flag in function.fastmath)  # of operations on floats
        self.slot_words, self.result_word = offsets([slot.type for slot in function.slots])
        self.functions: list[str] = []  # their texts
        self.last = ""  # the text of functions that stand behind all others
        self._begun: set[str] = set()
        self._declarations: dict[str, str] = {}
        self._words: set[tuple[int, int]] = set()  # of slots, that are used
        self._metadata: list[str] = []
        self._scopes: dict[int, str] = {}
        self.allocates = any(
            isinstance(each, ir.Allocate) and each.result < 0 for each in statements_of(function)
        )

    @property
    def polls(self) -> bool:
        """Whether loops take notice of signals."""
        return self.loops.exist

    @property
    def can_stop(self) -> bool:
        """Whether a launch may stop before its end."""
        return self.polls or bool(self.function.sites)

    @property
    def has_state(self) -> bool:
        """Whether each thread has a state: for signals, or for the memory that it allocates."""
        return self.polls or self.allocates

    def scope(self, number: int) -> str:
        """The list that consists of one scope of elements, by its number in the program."""
        if number not in self._scopes:
            domain, scope, scopes = (f"!{len(self._metadata) + i}" for i in range(3))
            self._metadata += [
                f"{domain} = distinct !{{{domain}}}",
                f"{scope} = distinct !{{{scope}, {domain}}}",
                f"{scopes} = !{{{scope}}}",
            ]
            self._scopes[number] = scopes
        return self._scopes[number]

    def note_of_rare_loop(self) -> str:
        """Metadata for the end of a loop that hardly ever runs: it is neither unrolled nor
        interleaved."""
        loop, unroll, count = (f"!{len(self._metadata) + i}" for i in range(3))
        self._metadata += [
            f"{loop} = distinct !{{{loop}, {unroll}, {count}}}",
            f'{unroll} = !{{!"llvm.loop.unroll.disable"}}',
            f'{count} = !{{!"llvm.loop.interleave.count", i32 1}}',
        ]
        return f", !llvm.loop {loop}"

    def declare(self, name: str, result: str, *arguments: str) -> str:
        """Declare a function without effects: an intrinsic, or one of the C library."""
        attributes = "" if name.startswith("llvm.") else " nounwind willreturn memory(none)"
        self.declare_as(name, f"declare {result} @{name}({', '.join(arguments)}){attributes}")
        return name

    def declare_as(self, name: str, text: str) -> None:
        """Declare a function of another module by its text."""
        self._declarations[name] = text

    def begins(self, name: str) -> bool:
        """Whether a function is to be written now: this is the first to ask for it."""
        is_new = name not in self._begun
        self._begun.add(name)
        return is_new

    def use_word(self, slot: ir.Slot, number: int) -> None:
        """Take note that the code uses a word of a slot."""
        self._words.add((slot.index, number))

    @property
    def lean_slots(self) -> list[int]:
        """The arrays of which the code uses nothing but the address.

        A launch does not look up their extents and strides, and leaves these words as they are.
        """
        return [
            slot.index
            for slot in self.function.slots
            if isinstance(slot.type, ArrayType)
            and not any((slot.index, i) in self._words for i in range(1, words_of(slot.type)))
        ]

    def text(self) -> str:
        """The module."""
        parts = [*self._declarations.values(), *self.functions, self.last, *self._metadata]
        return "\n".join([*parts, ""])
