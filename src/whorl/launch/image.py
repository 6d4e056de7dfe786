"""An image: code that runs wherever it is put, and what it needs.

    text      code and constants, the same bytes everywhere
    gap       to the next page
    table     one address per entry: of an outside function, or of a place in the text

See `linking` for how one is made of an object file.
"""

from __future__ import annotations

from typing import Final

from whorl.fast_dataclasses import dataclass
from whorl.reads.trace import Plain

from .scalar_functions import C_FUNCTIONS

__all__ = ["EXTERNALS", "PAGE", "PREFIX", "PYTHON", "Image"]

PAGE: Final = 1 << 16
"""No system has larger pages (x86-64: 4 KiB; aarch64: 4, 16 or 64). The gap is not stored, and no
memory is used for it."""
PREFIX: Final = "whorl_"
"""Of the names that code has for routines of other libraries, see `outside_routines`."""

EXTERNALS: Final = C_FUNCTIONS | frozenset((
    "memset", "memcpy", "memmove", "memcmp", "clock_gettime", "usleep", "malloc", "calloc", "free",
    "madvise",
))  # fmt: skip
"""The outside functions that an image may call: those of the C library."""
PYTHON: Final = frozenset((
    "PyErr_CheckSignals", "PyErr_Clear", "PyErr_Fetch", "PyGILState_Ensure", "PyGILState_Release",
    "PyThread_get_thread_ident", "Py_DecRef",
))  # fmt: skip
"""And those of Python, by which a kernel takes notice of signals, and gives arrays back."""


@dataclass(frozen=True, slots=True)
class Image:
    """Code that runs anywhere. `table` says what each entry behind the text has to hold: the
    name of an outside function, or a place in the text."""

    text: bytes
    exports: dict[str, int]
    table: tuple[str | int, ...]

    @property
    def table_at(self) -> int:
        """Where the table begins: on a page of its own."""
        return (len(self.text) + PAGE - 1) // PAGE * PAGE

    @property
    def plain(self) -> Plain:
        """All but the text, as plain data."""
        exports = [list(self.exports), list(self.exports.values())]
        return [len(self.text), *exports, list(self.table)]

    @classmethod
    def from_plain(cls, text: bytes, plain: Plain) -> Image:
        """An image from its text and the rest; ValueError if they do not belong together."""
        size, names, places, table = plain
        if len(text) != size:
            raise ValueError(f"an image of {len(text)} bytes, not {size}")
        return cls(text, dict(zip(names, places, strict=True)), tuple(table))
