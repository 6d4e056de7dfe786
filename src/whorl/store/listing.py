"""The files of a store: keys, sizes, times and labels of entries, and the toolchains in use.

Links are not followed: what they lead to is not the store's.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import Final

from whorl.artifacts import FORMAT, Label
from whorl.artifacts.entry import PAGE, label_end, peek_label
from whorl.fast_dataclasses import NamedTuple
from whorl.fingerprint.digest import StableDigest, hash_hex

from .atomic_file import make_directory, read_small, write_small

_ENTRY_NAME: Final = r"[0-9a-f]{30}([0-9a-f]{2})?"
_FORMAT_DIRECTORY: Final = r"v(\d+)"
_LONGEST_LABEL: Final = 1 << 26  # bytes


class Name(NamedTuple):
    """What an entry is found by."""

    key: StableDigest
    under: StableDigest | None = None

    def __str__(self) -> str:
        return str(self.key) if self.under is None else f"{self.under}/{self.key}"


class StoredFile(NamedTuple):
    """A file of the store."""

    path: str
    size: int
    used: float
    changed: float  # the same, as the file says it: it may lie in the future
    rank: int  # 0 an older format, 1 a dead toolchain, 2 alive
    is_directory: bool = False


def entry_files(root: str) -> Iterator[StoredFile]:
    """The file of every entry of this format and of older ones."""
    try:
        names = os.listdir(root)  # which may be a link
    except (OSError, MemoryError):
        return
    for name in names:
        match = re.fullmatch(_FORMAT_DIRECTORY, name)
        if match is None or int(match[1]) > FORMAT:
            continue
        rank = 2 if int(match[1]) == FORMAT else 0
        home = os.path.join(root, name)
        if not is_directory(home):
            continue
        for part in ("entries", "groups"):
            for file in files_below(os.path.join(home, part), rank):
                if re.fullmatch(_ENTRY_NAME, os.path.basename(file.path)):
                    yield file


def files_below(directory: str, rank: int = 2) -> Iterator[StoredFile]:
    """Every file in a directory and in those below it."""
    for file in files_in(directory, rank):
        if file.is_directory:
            yield from files_below(file.path, rank)
        else:
            yield file


def files_in(directory: str, rank: int = 2) -> list[StoredFile]:
    """The files and directories in a directory; none if it is a link, or cannot be read."""
    files, now = [], time.time()
    for name in names_in(directory):
        path = os.path.join(directory, name)
        try:
            status = os.lstat(path)
        except (OSError, MemoryError):
            continue
        changed, is_below = status.st_mtime, stat.S_ISDIR(status.st_mode)
        used = min(changed, now)
        files.append(StoredFile(path, status.st_size, used, changed, rank, is_below))
    return files


def names_in(directory: str) -> list[str]:
    """The names in a directory; none if it is a link, or cannot be read."""
    try:
        return os.listdir(directory) if is_directory(directory) else []
    except (OSError, MemoryError):
        return []


def is_directory(path: str) -> bool:
    """Whether it is one itself, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, MemoryError):
        return False


def read_label(path: str) -> Label:
    """The label of the entry in a file, unchecked; `Damaged` if there is none, or an OSError."""
    start = read_small(path, PAGE)
    if label_end(start) > len(start):
        start = read_small(path, min(label_end(start), _LONGEST_LABEL))
    return peek_label(start)


# -- keys --------------------------------------------------------------------------------


def keys_in_shards(entries: str) -> Iterator[StableDigest]:
    """The keys of all entries that are in no group."""
    for shard in _subdirectories(entries):
        yield from _keys(f"{entries}{os.sep}{shard}", shard)


def keys_in_group(group: str) -> Iterator[StableDigest]:
    """The keys of the entries of one group."""
    return _keys(group, "")


def keys_in_groups(groups: str) -> Iterator[StableDigest]:
    """The groups that have entries."""
    for shard in _subdirectories(groups):
        for rest in _subdirectories(f"{groups}{os.sep}{shard}"):
            with contextlib.suppress(ValueError):
                yield StableDigest(shard + rest)


def _subdirectories(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as scan:
            return [each.name for each in scan if each.is_dir(follow_symlinks=False)]
    except (OSError, MemoryError):
        return []


def _keys(directory: str, prefix: str) -> Iterator[StableDigest]:
    try:
        names = os.listdir(directory)
    except (OSError, MemoryError):
        return
    for name in names:
        try:
            key = StableDigest(prefix + name)
        except ValueError:
            continue
        yield key  # in no block: what a signal handler raises where a generator is closed is lost


# -- toolchains in use -----------------------------------------------------------------
#
# Which toolchains are in use: one small file for each, whose time says when it was last used.
#
# The entries of a toolchain are not the first to be evicted as long as it is in use: see
# `eviction`.


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
