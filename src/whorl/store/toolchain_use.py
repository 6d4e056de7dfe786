"""Which toolchains are in use: one small file for each, whose time says when it was last used.

The entries of a toolchain are not the first to be evicted as long as it is in use: see `eviction`.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

from whorl.fingerprint.digest import hash_hex

from .atomic_file import make_directory, write_small

__all__ = ["NOTE_EVERY", "last_use", "note_use"]

NOTE_EVERY: Final = 3600.0  # seconds


def _path(home: str, toolchain: str) -> str:
    name = hash_hex(toolchain.encode("utf-8", "surrogatepass"))
    return f"{home}{os.sep}toolchains{os.sep}{name}"


def last_use(home: str, toolchain: str) -> float:
    """When a toolchain was last noted to be in use; 0 if never."""
    try:
        return os.lstat(_path(home, toolchain)).st_mtime
    except (OSError, MemoryError):
        return 0.0


def note_use(home: str, toolchain: str) -> None:
    """Note that a toolchain is in use now."""
    path = _path(home, toolchain)
    try:
        if time.time() - os.lstat(path).st_mtime > NOTE_EVERY:
            write_small(path, toolchain)
    except FileNotFoundError:
        with contextlib.suppress(OSError, MemoryError):
            make_directory(os.path.dirname(path))
            write_small(path, toolchain)
    except (OSError, MemoryError):
        pass  # an old time costs no more than an eviction that comes too soon
