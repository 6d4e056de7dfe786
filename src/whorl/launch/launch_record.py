"""The launch record: one array of 64-bit words through which a kernel is called.

    word 0      how many threads a parallel loop may use
    word 1      the address of the runtime's `parallel`, or 0
    word 2      the address of the function that prints, and makes arrays that are returned
    word 3      0, or one more than the site that failed, or -1: the handler of a signal has raised
    word 4-6    the values that the site's message shows, or in word 4 the address of memory with
                more than three; or type, value and traceback of what was raised
    word 7      the checkpoint to resume from, counted from one, or 0; afterwards the one at which
                the launch has yielded, or 0
    word 8-     the slots, in order: a number is one word, a complex128 two; an array is its
                address, its extents, and, where the layout does not say them, its strides in bytes
    then        the numbers that are returned, one word each, a complex128 two
    then        the arrays that the kernel makes to return them: objects, one word each

Numbers stand in the low bits of their word. The layout is part of every artifact's ABI: what
changes it changes `ABI`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .slot_types import ArrayType, Scalar

ABI: Final = 4
ENTRY: Final = "whorl_kernel"  # the name of the function that takes the record
THREADS: Final = 0
PARALLEL: Final = 1
PRINT: Final = 2
STATUS: Final = 3
STATUS_VALUES: Final = 3  # words for the values of a message
INTERRUPTED: Final = -1  # a status
CHECKPOINT: Final = 7
FIRST_SLOT: Final = 8


def words_of(type: Scalar | ArrayType) -> int:
    """How many words a slot takes.

    >>> words_of(ArrayType(Scalar("f", 64), 2, "C", writeable=True))
    3
    """
    if isinstance(type, Scalar):
        return 2 if type.bits > 64 else 1
    return 1 + type.ndim * (2 if type.has_strides else 1)


def offsets(types: Sequence[Scalar | ArrayType]) -> tuple[list[int], int]:
    """The first word of each slot, and of the results."""
    starts, at = [], FIRST_SLOT
    for type in types:
        starts.append(at)
        at += words_of(type)
    return starts, at


def format_of(type: Scalar | ArrayType) -> str:
    """How a slot is packed, in the language of `struct`."""
    if isinstance(type, ArrayType):
        return "q" * words_of(type)
    return {
        ("f", 64): "d", ("f", 32): "f4x", ("b", 8): "?7x", ("u", 64): "Q",
        ("c", 64): "ff", ("c", 128): "dd",
    }.get((type.kind, type.bits), "q")  # fmt: skip


RESULTS: Final = {
    ("f", 32): "f4x", ("f", 64): "d", ("b", 8): "?7x", ("c", 64): "ff", ("c", 128): "dd",
    ("i", 8): "b7x", ("i", 16): "h6x", ("i", 32): "i4x", ("i", 64): "q",
    ("u", 8): "B7x", ("u", 16): "H6x", ("u", 32): "I4x", ("u", 64): "Q",
}  # fmt: skip
"""How a result is unpacked, by its kind and its bits."""
