"""Keeps a store within its size: the least recently used entries go first.

The length of one shared file says how much was written since the last collection: for every
1024th of the maximum size that it writes, a process appends a byte. So writers know of each other,
and one of them goes through the store only after every 20 bytes. If that one cannot keep up, the
others wait for it at 40 bytes.

    a byte     1/1024 of the maximum size was written
    COLLECT    2 % were written: a writer that notices collects, if nobody else does
    WAIT       4 % were written: a writer that notices waits for the collection
    ROOM       a collection leaves 5 % free

Last use is the time of a file's last change, which a hit renews when it is older than
`directory.RENEWED_EVERY`. First go entries of older formats; then those of toolchains that nothing
has used for `DEAD_AFTER`; then all others.

A disk may be full before the maximum size is reached. Then some of the entries go too: see `free`.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Final

from whorl.artifacts import FORMAT, Damaged
from whorl.fast_dataclasses import dataclass
from whorl.lazy import logger

from .atomic_file import append_small, lock_file, read_small, write_small
from .listing import (
    StoredFile,
    entry_files,
    files_below,
    files_in,
    is_directory,
    last_use,
    names_in,
    read_label,
)
from .outcome import Ending
from .statistics import Statistics, compact

log = logger("whorl.store")

UNITS: Final = 1024
COLLECT: Final = 20
WAIT: Final = 40
ROOM: Final = 0.05
PATIENCE: Final = 30.0  # seconds to wait for another's collection
DEAD_AFTER: Final = 14 * 86400.0
IN_VAIN_FOR: Final = 10.0  # seconds
ANOTHER_FREED: Final = 0.04  # seconds: less than a process sleeps that waits for a lock
LEFTOVER_AFTER: Final = 3600.0  # a file being written that is older was abandoned
QUARANTINED: Final = 32  # files kept to be inspected


def _chance() -> float:
    """A random number between 0 and 1, independent of the program's and of a forked child's."""
    return int.from_bytes(os.urandom(6), "little") / (1 << 48)


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection did.

    >>> Collected(removed=1, freed=10, left=90).left
    90
    """

    removed: int
    freed: int
    left: int


class Eviction:
    """What keeps the store under a root within its size."""

    def __init__(self, root: str, max_size: int, statistics: Statistics) -> None:
        self.root = root
        self.max_size = max_size
        self._statistics = statistics
        self._unit = max(1, max_size // UNITS)
        self._home = f"{root}{os.sep}v{FORMAT}"
        self._written = f"{self._home}{os.sep}written"
        self._bound = f"{self._home}{os.sep}bound"
        self._is_first = True
        self._hurried_until = 0.0
        self._in_vain_until = 0.0

    def wrote(self, size: int) -> None:
        """Take note of bytes that were written, and collect if there are too many by now.

        A part of a unit counts as a whole one, with a probability of its share. So processes that
        write little and end soon add up too, and nothing has to be remembered.
        """
        units, rest = divmod(size, self._unit)
        if _chance() * self._unit < rest:
            units += 1
        is_first, self._is_first = self._is_first, False
        with contextlib.suppress(OSError, MemoryError):
            if units:
                total = append_small(self._written, b"." * min(units, UNITS))
                if total >= COLLECT:
                    self.collect_if_due(patient=total >= WAIT)
            if is_first and self._was_wider():
                self.collect()

    @contextlib.contextmanager
    def room_for(self, size: int) -> Iterator[None]:
        """For something large, collect before it is written; one such writer at a time."""
        if not self.is_large(size):
            yield
            return
        with self._alone(self._patience()) as alone:
            self._note(alone)
            with contextlib.suppress(OSError, MemoryError):
                self._collect(self.max_size - size)
            yield

    def free(self, size: int) -> bool:
        """Make room for so many bytes on a disk that is full; whether another try is worth it.

        It is not if they are more than all entries. If making room does not help, others have
        filled the disk: for a while, nothing more is evicted.
        """
        start = time.monotonic()
        if start < self._in_vain_until:
            return False
        with self._alone(self._patience()) as alone:
            self._note(alone)
            if time.monotonic() - start >= ANOTHER_FREED:
                return True  # the process that we have waited for has made room
            there = sum(file.size for file in self.files())
            if size >= there:
                return False
            self._in_vain_until = time.monotonic() + IN_VAIN_FOR
            self._collect(min(there, self.max_size) - size)
            return True

    def freed(self) -> None:
        """Take note that making room was not in vain."""
        self._in_vain_until = 0.0

    def is_large(self, size: int) -> bool:
        """Whether it takes more than the room that a collection leaves."""
        return size > self.max_size * ROOM

    def _patience(self) -> float:
        return PATIENCE if time.monotonic() >= self._hurried_until else 0.0

    def _note(self, alone: bool) -> None:
        """If the collecting process hangs, do not wait for it every time."""
        if not alone and time.monotonic() >= self._hurried_until:
            self._hurried_until = time.monotonic() + 10 * PATIENCE

    def _was_wider(self) -> bool:
        """Whether nobody has collected yet, or the bound was wider then."""
        try:
            return int(read_small(self._bound, 40)) > self.max_size
        except (OSError, ValueError):
            return True

    def collect_if_due(self, *, patient: bool) -> None:
        """Collect, unless somebody else does; a patient caller waits for that."""
        with self._alone(self._patience() if patient else 0.0) as alone:
            if patient:
                self._note(alone)
            if alone and os.lstat(self._written).st_size >= COLLECT:
                self._collect(self.max_size)

    def collect(
        self,
        max_size: int | None = None,
        *,
        unused_for: float | None = None,
        is_rehearsal: bool = False,
    ) -> Collected:
        """Bring the store within its bound, or within another one, now.

        What was not used for `unused_for` seconds goes in any case. A rehearsal removes nothing.
        """
        size = self.max_size if max_size is None else max_size
        before = None if unused_for is None else time.time() - unused_for
        if is_rehearsal:
            return self._thinned(size, before, lambda file: True)
        with self._alone(PATIENCE):
            return self._collect(size, before)

    @contextlib.contextmanager
    def _alone(self, patience: float) -> Iterator[bool]:
        """The lock of collections: whether we have it; always where files cannot be locked."""
        if not is_directory(self._home):  # nothing to collect, and nothing to make for that
            yield True
            return
        try:
            lock = lock_file(f"{self._home}{os.sep}collecting", patience)
        except (OSError, MemoryError, NotImplementedError):
            yield True
            return
        if lock is None:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _collect(self, max_size: int, before: float | None = None) -> Collected:
        if max_size <= self.max_size:
            with contextlib.suppress(OSError, MemoryError):
                os.unlink(self._written)  # what was counted so far is collected now
        collected = self._thinned(max_size, before, _remove)
        self._clean_up()
        if max_size <= self.max_size:
            with contextlib.suppress(OSError, MemoryError):
                write_small(self._bound, str(self.max_size))
        if collected.removed:
            self._statistics.count(Ending.EVICTED, collected.removed)
            log.info(
                "evicted %d entries, %d bytes; %d bytes are left",
                collected.removed, collected.freed, collected.left,
            )  # fmt: skip
        return collected

    def _thinned(
        self, max_size: int, before: float | None, remove: Callable[[StoredFile], bool | None]
    ) -> Collected:
        """Remove what has to go, the least useful first, until enough of it is gone."""
        files = list(self.files())
        total = left = sum(file.size for file in files)
        goal = max_size if total <= max_size else int(max_size * (1 - ROOM))
        removed = 0
        for file in self._in_order(files, before, total > goal):
            if left <= goal and (before is None or file.used >= before):
                break
            is_removed = remove(file)
            removed += is_removed is True
            left -= 0 if is_removed is None else file.size
        return Collected(removed, total - left, left)

    def _in_order(
        self, files: list[StoredFile], before: float | None, is_too_much: bool
    ) -> Iterator[StoredFile]:
        """The files in the order in which they go: what is too old, then the least useful."""
        if before is not None:
            yield from (file for file in files if file.used < before)
        if is_too_much:
            rest = files if before is None else [file for file in files if file.used >= before]
            yield from sorted(self._ranked(rest), key=lambda file: (file.rank, file.used))

    # -- what is there ------------------------------------------------------------------

    def files(self) -> Iterator[StoredFile]:
        """Every entry of this format and of older ones."""
        return entry_files(self.root)

    def _ranked(self, files: list[StoredFile]) -> Iterator[StoredFile]:
        """The files, with those of dead toolchains ranked as such."""
        now = time.time()
        alive: dict[str, bool] = {}
        for file in files:
            if file.rank == 2 and now - file.used > DEAD_AFTER:  # what was used since is alive
                toolchain = _toolchain(file.path)
                if toolchain not in alive:
                    alive[toolchain] = (
                        not toolchain or now - last_use(self._home, toolchain) <= DEAD_AFTER
                    )
                if not alive[toolchain]:
                    file = file._replace(rank=1)
            yield file

    # -- upkeep -------------------------------------------------------------------------

    def _clean_up(self) -> None:
        """Remove what killed writers left, old leases, and all but the last quarantined files."""
        old = time.time() - LEFTOVER_AFTER
        for directory in ("incoming", "leases"):
            for file in files_below(f"{self._home}{os.sep}{directory}"):
                if file.used < old:
                    with contextlib.suppress(OSError, MemoryError):
                        os.unlink(file.path)
        self.trim_quarantine()
        _remove_empty(f"{self._home}{os.sep}groups")
        compact(f"{self.root}{os.sep}statistics")

    def trim_quarantine(self) -> None:
        """Keep the last files and directories that were set aside."""
        aside = sorted(files_in(f"{self.root}{os.sep}quarantine"), key=lambda file: file.changed)
        for file in aside[:-QUARANTINED]:
            with contextlib.suppress(OSError, MemoryError):
                _remove_all(file.path)


def _remove(file: StoredFile) -> bool | None:
    """Remove a file: True if that was done here, False by another, None if it stays."""
    try:
        if os.lstat(file.path).st_mtime != file.changed:  # used or written since
            return None
        os.unlink(file.path)
    except FileNotFoundError:
        return False
    except (OSError, MemoryError):
        return None
    return True


def _remove_all(path: str) -> None:
    """Remove a file, or a directory with all that is in it; links are removed, not followed."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    for name in os.listdir(path):
        _remove_all(os.path.join(path, name))
    os.rmdir(path)


def _remove_empty(directory: str) -> None:
    """Remove the directories below one that have nothing in them."""
    for name in names_in(directory):
        path = os.path.join(directory, name)
        if is_directory(path):
            _remove_empty(path)
            with contextlib.suppress(OSError, MemoryError):
                os.rmdir(path)


def _toolchain(path: str) -> str:
    try:
        return read_label(path).toolchain
    except (OSError, MemoryError, Damaged):
        return ""
