"""Relocations: how the places of an object are filled in, by a table for each processor.

A place is given where it is and what it stands for, both counted from the start of the image. An
image begins at a page, so that the lower 12 bits of a number are also those of the address.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final

from whorl.fast_dataclasses import NamedTuple

__all__ = ["PROCESSORS", "Processor", "Unlinkable"]


class Unlinkable(Exception):
    """An object that has something in it which is not known here."""


Fill = Callable[[bytearray, int, int], None]
"""Fills in the place at a number with what stands for another number."""


class Processor(NamedTuple):
    """How code of a processor refers to what is elsewhere: ways of filling in, by their number."""

    direct: Mapping[int, Fill]  # to a place in the image; outside functions get a stub for that
    by_table: Mapping[int, Fill]  # to an entry of the table, which holds the address
    stub_size: int
    fill_stub: Fill  # a jump to what an entry of the table holds


def _distance(text: bytearray, at: int, to: int) -> None:
    struct.pack_into("<i", text, at, to - at)


def _long_distance(text: bytearray, at: int, to: int) -> None:
    struct.pack_into("<q", text, at, to - at)


# -- x86-64 -----------------------------------------------------------------------------


def _x86_stub(text: bytearray, at: int, entry: int) -> None:
    struct.pack_into("<2si", text, at, b"\xff\x25", entry - (at + 6))  # jmp *[rip + displacement]


_X86: Final = Processor(
    direct={2: _distance, 4: _distance},  # PC32, PLT32
    by_table={9: _distance, 41: _distance, 42: _distance},  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
    stub_size=8,
    fill_stub=_x86_stub,
)


# -- aarch64 ----------------------------------------------------------------------------
#
# An instruction has four bytes. An address is put together by two: ADRP gives the page of 4 KiB,
# and an addition, a load or a store the place in it.


def _put(text: bytearray, at: int, mask: int, bits: int) -> None:
    """Set bits of an instruction."""
    (instruction,) = struct.unpack_from("<I", text, at)
    struct.pack_into("<I", text, at, (instruction & ~mask) | bits)


def _branch(text: bytearray, at: int, to: int) -> None:
    steps, rest = divmod(to - at, 4)
    if rest or not -(1 << 25) <= steps < 1 << 25:
        raise Unlinkable("it has a branch that goes too far")
    _put(text, at, 0x03FFFFFF, steps & 0x03FFFFFF)


def _page(text: bytearray, at: int, to: int) -> None:
    pages = (to >> 12) - (at >> 12)
    _put(text, at, 0x60FFFFE0, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)


def _in_page(size: int) -> Fill:
    """The place in the page, counted in what is loaded or stored at once."""

    def fill(text: bytearray, at: int, to: int) -> None:
        place, rest = divmod(to & 0xFFF, size)
        if rest:
            raise Unlinkable("it loads from a place that is not aligned")
        _put(text, at, 0xFFF << 10, place << 10)

    return fill


def _arm_stub(text: bytearray, at: int, entry: int) -> None:
    struct.pack_into("<3I", text, at, 0x90000010, 0xF9400211, 0xD61F0220)
    _page(text, at, entry)  # adrp x16, entry
    _in_page(8)(text, at + 4, entry)  # ldr x17, [x16, entry]
    # br x17: these two registers are for stubs


_ARM: Final = Processor(
    direct={
        260: _long_distance,  # PREL64
        261: _distance,  # PREL32
        275: _page,  # ADR_PREL_PG_HI21
        277: _in_page(1),  # ADD_ABS_LO12_NC
        278: _in_page(1),  # LDST8_ABS_LO12_NC, and the wider ones
        284: _in_page(2),
        285: _in_page(4),
        286: _in_page(8),
        299: _in_page(16),
        282: _branch,  # JUMP26
        283: _branch,  # CALL26
    },
    by_table={311: _page, 312: _in_page(8)},  # ADR_GOT_PAGE, LD64_GOT_LO12_NC
    stub_size=12,
    fill_stub=_arm_stub,
)

PROCESSORS: Final[Mapping[int, Processor]] = {62: _X86, 183: _ARM}
"""Processors by their number in the head of an ELF file."""
