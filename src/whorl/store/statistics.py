"""Endings in, their sums out: per process, and for all processes that used a directory.

A process appends what it has counted since the last time as one line of JSON to one of a few
files. Lines are short and appended in one write, so processes do not wait for each other and
need no lock. Adding up all lines gives the sums; lines that make no sense are passed over.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from whorl.late import dataclass, field
from whorl.locks import RLock

from .atomic_file import append_small, make_directory, write_small
from .ending import Ending

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Statistics", "Totals"]

SHARDS: Final = 16
FLUSH_EVERY: Final = 5.0  # seconds
_ABSURD: Final = 1 << 63
COMPACT_FROM: Final = 1 << 16  # bytes of a file


@dataclass(frozen=True, slots=True)
class Totals:
    """How often everything ended how, and what that meant.

    >>> Totals({Ending.HIT: 3, Ending.ABSENT: 1}).hit_rate
    0.75
    """

    endings: Mapping[Ending, int] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_written: int = 0
    seconds_saved: float = 0.0
    seconds_spent: float = 0.0

    @property
    def hits(self) -> int:
        """Lookups that found their entry."""
        return self.endings.get(Ending.HIT, 0)

    @property
    def misses(self) -> Mapping[Ending, int]:
        """Lookups that did not, by reason."""
        return {ending: n for ending, n in self.endings.items() if ending.is_miss}

    @property
    def hit_rate(self) -> float:
        """The share of lookups that found their entry; 0 if there were none."""
        lookups = self.hits + sum(self.misses.values())
        return self.hits / lookups if lookups else 0.0

    @classmethod
    def of(cls, directory: Path) -> Totals:
        """The sums of all processes that flushed into a directory."""
        return cls._sum(line for file in _files(directory) for line in _lines(file))

    @classmethod
    def _sum(cls, lines: Iterable[Mapping[str, Any]]) -> Totals:
        endings: Counter[Ending] = Counter()
        sums: Counter[str] = Counter()
        names = {ending.value: ending for ending in Ending}
        for line in lines:
            for name, number in line.items():
                if type(number) not in (int, float) or not abs(number) < _ABSURD:
                    continue
                if name in names and type(number) is int:
                    endings[names[name]] += number
                elif name in _SUMS:
                    sums[name] += number
        return cls(
            dict(endings),
            int(sums["bytes_read"]),
            int(sums["bytes_written"]),
            float(sums["seconds_saved"]),
            float(sums["seconds_spent"]),
        )

    def as_line(self) -> dict[str, int | float]:
        """The same as one line of a file."""
        line: dict[str, int | float] = {end.value: n for end, n in self.endings.items() if n}
        line.update({name: getattr(self, name) for name in _SUMS if getattr(self, name)})
        return line


_SUMS: Final = ("bytes_read", "bytes_written", "seconds_saved", "seconds_spent")


_Sums = defaultdict[str, int | float]


class Statistics:
    """What one process counts; flushed to a directory now and then, if there is one.

    >>> statistics = Statistics()
    >>> statistics.count(Ending.HIT, bytes_read=100)
    >>> statistics.totals.hits, statistics.totals.bytes_read
    (1, 100)
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self._directory = directory
        self._lock = RLock()  # a signal handler may count too
        self._all: _Sums = defaultdict(int)
        self._flushed: _Sums = defaultdict(int)
        self._hits = self._hit_bytes = 0
        self._hit_seconds = 0.0
        self._next_flush = time.monotonic() + FLUSH_EVERY
        self._to_do: list[Callable[[], None]] = []
        _ALIVE.add(self)

    @property
    def totals(self) -> Totals:
        """What this process has counted so far."""
        with self._lock:
            self._gather()
            return Totals._sum([dict(self._all)])

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
        counted = self._all
        with self._lock:
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

    def hit(self, bytes_read: int, seconds_saved: float) -> None:
        """Count a hit. The same as `count`, for the hot path: 0.3 us instead of 1."""
        with self._lock:
            self._hits += 1
            self._hit_bytes += bytes_read
            self._hit_seconds += seconds_saved
        if time.monotonic() >= self._next_flush:
            self.flush()

    def _gather(self) -> None:
        """Add the hits to all else. With the lock held."""
        if self._hits:
            self._all[Ending.HIT.value] += self._hits
            self._all["bytes_read"] += self._hit_bytes
            self._all["seconds_saved"] += self._hit_seconds
            self._hits = self._hit_bytes = 0
            self._hit_seconds = 0.0

    def when_flushed(self, do: Callable[[], None]) -> None:
        """Do something once, when the statistics are next written: soon, or when this ends."""
        self._to_do.append(do)

    def flush(self) -> None:
        """Append what is new to the directory. Trouble there is no trouble here."""
        to_do, self._to_do = self._to_do, []
        for do in to_do:
            do()
        with self._lock:
            self._next_flush = time.monotonic() + FLUSH_EVERY
            self._gather()
            new = {name: n - self._flushed[name] for name, n in self._all.items()}
            new = {name: n for name, n in new.items() if n}
            if not new or self._directory is None:
                return
            line = json.dumps(new, separators=(",", ":")).encode() + b"\n"
            with contextlib.suppress(OSError):  # then it is for the next time
                _append(os.fspath(self._directory), line)
                self._flushed = defaultdict(int, self._all)

    def forget(self) -> None:
        """Begin again at nothing."""
        self._lock = RLock()  # after a fork, another thread may hold the old one
        self._all = defaultdict(int)
        self._flushed = defaultdict(int)
        self._hits = self._hit_bytes = 0
        self._hit_seconds = 0.0


_ALIVE: Final[weakref.WeakSet[Statistics]] = weakref.WeakSet()


def _flush_all() -> None:
    for statistics in list(_ALIVE):
        statistics.flush()


def _forget_all() -> None:
    for statistics in list(_ALIVE):
        statistics.forget()


def _join_multiprocessing() -> None:
    """Processes of multiprocessing end without `atexit`: have them flush in their own way."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _joined:
        _joined.append(True)
        util.register_after_fork(
            _flush_all, lambda flush: util.Finalize(None, flush, exitpriority=0)
        )


_joined: Final[list[bool]] = []
atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_join_multiprocessing, after_in_child=_forget_all)


def _append(directory: str, line: bytes) -> None:
    path = os.path.join(directory, f"{os.getpid() % SHARDS:02}.jsonl")
    try:
        append_small(path, line)
    except FileNotFoundError:
        if not os.path.isdir(
            os.path.dirname(directory)
        ):  # the store is gone; that is not ours to undo
            return
        make_directory(directory)
        append_small(path, line)


def _files(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.name.endswith(".jsonl"))
    except OSError:
        return []


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        texts = path.read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for text in texts:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if type(line) is dict:
            found.append(line)
    return found


def compact(directory: Path) -> None:
    """Replace the lines of long files by their sum. For one process at a time."""
    for path in _files(directory):
        with contextlib.suppress(OSError):
            if path.stat().st_size < COMPACT_FROM:
                continue
            taken = path.with_suffix(f".{os.getpid()}.taken.jsonl")
            path.rename(taken)  # whoever appends from now on makes a new file
            time.sleep(0.01)  # ... and whoever had it open has written by now
            line = json.dumps(Totals._sum(_lines(taken)).as_line(), separators=(",", ":"))
            summed = taken.with_suffix(".sum")
            write_small(str(summed), line + "\n")
            summed.replace(taken)  # at every moment there are the lines or their sum
