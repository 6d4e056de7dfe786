"""A large file in, its bytes out without being read: mapped, where that cannot end badly.

A mapped page is read when it is looked at. If its file is gone by then, the process is killed:
that happens on network file systems, where another machine may remove what we have open. On
file systems of this machine, a file that is removed stays until nobody has it mapped any more,
and entries are never written to after they have got their names. So files are mapped where the
kernel says that the file system is a local one, and read everywhere else.
"""

from __future__ import annotations

import functools
import mmap
import os
import sys
from typing import Final

from whorl.artifacts.damage import check_head
from whorl.artifacts.entry import HEAD

__all__ = ["contents", "is_local", "mapped"]

_LOCAL: Final = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay", "bcachefs", "jfs")
)
_MOUNTS: Final = "/proc/self/mountinfo"


def contents(file: int, size: int, root: str) -> bytes | memoryview:
    """All of a large file; `Damaged` before it is read if its head does not fit."""
    os.lseek(file, 0, os.SEEK_SET)
    check_head(_rest(file, HEAD), size)
    found = mapped(file, size, root)
    if found is not None:
        return found
    os.lseek(file, 0, os.SEEK_SET)
    return _rest(file, size)


def _rest(file: int, size: int) -> bytes:
    """So many bytes, or as many as there are."""
    data = os.read(file, size)
    if len(data) == size:
        return data
    parts = [data]  # the system gives no more than 2 GB at once
    while part := os.read(file, size - sum(map(len, parts))):
        parts.append(part)
    return b"".join(parts)


def mapped(file: int, size: int, root: str) -> memoryview | None:
    """The bytes of an open file in a store; None where it should be read instead."""
    if sys.platform != "linux" or not is_local(root):
        return None
    try:
        return memoryview(mmap.mmap(file, size, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None


@functools.lru_cache(maxsize=64)
def is_local(directory: str) -> bool:
    """Whether a directory is known to be on a file system of this machine.

    >>> is_local("/proc")
    False
    """
    try:
        place = os.path.realpath(directory)
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            mounts = [_mount(line) for line in file]
    except OSError:
        return False
    around = [(len(point), i, kind) for i, (point, kind) in enumerate(mounts) if _in(place, point)]
    return bool(around) and max(around)[2] in _LOCAL  # the innermost, of several the last


def _mount(line: str) -> tuple[str, str]:
    """Where a line of mountinfo says that something is mounted, and what kind it is."""
    before, _, after = line.partition(" - ")
    point = before.split(" ")[4] if before.count(" ") >= 4 else ""
    return point.replace("\\040", " "), after.partition(" ")[0]


def _in(place: str, point: str) -> bool:
    return place == point or place.startswith(point.rstrip("/") + "/") if point else False
