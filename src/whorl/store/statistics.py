"""Endings in, their sums out: per process, and for all processes that used a directory.

A process appends what it has counted since the last time as one line of JSON to one of a few
files. Lines are short and appended in one write, so processes do not wait for each other and
need no lock. Adding up all lines gives the sums; lines that make no sense are passed over.

    line    = {ending or sum: number..., "day": days since 1970,
               "programs": {name: [found, made, seconds saved, seconds spent]},
               "causes": {why something was made: number}}

Where WHORL_SUMMARY names a file, the same lines are appended to it.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from whorl import settings
from whorl.late import dataclass, field, replace
from whorl.locks import RLock

from .atomic_file import append_small, make_directory, write_small
from .ending import Ending

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.errors import BadSetting

__all__ = ["ProgramTotals", "Statistics", "Totals"]

SHARDS: Final = 16
FLUSH_EVERY: Final = 5.0  # seconds
_ABSURD: Final = 1 << 63
COMPACT_FROM: Final = 1 << 16  # bytes of a file that is added up when somebody collects
COMPACT_AT: Final = 1 << 20  # ... and when somebody notices
_TAKEN: Final = ".taken.jsonl"
DAY: Final = 86400
DAYS_KEPT: Final = 730
PROGRAMS_KEPT: Final = 1000  # in one line: those that were used most
_NAME: Final = 300  # characters of a program's name


@dataclass(frozen=True, slots=True)
class ProgramTotals:
    """How often something of a program was found or made, and what that saved and took.

    >>> ProgramTotals(found=3, saved=1.5).made
    0
    """

    found: int = 0
    made: int = 0
    saved: float = 0.0
    spent: float = 0.0


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
    programs: Mapping[str, ProgramTotals] = field(default_factory=dict)
    causes: Mapping[str, int] = field(default_factory=dict)

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
    def in_file(cls, path: Path) -> Totals:
        """The sums of a file that WHORL_SUMMARY named."""
        return cls._sum(_lines(path))

    @classmethod
    def by_day(cls, directory: Path) -> dict[int, Totals]:
        """The same for each day since 1970, as far as that is known."""
        return _by_day(line for file in _files(directory) for line in _lines(file))

    @classmethod
    def _sum(cls, lines: Iterable[Mapping[str, Any]]) -> Totals:
        endings: Counter[Ending] = Counter()
        sums: Counter[str] = Counter()
        programs: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])
        causes: Counter[str] = Counter()
        names = {ending.value: ending for ending in Ending}
        for line in lines:
            _add_programs(programs, line.get("programs"))
            _add_causes(causes, line.get("causes"))
            for name, number in line.items():
                if not _is_number(number):
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
            {
                name: ProgramTotals(int(found), int(made), saved, spent)
                for name, (found, made, saved, spent) in programs.items()
            },
            dict(causes),
        )

    def as_line(self) -> dict[str, Any]:
        """The same as one line of a file."""
        line: dict[str, Any] = {end.value: n for end, n in self.endings.items() if n}
        line.update({name: getattr(self, name) for name in _SUMS if getattr(self, name)})
        if self.programs:
            most = sorted(self.programs.items(), key=lambda row: -row[1].found - row[1].made)
            line["programs"] = {
                name: [sums.found, sums.made, sums.saved, sums.spent]
                for name, sums in most[:PROGRAMS_KEPT]
            }
        if self.causes:
            line["causes"] = dict(self.causes)
        return line


def _is_number(number: object) -> bool:
    return type(number) in (int, float) and abs(cast("float", number)) < _ABSURD


def _add_programs(programs: defaultdict[str, list[float]], rows: object) -> None:
    if type(rows) is not dict:
        return
    for name, row in rows.items():
        if type(row) is list and len(row) == 4 and all(map(_is_number, row)):
            sums = programs[name]
            for i, number in enumerate(row):
                sums[i] += number


def _add_causes(causes: Counter[str], rows: object) -> None:
    if type(rows) is dict:
        causes.update({name: n for name, n in rows.items() if type(n) is int and _is_number(n)})


def _by_day(lines: Iterable[Mapping[str, Any]]) -> dict[int, Totals]:
    days: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        day = line.get("day", 0)
        days[day if type(day) is int and 0 <= day < 1_000_000 else 0].append(line)
    return {day: Totals._sum(found) for day, found in sorted(days.items())}


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
        self._programs: dict[str, list[float]] = {}
        self._programs_flushed: dict[str, list[float]] = {}
        self._causes: Counter[str] = Counter()
        self._causes_flushed: Counter[str] = Counter()
        self._next_flush = time.monotonic() + FLUSH_EVERY
        self._to_do: list[Callable[[], None]] = []
        _ALIVE.add(self)

    @property
    def totals(self) -> Totals:
        """What this process has counted so far."""
        with self._lock:
            self._gather()
            line: dict[str, Any] = dict(self._all)
            return Totals._sum([{**line, "programs": self._programs, "causes": {**self._causes}}])

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

    def found(self, program: str, seconds_saved: float) -> None:
        """Count for a program that something of it was found; `hit` counts the lookup. 0.4 us."""
        with self._lock:
            row = self._programs.get(program)
            if row is None:
                row = self._programs[program] = [0, 0, 0.0, 0.0]
            row[0] += 1
            row[2] += seconds_saved

    def made(self, program: str, seconds_spent: float, cause: str = "") -> None:
        """Count for a program that something of it was made, and why."""
        with self._lock:
            row = self._programs.setdefault(program, [0, 0, 0.0, 0.0])
            row[1] += 1
            row[3] += seconds_spent
            if cause:
                self._causes[cause] += 1

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
            new: dict[str, Any] = {name: n - self._flushed[name] for name, n in self._all.items()}
            new = {name: n for name, n in new.items() if n}
            new.update(self._new_rows())
            summary = _summary()
            if not new or (self._directory is None and not summary):
                return
            new["day"] = int(time.time()) // DAY
            line = json.dumps(new, separators=(",", ":")).encode() + b"\n"
            with contextlib.suppress(OSError):  # then it is for the next time
                if self._directory is not None:
                    size = _append(os.fspath(self._directory), line)
                    if size >= COMPACT_AT:
                        from pathlib import Path  # which a process that counts has no need of

                        compact(Path(self._directory))
                self._flushed = defaultdict(int, self._all)
                self._programs_flushed = {name: [*row] for name, row in self._programs.items()}
                self._causes_flushed = Counter(self._causes)
            if summary:
                with contextlib.suppress(OSError):
                    append_small(summary, line)

    def _new_rows(self) -> dict[str, Any]:
        """What is new of programs and causes. With the lock held."""
        nothing = [0, 0, 0.0, 0.0]
        programs = {
            name[:_NAME]: [n - m for n, m in zip(row, before, strict=True)]
            for name, row in self._programs.items()
            if row != (before := self._programs_flushed.get(name, nothing))
        }
        causes = dict(self._causes - self._causes_flushed)
        rows = {"programs": programs, "causes": causes}
        return {name: found for name, found in rows.items() if found}

    def forget(self) -> None:
        """Begin again at nothing."""
        self._lock = RLock()  # after a fork, another thread may hold the old one
        self._all = defaultdict(int)
        self._flushed = defaultdict(int)
        self._hits = self._hit_bytes = 0
        self._hit_seconds = 0.0
        self._programs, self._programs_flushed = {}, {}
        self._causes, self._causes_flushed = Counter(), Counter()


def _bad_setting() -> type[BadSetting]:
    from whorl.errors import BadSetting  # imported if there is an error to compare with it

    return BadSetting


def _summary() -> str:
    """The file that wants to know too."""
    try:
        return settings.current().summary.value
    except _bad_setting():  # whoever reads it for the program has said so
        return ""


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
    """Replace the lines of long files by their sums, unless another process does."""
    from filelock import FileLock, Timeout

    lock = FileLock(
        directory / "compacting", thread_local=False, mode=0o600, fallback_to_soft=False
    )
    with contextlib.suppress(OSError, Timeout, NotImplementedError):
        if directory.is_dir():
            with lock.acquire(timeout=0):
                for path in _files(directory):
                    _compact_file(path)


def _compact_file(path: Path) -> None:
    """What was taken out of use is a sum already: nobody appends to it."""
    if path.name.endswith(_TAKEN) or path.stat().st_size < COMPACT_FROM:
        return
    taken = path.with_suffix(f".{os.getpid()}-{time.time_ns():x}{_TAKEN}")
    path.rename(taken)  # whoever appends from now on makes a new file
    time.sleep(0.01)  # ... and whoever had it open has written by now
    lines = [json.dumps(line, separators=(",", ":")) for line in _summed(_lines(taken))]
    summed = taken.with_suffix(".sum")
    write_small(str(summed), "\n".join(lines) + "\n")
    summed.replace(taken)  # at every moment there are the lines or their sum


def _summed(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line for each day, the days before the last ones together; programs in one line."""
    days = _by_day(lines)
    first = max(days, default=0) - DAYS_KEPT
    late = {day: sums for day, sums in days.items() if day >= first}
    early = Totals._sum(sums.as_line() for day, sums in days.items() if day < first)
    for day, sums in ((0, early), *late.items()):
        line = replace(sums, programs={}, causes={}).as_line()
        if line:
            yield {**line, "day": day} if day else line
    everything = Totals._sum(lines)
    if everything.programs or everything.causes:
        yield Totals(programs=everything.programs, causes=everything.causes).as_line()
