"""Endings in, their numbers out: what a process counts, and when it is written down.

Counting is all that a process does before its first result. Every few seconds, and when it ends,
`count_file` appends what is new to a file of the directory, and `totals` adds up such files.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from whorl.artifacts.entry import seconds_in
from whorl.late import NamedTuple
from whorl.lazy import room
from whorl.locks import RLock

if TYPE_CHECKING:
    from . import count_file
    from . import ending as endings
    from . import totals as sums
else:
    count_file = room("whorl.store.count_file", globals())
    endings = room("whorl.store.ending", globals())
    sums = room("whorl.store.totals", globals())

__all__ = ["Counts", "Statistics"]

FLUSH_EVERY: Final = 5.0  # seconds
_HITS_KEPT: Final = 1000  # before they are added up
_HIT, _ABSENT = "hit", "miss: absent"  # what `Ending` has for lookups, which takes 0.2 ms to make


class Counts(NamedTuple):
    """Numbers by ending or sum; four sums for each program; causes of what was made."""

    numbers: defaultdict[str, int | float]
    programs: dict[str, list[float]]  # [found, made, seconds saved, seconds spent]
    causes: dict[str, int]

    def row(self, program: str) -> list[float]:
        """The sums of a program."""
        return self.programs.setdefault(program, [0, 0, 0.0, 0.0])

    def copied(self) -> Counts:
        """The same as it is now."""
        programs = {name: [*row] for name, row in self.programs.items()}
        return Counts(self.numbers.copy(), programs, self.causes.copy())


class Statistics:
    """What one process counts; flushed to a directory now and then, if there is one.

    >>> from whorl.store import Ending
    >>> statistics = Statistics()
    >>> statistics.count(Ending.HIT, bytes_read=100)
    >>> statistics.totals.hits, statistics.totals.bytes_read
    (1, 100)
    """

    __slots__ = (
        "__weakref__", "_counts", "_directory", "_flushed", "_hits", "_lock", "_next_flush",
        "to_do",
    )  # fmt: skip

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self._directory = directory
        self._next_flush = time.monotonic() + FLUSH_EVERY
        self.to_do: list[Callable[[], None]] = []  # once, when this is next written, or ends
        self._lock = RLock()  # a signal handler may count too
        self._hits: list[tuple[int, float | bytes, str]] = []  # as `hit` takes them: not added up
        self._counts: Counts | None = None  # all else
        self._flushed: Counts | None = None  # what was written down, if anything was
        _ALIVE.add(weakref.ref(self, _ALIVE.discard))

    def forget(self) -> None:
        """Begin again at nothing."""
        self._lock = RLock()  # after a fork, another thread may hold the old one
        self._hits = []
        self._counts = self._flushed = None

    @property
    def totals(self) -> sums.Totals:
        """What this process has counted so far."""
        counted = sums.Totals.counted  # imported before anybody has to wait
        with self._lock:
            return counted(self._gathered())

    def count(
        self,
        ending: endings.Ending,
        number: int = 1,
        *,
        bytes_read: int = 0,
        bytes_written: int = 0,
        seconds_saved: float = 0.0,
        seconds_spent: float = 0.0,
    ) -> None:
        """Count an ending and what came with it."""
        with self._lock:
            counted = self._gathered().numbers
            counted[ending.value] += number
            if bytes_read:
                counted["bytes_read"] += bytes_read
            if bytes_written:
                counted["bytes_written"] += bytes_written
            if seconds_saved:
                counted["seconds_saved"] += seconds_saved
            if seconds_spent:
                counted["seconds_spent"] += seconds_spent
        if time.monotonic() >= self._next_flush:
            self.flush()

    def hit(self, bytes_read: int, seconds_saved: float | bytes, program: str = "") -> None:
        """Count a hit, for a program too if one is named. As `count`, in 0.2 us instead of 1.

        In place of the seconds there can be the head of an entry, which is read later.
        """
        hits = self._hits
        hits.append((bytes_read, seconds_saved, program))  # which needs no lock
        if len(hits) >= _HITS_KEPT:
            with self._lock:
                self._gathered()
        if time.monotonic() >= self._next_flush:
            self.flush()

    def absent(self) -> None:
        """Count a lookup that found nothing, for the hot path too."""
        with self._lock:
            self._gathered().numbers[_ABSENT] += 1
        if time.monotonic() >= self._next_flush:
            self.flush()

    def made(self, program: str, seconds_spent: float, cause: str = "") -> None:
        """Count for a program that something of it was made, and why."""
        with self._lock:
            counts = self._gathered()
            row = counts.row(program)
            row[1] += 1
            row[3] += seconds_spent
            if cause:
                counts.causes[cause] = counts.causes.get(cause, 0) + 1

    def _gathered(self) -> Counts:
        """All that was counted, the hits too. With the lock held."""
        counts = self._counts
        if counts is None:
            counts = self._counts = Counts(defaultdict(int), {}, {})
        number = len(self._hits)
        if number:
            hits, self._hits[:number] = self._hits[:number], ()  # others may come meanwhile
            numbers = counts.numbers
            numbers[_HIT] += number
            for bytes_read, saved, program in hits:
                seconds_saved = seconds_in(saved) if isinstance(saved, bytes) else saved
                numbers["bytes_read"] += bytes_read
                numbers["seconds_saved"] += seconds_saved
                if program:
                    row = counts.row(program)
                    row[0] += 1
                    row[2] += seconds_saved
        return counts

    def flush(self) -> None:
        """Append what is new to the directory. Trouble there is no trouble here."""
        if not (self._hits or self._counts or self.to_do):
            return
        try:
            flushed = count_file.flushed  # imported before anybody has to wait
        except (ImportError, OSError, AttributeError):
            return  # no more files can be opened, or a signal came between: then the next time
        to_do, self.to_do = self.to_do, []
        for do in to_do:
            do()
        with self._lock:
            self._next_flush = time.monotonic() + FLUSH_EVERY
            before = self._flushed or Counts(defaultdict(int), {}, {})
            self._flushed = flushed(self._gathered(), before, self._directory)


_ALIVE: Final[set[weakref.ref[Statistics]]] = set()


def _all() -> Iterator[Statistics]:
    for alive in _ALIVE.copy():
        statistics = alive()
        if statistics is not None:
            yield statistics


def _flush_all() -> None:
    for statistics in _all():
        statistics.flush()


def _forget_all() -> None:
    for statistics in _all():
        statistics.forget()


def _join_multiprocessing() -> None:
    """Processes of multiprocessing end without `atexit`: have them flush in their own way."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _joined:
        _joined.append(True)
        util.register_after_fork(
            _flush_all, lambda flush: util.Finalize(None, flush, exitpriority=0)
        )


def _join_as_worker() -> None:
    """The same for a process of multiprocessing that imports this itself, as fork servers have."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _flush_all, exitpriority=0)


_joined: Final[list[bool]] = []
atexit.register(_flush_all)
_join_as_worker()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_join_multiprocessing, after_in_child=_forget_all)
