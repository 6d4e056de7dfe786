"""Maps an image into memory that can be executed and no longer written.

Most systems let memory that was written to become executable. Where one does not (`prctl` with
PR_SET_MDWE, `MemoryDenyWriteExecute=` of systemd, SELinux), the code goes into a memory file, which
is sealed and mapped to be read and run: no page of it was ever writable here. So it is on
processors whose instruction caches do not see what is written to memory, which is all but x86-64:
the system takes care of that for pages of a file, as it does for every program that it starts.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from functools import cache
from typing import Any, Final

from whorl.lazy import importing

from .image import EXTERNALS, PAGE, PREFIX, PYTHON, Image
from .level import X86_LEVELS, lowest_level

_READ, _WRITE, _RUN = 1, 2, 4
_FIXED: Final = 0x10  # MAP_FIXED: in the place of what is mapped there
_ADD_SEALS, _ALL_SEALS = 1033, 0x0F  # F_ADD_SEALS: no seals, sizes or writes from then on
_EXECUTABLE: Final = 0x10  # MFD_EXEC, which kernels before 6.3 do not know and do not need

REFUSED: Final = (
    "this system lets no memory become executable (PR_SET_MDWE, MemoryDenyWriteExecute= of systemd,"
    " SELinux)"
)


class Unmappable(Exception):
    """An image that this system does not let run, or that needs what is not here."""


class Mapped:
    """An image in memory. It stays there as long as this object.

    There is no `__del__`: those of a cycle run in any order, and another may still call the code.
    """

    def __init__(self, memory: object, base: int, exports: dict[str, int]) -> None:
        self._memory = memory
        self.addresses = {name: base + place for name, place in exports.items()}


def map_image(image: Image) -> Mapped:
    """Put an image into memory, fill its table, and let it run."""
    if sys.platform != "linux":
        raise Unmappable("images are for Linux")
    library = _library()
    table_size = (8 * len(image.table) + PAGE - 1) // PAGE * PAGE
    memory, base = _writable(image.table_at + table_size)
    mapped = Mapped(memory, base, image.exports)
    values = [base + entry if isinstance(entry, int) else _address(entry) for entry in image.table]
    ctypes.memmove(base + image.table_at, struct.pack(f"<{len(values)}Q", *values), 8 * len(values))
    ctypes.memmove(base, image.text, len(image.text))
    is_seen = lowest_level() in X86_LEVELS  # what was written, by the processor
    if not is_seen or library.mprotect(base, image.table_at, _READ | _RUN):
        _map_memory_file(image.text, base, image.table_at)
    if table_size and library.mprotect(base + image.table_at, table_size, _READ):
        raise Unmappable("this system does not protect memory")
    return mapped


def runs_written_memory() -> bool:
    """Whether this system lets memory run that was written to. LLVM's own loader needs that."""
    if sys.platform != "linux":
        return True
    _, base = _writable(PAGE)
    return not _library().mprotect(base, PAGE, _READ | _RUN)


def is_executable(address: int) -> bool:
    """Whether code can be run at an address: LLVM does not say so if it could not arrange that."""
    if sys.platform != "linux":
        return True
    try:
        with open("/proc/self/maps") as file:  # noqa: PTH123  # no pathlib for this
            rows = [row.split(maxsplit=2) for row in file]
    except OSError:
        return runs_written_memory()
    for range_, rights, _ in rows:
        first, _, end = range_.partition("-")
        if int(first, 16) <= address < int(end, 16):
            return "x" in rights
    return False


def _writable(size: int) -> tuple[object, int]:
    """Memory that can be written to, as long as the first of these lives; and its address."""
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, _READ | _WRITE)
    except (OSError, ValueError):
        raise Unmappable("there is no memory for it") from None
    first = ctypes.c_char.from_buffer(memory)  # which keeps it alive
    return first, ctypes.addressof(first)


def _map_memory_file(text: bytes, base: int, size: int) -> None:
    """Put a memory file with this text in the place of what is mapped there, to be run."""
    try:
        file = _sealed_file(text, size)
    except (OSError, ImportError) as error:
        raise Unmappable(f"{REFUSED}, and has no memory files ({error})") from None
    try:
        rights = _READ | _RUN
        address = _library().mmap(base, size, rights, mmap.MAP_PRIVATE | _FIXED, file, 0)
    finally:
        os.close(file)
    if address != base:
        raise Unmappable(f"{REFUSED}, not even a memory file")


def _sealed_file(text: bytes, size: int) -> int:
    """A file in memory that holds this text, which nobody can change any more."""
    with importing:
        import fcntl  # where it is needed, which is hardly anywhere

    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        file = os.memfd_create("whorl", flags | _EXECUTABLE)
    except OSError:
        file = os.memfd_create("whorl", flags)
    try:
        os.truncate(file, size)
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(file, rest) :]
        fcntl.fcntl(file, _ADD_SEALS, _ALL_SEALS)
    except BaseException:
        os.close(file)
        raise
    return file


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    library.mmap.restype = ctypes.c_void_p
    return library


def _python() -> Any:
    return ctypes.pythonapi


@cache
def _mathematics() -> Any:
    return ctypes.CDLL("libm.so.6")


def _address(name: str) -> int:
    """Where an outside function is; only those of the C library are looked for, and routines of
    other libraries, which may be missing."""
    if name.startswith(PREFIX):
        with importing:
            from . import outside_routines  # for kernels with products, or that draw numbers

        if name in outside_routines.ROUTINES:
            return outside_routines.address(name)
    if name.startswith("PyArray_"):
        with importing:
            from .numpy_api import NUMPY, numpy_address  # for kernels that return arrays

        if name in NUMPY:
            return numpy_address(name)
    if name not in EXTERNALS | PYTHON:
        raise Unmappable(f"it needs {name!r}, which is no function of the C library")
    for library in (_python,) if name in PYTHON else (_library, _mathematics):
        try:
            address = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
        except (AttributeError, OSError):
            continue
        if address:
            return address
    raise Unmappable(f"it needs {name!r}, which this system does not have")
