"""Links an object file into a flat image, which runs wherever it is mapped.

A compiler leaves a relocatable object: sections, symbols, and places to be filled in when it is
known where everything is. Here the sections are laid out one after the other and the places
filled in, so that a process only has to map the bytes. Calls to functions outside of the object
go through a table behind the code, which whoever maps the image fills.

What this cannot link exactly it refuses: the object can still be loaded by LLVM.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from whorl.fast_dataclasses import dataclass

from .image import EXTERNALS, PAGE, PYTHON, Image
from .numpy_api import NUMPY
from .outside_routines import ROUTINES
from .relocation import PROCESSORS, Fill, Processor, Unlinkable

__all__ = ["Unlinkable", "link"]

# The parts of the ELF format that are needed: names as in its specification.
_SHF_ALLOC: Final = 2
_SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS, _SHT_NOTE, _SHT_UNWIND = 2, 4, 8, 7, 0x70000001
_OUTSIDE: Final = EXTERNALS | PYTHON | NUMPY | ROUTINES


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    binding: int
    kind: int
    section: int
    value: int


def link(code: bytes) -> Image:
    """Link an object file of Linux, for x86-64 or aarch64, wherever it will run; `Unlinkable` for
    any other, and for what is unknown."""
    if len(code) < 64 or code[:6] != b"\x7fELF\x02\x01":
        raise Unlinkable("it is no 64-bit ELF object")
    processor = PROCESSORS.get(struct.unpack_from("<H", code, 18)[0])
    if processor is None:
        raise Unlinkable("it is for another processor than x86-64 and aarch64")
    sections = list(_sections(code))
    symbols = _symbols(code, sections)
    text, places = _laid_out(code, sections)
    relocations = list(_relocations(code, sections, symbols, places, processor))
    stubs, entries = _stubs(relocations, text, places, processor)
    table_at = _up(len(text), PAGE)
    names = list(entries)
    for name, place in stubs.items():
        processor.fill_stub(text, place, table_at + 8 * names.index(name))
    for each in relocations:
        target = _target(each, places, stubs, table_at, names)
        each.fill(text, each.at, target + each.addend)
    exports = {
        symbol.name: places[symbol.section] + symbol.value
        for symbol in symbols
        if symbol.binding == 1 and symbol.kind == 2 and symbol.section in places
    }
    return Image(bytes(text), exports, tuple(names))


def _up(size: int, to: int) -> int:
    return (size + to - 1) // to * to


def _sections(code: bytes) -> Iterator[_Section]:
    (at,) = struct.unpack_from("<Q", code, 40)
    size, count, _ = struct.unpack_from("<HHH", code, 58)
    for i in range(count):
        _, kind, flags, _, offset, length, link_, info, align, _ = struct.unpack_from(
            "<IIQQQQIIQQ", code, at + i * size
        )
        yield _Section(kind, flags, offset, length, link_, info, align)


def _symbols(code: bytes, sections: list[_Section]) -> list[_Symbol]:
    table = next((section for section in sections if section.kind == _SHT_SYMTAB), None)
    if table is None:
        raise Unlinkable("it has no symbols")
    names = sections[table.link].offset
    symbols = []
    for at in range(table.offset, table.offset + table.size, 24):
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, at)
        text = code[names + name : code.index(b"\0", names + name)].decode()
        symbols.append(_Symbol(text, info >> 4, info & 15, section, value))
    return symbols


def _laid_out(code: bytes, sections: list[_Section]) -> tuple[bytearray, dict[int, int]]:
    """The sections that are needed at run time, one after the other, and where each is."""
    text = bytearray()
    places: dict[int, int] = {}
    for number, section in enumerate(sections):
        if not section.flags & _SHF_ALLOC or not section.size:
            continue
        if section.kind in (_SHT_NOTE, _SHT_UNWIND):
            continue
        if section.kind == _SHT_NOBITS or section.flags & 1:
            raise Unlinkable("it has data that is written to")
        text += bytes(-len(text) % max(section.align, 1))
        places[number] = len(text)
        text += code[section.offset : section.offset + section.size]
    return text, places


@dataclass(frozen=True, slots=True)
class _Relocation:
    at: int
    fill: Fill
    by_table: bool
    symbol: _Symbol
    addend: int


def _relocations(
    code: bytes,
    sections: list[_Section],
    symbols: list[_Symbol],
    places: dict[int, int],
    processor: Processor,
) -> Iterator[_Relocation]:
    for section in sections:
        if section.kind != _SHT_RELA or section.info not in places:
            continue
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", code, at)
            kind, symbol = info & 0xFFFFFFFF, symbols[info >> 32]
            by_table = kind in processor.by_table
            fill = (processor.by_table if by_table else processor.direct).get(kind)
            if fill is None:
                raise Unlinkable(f"it has a relocation of kind {kind}")
            if symbol.section == 0 and symbol.name not in _OUTSIDE:
                raise Unlinkable(f"it needs {symbol.name}, which is no function of the C library")
            if symbol.section and symbol.section not in places:
                raise Unlinkable(f"it refers to {symbol.name}, which is not part of it")
            yield _Relocation(places[section.info] + offset, fill, by_table, symbol, addend)


def _stubs(
    relocations: list[_Relocation], text: bytearray, places: dict[int, int], processor: Processor
) -> tuple[dict[str, int], dict[str | int, None]]:
    """A jump for each outside function that is called; the entries of the table."""
    stubs: dict[str, int] = {}
    entries: dict[str | int, None] = {}
    for each in relocations:
        symbol = each.symbol
        if each.by_table:
            entries[_entry(symbol, places)] = None
        elif symbol.section == 0 and symbol.name not in stubs:
            text += bytes(-len(text) % 16)
            stubs[symbol.name] = len(text)
            text += bytes(processor.stub_size)
            entries[symbol.name] = None
    return stubs, entries


def _entry(symbol: _Symbol, places: dict[int, int]) -> str | int:
    return places[symbol.section] + symbol.value if symbol.section else symbol.name


def _target(
    each: _Relocation,
    places: dict[int, int],
    stubs: dict[str, int],
    table_at: int,
    names: list[str | int],
) -> int:
    symbol = each.symbol
    if each.by_table:
        return table_at + 8 * names.index(_entry(symbol, places))
    if symbol.section == 0:
        return stubs[symbol.name]
    return places[symbol.section] + symbol.value
