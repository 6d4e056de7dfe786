"""A toolchain that is in use in, a file out whose time says until when.

A toolchain's entries are not the first to be evicted as long as its stamp is young: see `bound`.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

from whorl.fingerprint.digest import hash_hex

from .atomic_file import make_directory, write_small

__all__ = ["STAMP_EVERY", "keep_alive", "last_used"]

STAMP_EVERY: Final = 3600.0


def _stamp(home: str, toolchain: str) -> str:
    name = hash_hex(toolchain.encode("utf-8", "surrogatepass"))
    return f"{home}{os.sep}toolchains{os.sep}{name}"


def last_used(home: str, toolchain: str) -> float:
    """When a toolchain was last said to be in use; at the beginning of time if never."""
    try:
        return os.lstat(_stamp(home, toolchain)).st_mtime
    except (OSError, MemoryError):
        return 0.0


def keep_alive(home: str, toolchain: str) -> None:
    """Say that a toolchain is in use."""
    stamp = _stamp(home, toolchain)
    try:
        if time.time() - os.lstat(stamp).st_mtime > STAMP_EVERY:
            write_small(stamp, toolchain)
    except FileNotFoundError:
        with contextlib.suppress(OSError, MemoryError):
            make_directory(os.path.dirname(stamp))
            write_small(stamp, toolchain)
    except (OSError, MemoryError):
        pass  # an old time costs no more than an eviction that comes too soon
