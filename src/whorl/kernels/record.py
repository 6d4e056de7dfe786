"""The launch record: one array of 64-bit words through which a kernel is called.

    word 0      how many threads a parallel loop may use
    word 1      the address of the runtime's `parallel`, or 0
    word 2      the address of the function that prints
    word 3      0, or one more than the site that failed
    word 4-6    the values that the site's message shows
    word 7      the checkpoint to resume from, counted from one, or 0; afterwards the one at which
                the launch has yielded, or 0
    word 8-     the slots, in order: a number is one word; an array is its address, its extents,
                and, where the layout does not say them, its strides in bytes
    then        the results, one word each

Numbers stand in the low bits of their word. The layout is part of every artifact's ABI: what
changes it changes `ABI`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from .types import ArrayType, Scalar

__all__ = [
    "ABI",
    "CHECKPOINT",
    "ENTRY",
    "FIRST_SLOT",
    "PARALLEL",
    "PRINT",
    "STATUS",
    "THREADS",
    "lean_slots",
    "offsets",
    "words_of",
]

ABI: Final = 2
ENTRY: Final = "whorl_kernel"  # the name of the function that takes the record
THREADS: Final = 0
PARALLEL: Final = 1
PRINT: Final = 2
STATUS: Final = 3
CHECKPOINT: Final = 7
FIRST_SLOT: Final = 8


def words_of(type: Scalar | ArrayType) -> int:
    """How many words a slot takes.

    >>> words_of(ArrayType(Scalar("f", 64), 2, "C", writeable=True))
    3
    """
    if isinstance(type, Scalar):
        return 1
    return 1 + type.ndim * (2 if type.has_strides else 1)


def offsets(types: Sequence[Scalar | ArrayType]) -> tuple[list[int], int]:
    """The first word of each slot, and of the results."""
    found, at = [], FIRST_SLOT
    for type in types:
        found.append(at)
        at += words_of(type)
    return found, at


_LOADED: Final = re.compile(
    r"(%[\w.]+) = getelementptr inbounds i64, ptr %record, i64 (\d+)\n"
    r"  (%[\w.]+) = load [^,\n]+, ptr \1\n"
)
_NAME: Final = re.compile(r"%[\w.]+")


def lean_slots(text: str, types: Sequence[Scalar | ArrayType]) -> tuple[int, ...]:
    """The arrays of which a program uses nothing but the address, by its module's text.

    A launch does not look up their extents and strides, and leaves these words as they are.
    """
    used: set[int] = set()
    for body in text.split("\ndefine "):
        loaded = _LOADED.findall(body)
        names = Counter(_NAME.findall(body))
        places = Counter(place for place, _, _ in loaded)
        used.update(
            int(word) for place, word, value in loaded if names[value] > 1 or names[place] > 2
        )
        words = re.findall(r"ptr %record, i64 (\S+)", body)
        if len(words) != sum(places.values()):  # some are reached in another way
            used.update(_number(word) for word in words)
    first, _ = offsets(types)
    return tuple(
        number
        for number, (type, word) in enumerate(zip(types, first, strict=True))
        if isinstance(type, ArrayType)
        and used.isdisjoint(range(word + 1, word + words_of(type)))
        and -1 not in used
    )


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else -1
