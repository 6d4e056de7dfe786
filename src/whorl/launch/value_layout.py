"""Finds where builtin values keep what they hold: numbers, texts, bytes, lists, tuples.

As everywhere, offsets are looked for in values that are known, and checked in others. Nothing here
imports NumPy.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

from whorl.fast_dataclasses import dataclass

from .callable import Marked, NotKnown, class_layout, offset_of, words_of
from .object_layout import INT_DIGIT, INT_SIZE
from .probed_memory import ProbedMemory


@dataclass(frozen=True, slots=True)
class ValueLayout:
    """Offsets in bytes, from the beginning of a value."""

    type: int  # of every object
    float_value: int
    complex_value: int
    list_size: int
    list_items: int  # the address of the first item
    tuple_size: int
    tuple_items: int
    bytes_size: int
    bytes_data: int
    text_size: int
    text_state: int  # half a word
    text_bits: int  # where in it: three bits of kind, then compact, then ASCII
    ascii_data: int
    wide_data: int  # of a text that is not ASCII
    ints: str  # "sized" or "tagged": see `int_kind`

    @property
    def name(self) -> str:
        """What stands for this layout in a key."""
        return ",".join(str(getattr(self, field)) for field in self.__slots__)


def value_layout() -> ValueLayout:
    """Where builtin values keep what they hold; `NotKnown` if it is not as expected."""
    class_layout()
    if sys.version_info >= (3, 16):
        raise NotKnown("this Python is newer than what is known")
    ints = int_kind()
    if not ints:
        raise NotKnown("an int is not laid out as expected")
    memory = ProbedMemory()
    try:
        layout = ValueLayout(
            type=offset_of(Marked(), id(Marked), "the class of an object"),
            float_value=offset_of(1.2345e67, _bits(1.2345e67), "a float's value"),
            complex_value=offset_of(1.2345e67 + 2j, _bits(1.2345e67), "a complex's value"),
            list_size=offset_of([None] * 54321, 54321, "the length of a list"),
            list_items=_list_items(memory),
            tuple_size=offset_of((Marked,) * 321, 321, "the length of a tuple"),
            tuple_items=items_offset(),
            bytes_size=_place(bytes(3210), (3210).to_bytes(8, "little"), memory),
            bytes_data=_place(b"whorl sample", b"whorl sample\0", memory),
            text_size=_place("w" * 3210, (3210).to_bytes(8, "little"), memory),
            ascii_data=_place("whorl sample", b"whorl sample\0", memory),
            wide_data=_place("whorl s\xe4mple", b"whorl s\xe4mple\0", memory),
            **_text_state(memory),
            ints=ints,
        )
        _check(layout, memory)
    finally:
        memory.close()
    return layout


def _bits(number: float) -> int:
    return ctypes.c_int64.from_buffer_copy(ctypes.c_double(number)).value


def _place(value: Any, content: bytes, memory: ProbedMemory) -> int:
    """Where a value has these bytes."""
    place = memory.bytes(id(value), value.__sizeof__()).find(content, object.__basicsize__)
    if place < 0 or place % 8:
        raise NotKnown(f"what a {type(value).__name__} holds is not found in it")
    return place


def _list_items(memory: ProbedMemory) -> int:
    samples: tuple[list[Any], ...] = ([Marked, NotKnown], [NotKnown, Marked, None])
    for place in range(object.__basicsize__, list.__basicsize__, 8):
        try:
            found = [memory.words(memory.word(id(each) + place), len(each)) for each in samples]
        except NotKnown:  # no address is there
            continue
        if found == [tuple(map(id, each)) for each in samples]:
            return place
    raise NotKnown("the items of a list are not found in it")


_TEXTS: Final = {
    "whorl": (1, 1), "": (1, 1), "whorl\xe4": (1, 0), "\xe4": (1, 0), "whorl\u0436": (2, 0),
    "\ud800": (2, 0), "whorl\U0001f600": (4, 0), "\U0001f600": (4, 0),
}  # fmt: skip
"""Texts, the bytes of a character in each, and whether they are ASCII."""


def _text_state(memory: ProbedMemory) -> dict[str, int]:
    """Where a text says how it is laid out."""
    for place in range(object.__basicsize__ + 8, 48, 4):
        for bits in range(25):
            if all(
                memory.half(id(text) + place) >> bits & 31 == kind | 8 | is_ascii << 4
                for text, (kind, is_ascii) in _TEXTS.items()
            ):
                return {"text_state": place, "text_bits": bits}
    raise NotKnown("how a text is laid out is not found in it")


def _check(at: ValueLayout, memory: ProbedMemory) -> None:
    """See that other values are read right."""
    texts = ("", "a", "text of another length", "\xff" * 7, "\u20ac and more", "\U0001f600!" * 3)
    for text in texts:
        kind = memory.half(id(text) + at.text_state) >> at.text_bits & 31
        data = at.ascii_data if text.isascii() else at.wide_data
        form = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind & 7]
        content = text.encode(form)
        if memory.word(id(text) + at.text_size) != len(text):
            raise NotKnown("the length of a text is not where it should be")
        if content and memory.bytes(id(text) + data, len(content)) != content:
            raise NotKnown("what a text holds is not where it should be")
    for run in (b"", b"x", bytes(range(256))):
        if memory.word(id(run) + at.bytes_size) != len(run) or (
            run and memory.bytes(id(run) + at.bytes_data, len(run)) != run
        ):
            raise NotKnown("what bytes hold is not where it should be")
    grown: list[object] = []
    for each in (Marked, 2.5, "x", None, NotKnown):
        grown.append(each)  # so that there is more memory than items
    first = memory.word(id(grown) + at.list_items)
    if memory.word(id(grown) + at.list_size) != 5 or (
        memory.words(first, 5) != tuple(map(id, grown))
    ):
        raise NotKnown("the items of a list are not where they should be")
    thing = Marked()
    before, more = memory.half(id(thing)), [thing] * 5
    if before != 1 or memory.half(id(thing)) != len(more) + 1:
        raise NotKnown("references are not counted where they should be")


_INTS: Final = (0, 1, -1, 5, -7, 2**15, 2**30 - 1, 1 - 2**30, 2**30, -(2**30), 2**62, -(2**63))


def int_kind() -> str:
    """How an int says how large it is: by a signed count of digits, or by a tag."""
    if sys.int_info.bits_per_digit != 30 or sys.int_info.sizeof_digit != 4:
        return ""
    for kind in ("sized", "tagged"):
        if all(
            _small_int(value, kind) == (value if -(2**30) < value < 2**30 else None)
            for value in _INTS
        ):
            return kind
    return ""


def _small_int(value: int, kind: str) -> int | None:
    """An int of at most one digit as the launcher reads it; None for others."""
    size = ctypes.c_int64.from_address(id(value) + INT_SIZE).value
    digit = ctypes.c_uint32.from_address(id(value) + INT_DIGIT).value if value else 0
    if kind == "sized":
        return size * digit if -1 <= size <= 1 else None
    return (1 - (size & 3)) * digit if 0 <= size < 16 else None


def items_offset() -> int:
    """Where the items of a tuple begin."""
    samples = (Marked, NotKnown), (NotKnown, Marked, None)
    for place in range(len(words_of(samples[0]))):
        items = [words_of(sample)[place : place + len(sample)] for sample in samples]
        if items == [[id(item) for item in sample] for sample in samples]:
            return place * 8
    raise NotKnown("the items of a tuple are not found in it")
