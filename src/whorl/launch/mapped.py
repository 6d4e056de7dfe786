"""An image in, its functions' addresses out: memory that can be run, and no longer written."""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .image import EXTERNALS, PAGE, PYTHON, Image

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Mapped", "Unmappable", "map_image"]

_READ, _WRITE, _RUN = 1, 2, 4


class Unmappable(Exception):
    """An image that this system does not let run, or that needs what is not here."""


class Mapped:
    """An image in memory. It stays there as long as this object.

    There is no `__del__`: those of a cycle run in any order, and another may still call the code.
    """

    def __init__(self, memory: object, base: int, exports: dict[str, int]) -> None:
        self._memory = memory
        self.addresses = {name: base + place for name, place in exports.items()}


def map_image(image: Image, outside: Mapping[str, int] = MappingProxyType({})) -> Mapped:
    """Put an image into memory, fill its table, and let it run.

    `outside` has the addresses of what is neither of the C library nor of Python.
    """
    if sys.platform != "linux":
        raise Unmappable("images are for Linux")
    library = _library()
    table_size = (8 * len(image.table) + PAGE - 1) // PAGE * PAGE
    size = image.table_at + table_size
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, _READ | _WRITE)
    except (OSError, ValueError):
        raise Unmappable("there is no memory for it") from None
    held = ctypes.c_char.from_buffer(memory)
    base = ctypes.addressof(held)
    made = Mapped(held, base, image.exports)
    ctypes.memmove(base, image.text, len(image.text))
    values = [
        base + entry if isinstance(entry, int) else outside.get(entry) or _address(entry)
        for entry in image.table
    ]
    ctypes.memmove(base + image.table_at, struct.pack(f"<{len(values)}Q", *values), 8 * len(values))
    if library.mprotect(base, image.table_at, _READ | _RUN):
        raise Unmappable("this system lets no memory run that was written to")
    if table_size and library.mprotect(base + image.table_at, table_size, _READ):
        raise Unmappable("this system does not protect memory")
    return made


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


def _python() -> Any:
    return ctypes.pythonapi


@cache
def _mathematics() -> Any:
    return ctypes.CDLL("libm.so.6")


def _address(name: str) -> int:
    """Where an outside function is; only those of the C library are looked for."""
    if name not in EXTERNALS | PYTHON:
        raise Unmappable(f"it needs {name!r}, which is no function of the C library")
    for library in (_python,) if name in PYTHON else (_library, _mathematics):
        try:
            found = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
        except (AttributeError, OSError):
            continue
        if found:
            return found
    raise Unmappable(f"it needs {name!r}, which this system does not have")
