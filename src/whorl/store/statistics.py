"""What a process counts, and the lines in which it is written down.

Counting is all that a process does before its first result. Every few seconds, and when it ends,
what is new is appended to a file of the directory, as one line of JSON. Lines are short and
appended in one write to one of a few files, so processes do not wait for each other and need no
lock. `totals` adds them up.

    line    = {ending or sum: number..., "day": days since 1970,
               "programs": {name: [found, made, seconds saved, seconds spent]},
               "causes": {why something was made: number},
               "tiers": {shared cache: {what it did or was asked for: number}}}

Where WHORL_SUMMARY names a file, the same lines are appended to it.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import sys
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from whorl import settings
from whorl.artifacts.entry import seconds_in
from whorl.errors import BadSetting
from whorl.fast_dataclasses import NamedTuple
from whorl.lazy import load
from whorl.locks import ForkSafeLock, reset_in_child

from .atomic_file import append_small, close_quietly, make_directory
from .outcome import Ending
from .totals import Totals, compact

__all__ = ["Counts", "Statistics", "at_end"]

FLUSH_EVERY: Final = 5.0  # seconds
_HITS_KEPT: Final = 1000  # before they are added up
_HIT, _ABSENT = Ending.HIT.value, Ending.ABSENT.value
SHARDS: Final = 16
COMPACT_AT: Final = 1 << 20  # bytes of a file that is added up when somebody notices
DAY: Final = 86400
_NAME: Final = 300  # characters of a program's name


class Counts(NamedTuple):
    """Numbers by ending or sum; four sums for each program; causes of what was made."""

    numbers: defaultdict[str, int | float]
    programs: dict[str, list[float]]  # [found, made, seconds saved, seconds spent]
    causes: dict[str, int]
    tiers: dict[str, dict[str, float]]

    def row(self, program: str) -> list[float]:
        """The sums of a program."""
        return self.programs.setdefault(program, [0, 0, 0.0, 0.0])

    def copied(self) -> Counts:
        """The same as it is now."""
        programs = {name: [*row] for name, row in self.programs.items()}
        tiers = {name: {**row} for name, row in self.tiers.items()}
        return Counts(self.numbers.copy(), programs, self.causes.copy(), tiers)


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
        self._lock = ForkSafeLock()  # a signal handler may count too
        self._hits: list[tuple[int, float | bytes, str]] = []  # as `hit` takes them: not added up
        self._counts: Counts | None = None  # all else
        self._flushed: Counts | None = None  # what was written down, if anything was
        _ALIVE.add(weakref.ref(self, _ALIVE.discard))
        reset_in_child(self)

    def reset_in_child(self) -> None:
        """Begin again at nothing: what the parent counted, it writes down itself."""
        self._hits = []
        self._counts = self._flushed = None

    @property
    def totals(self) -> Totals:
        """What this process has counted so far."""
        with self._lock:
            numbers, programs, causes, tiers = self._gathered()
            row = {"programs": programs, "causes": causes, "tiers": tiers}
            return Totals.of_line({**numbers, **row})

    def count(
        self,
        ending: Ending,
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

    def tier(self, name: str, **numbers: float) -> None:
        """Add to what a shared cache has done."""
        with self._lock:
            row = self._gathered().tiers.setdefault(name, {})
            for what, number in numbers.items():
                row[what] = row.get(what, 0) + number
        if time.monotonic() >= self._next_flush:
            self.flush()

    def _gathered(self) -> Counts:
        """All that was counted, the hits too. With the lock held."""
        counts = self._counts
        if counts is None:
            counts = self._counts = Counts(defaultdict(int), {}, {}, {})
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
        to_do, self.to_do = self.to_do, []
        for do in to_do:
            do()
        with self._lock:
            self._next_flush = time.monotonic() + FLUSH_EVERY
            before = self._flushed or Counts(defaultdict(int), {}, {}, {})
            self._flushed = _append_new(self._gathered(), before, self._directory)


# -- lines -------------------------------------------------------------------------------


def _append_new(counts: Counts, before: Counts, directory: str | os.PathLike[str] | None) -> Counts:
    """Append what is new since `before`; what is written by now. Trouble is for the next time."""
    new = _new(counts, before)
    summary = _summary()
    if not new or (directory is None and not summary):
        return before
    new["day"] = int(time.time()) // DAY
    written = before
    try:
        line = _text_of(new).encode("ascii") + b"\n"
    except (ImportError, OSError, MemoryError):  # no more files can be opened
        return before
    with contextlib.suppress(OSError, MemoryError):
        if directory is not None:
            size = _append(os.fspath(directory), line)
            if size >= COMPACT_AT:
                compact(directory)
        written = counts.copied()
    if summary:
        with contextlib.suppress(OSError, MemoryError):
            _append_to_summary(summary, line)
    return written


def _new(counts: Counts, before: Counts) -> dict[str, Any]:
    """What the line says; nothing if there is nothing new."""
    numbers, causes = before.numbers, before.causes
    new: dict[str, Any] = {
        name: more for name, n in counts.numbers.items() if (more := n - numbers[name])
    }
    nothing = [0, 0, 0.0, 0.0]
    programs = {
        name[:_NAME]: [n - m for n, m in zip(row, earlier, strict=True)]
        for name, row in counts.programs.items()
        if row != (earlier := before.programs.get(name, nothing))
    }
    new_causes = {
        name: more for name, n in counts.causes.items() if (more := n - causes.get(name, 0))
    }
    if programs:
        new["programs"] = programs
    if new_causes:
        new["causes"] = new_causes
    tiers = {}
    for name, row in counts.tiers.items():
        earlier_row = before.tiers.get(name, {})
        more_row = {what: more for what, n in row.items() if (more := n - earlier_row.get(what, 0))}
        if more_row:
            tiers[name[:_NAME]] = more_row
    if tiers:
        new["tiers"] = tiers
    return new


def _text_of(value: object) -> str:
    """What `json` would write, which takes a millisecond to import when a process ends."""
    if type(value) is dict:
        return "{" + ",".join([f"{_quoted(n)}:{_text_of(each)}" for n, each in value.items()]) + "}"
    if type(value) is list:
        return "[" + ",".join(map(_text_of, value)) + "]"
    if isinstance(value, int):
        return int.__repr__(value)
    number = cast("float", value)
    return float.__repr__(number) if math.isfinite(number) else "0"


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return cast("str", load("json").dumps(text))


def _summary() -> str:
    """The file that wants to know too."""
    try:
        return settings.current().summary.value
    except BadSetting:  # whoever reads it for the program has said so
        return ""


def _append_to_summary(path: str, line: bytes) -> None:
    """Append to what the user has named: a file, a link to one, a pipe that is read, a device."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        os.write(file, line)
    finally:
        close_quietly(file)


def _append(directory: str, line: bytes) -> int:
    """Append to one of the files; how long it is by now."""
    path = os.path.join(directory, f"{os.getpid() % SHARDS:02}.jsonl")
    try:
        return append_small(path, line)
    except FileNotFoundError:
        above = os.path.dirname(directory)
        if not os.path.isdir(above):  # the store is gone; that is not ours to undo
            return 0
        make_directory(directory)
        return append_small(path, line)


# -- processes that end, and that begin --------------------------------------------------

_ALIVE: Final[set[weakref.ref[Statistics]]] = set()


def _all() -> Iterator[Statistics]:
    for alive in _ALIVE.copy():
        statistics = alive()
        if statistics is not None:
            yield statistics


def at_end(do: Callable[[], None]) -> None:
    """Have something done when the process ends, before the last statistics are written.

    Unlike `atexit`, this holds for the processes of `multiprocessing` too.
    """
    _before_end.append(do)


def _flush_all() -> None:
    for do in _before_end:
        do()
    for statistics in _all():
        statistics.flush()


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


_before_end: Final[list[Callable[[], None]]] = []
_joined: Final[list[bool]] = []
atexit.register(_flush_all)
_join_as_worker()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_join_multiprocessing)
