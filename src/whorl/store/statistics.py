"""What processes count, the lines in which it is written down, and their sums.

Counting is all that a process does before its first result. Every few seconds, and when it ends,
what is new is appended to a file of the directory, as one line of JSON. Lines are short and
appended in one write to one of a few files, so processes do not wait for each other and need no
lock. `Totals` adds them up.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from whorl import settings
from whorl.artifacts.entry import seconds_in
from whorl.errors import BadSetting
from whorl.fast_dataclasses import dataclass, field
from whorl.lazy import load
from whorl.locks import ForkSafeLock, reset_in_child

from .atomic_file import (
    append_small,
    close_quietly,
    lock_file,
    make_directory,
    read_small,
    write_small,
)
from .outcome import Ending

FLUSH_EVERY: Final = 5.0  # seconds
_HITS_KEPT: Final = 1000  # before they are added up
_HIT: Final = Ending.HIT.value
SHARDS: Final = 16
COMPACT_AT: Final = 1 << 20  # bytes of a file that is added up when somebody notices
DAY: Final = 86400
_NAME: Final = 300  # characters of a program's name


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
        self._counts: Line = {}  # all else
        self._flushed: Line = {}  # what was written down
        _ALIVE.add(weakref.ref(self, _ALIVE.discard))
        reset_in_child(self)

    def reset_in_child(self) -> None:
        """Begin again at nothing: what the parent counted, it writes down itself."""
        self._hits = []
        self._counts, self._flushed = {}, {}

    @property
    def totals(self) -> Totals:
        """What this process has counted so far."""
        with self._lock:
            return Totals.of_lines([self._gathered()])

    def count(self, ending: Ending, number: int = 1, **sums: float) -> None:
        """Count an ending and what came with it: bytes_read, bytes_written, seconds_saved ..."""
        self._add({ending.value: number, **sums})

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

    def made(self, program: str, seconds_spent: float, cause: str = "") -> None:
        """Count for a program that something of it was made, and why."""
        causes = {cause: 1} if cause else {}
        self._add({"programs": {program: [0, 1, 0.0, seconds_spent]}, "causes": causes})

    def tier(self, name: str, **numbers: float) -> None:
        """Add to what a shared cache has done."""
        self._add({"tiers": {name: numbers}})

    def _add(self, line: Line) -> None:
        with self._lock:
            add(self._gathered(), line)
        if time.monotonic() >= self._next_flush:
            self.flush()

    def _gathered(self) -> Line:
        """All that was counted, the hits too. With the lock held."""
        counts, number = self._counts, len(self._hits)
        if number:
            hits, self._hits[:number] = self._hits[:number], ()  # others may come meanwhile
            size, time_saved, programs = 0, 0.0, Line()
            for bytes_read, saved, program in hits:
                seconds = seconds_in(saved) if isinstance(saved, bytes) else saved
                size += bytes_read
                time_saved += seconds
                if program:
                    row = programs.setdefault(program, [0, 0, 0.0, 0.0])
                    row[0] += 1
                    row[2] += seconds
            sums = {_HIT: number, "bytes_read": size, "seconds_saved": time_saved}
            add(counts, {**sums, "programs": programs})
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
            if _append_new(self._gathered(), self._flushed, self._directory):
                self._flushed = add({}, self._counts)


# -- lines -------------------------------------------------------------------------------


def _append_new(counts: Line, before: Line, directory: str | os.PathLike[str] | None) -> bool:
    """Append what is new since `before`; whether that is done. Trouble is for the next time."""
    new = _without_zeros(add(add({}, counts), before, -1))
    summary = _summary()
    if not new or (directory is None and not summary):
        return False
    for table in ("programs", "tiers"):
        if table in new:
            new[table] = {name[:_NAME]: row for name, row in new[table].items()}
    new["day"] = int(time.time()) // DAY
    is_written = False
    try:
        line = _text_of(new).encode("ascii") + b"\n"
    except (ImportError, OSError, MemoryError):  # no more files can be opened
        return False
    with contextlib.suppress(OSError, MemoryError):
        if directory is not None and _append(os.fspath(directory), line) >= COMPACT_AT:
            compact(directory)
        is_written = True
    if summary:
        with contextlib.suppress(OSError, MemoryError):
            _append_to_summary(summary, line)
    return is_written


def _without_zeros(line: Line) -> Line:
    """The numbers that are not 0, and the tables that have such."""
    inner = {n: _without_zeros(v) if type(v) is dict else v for n, v in line.items()}
    return {n: v for n, v in inner.items() if (any(v) if type(v) is list else v)}


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


# -- sums ------------------------------------------------------------------------------
#
# Sums of what was found and made: of one process, or of all that used a directory.
#
# Adding up all lines of all files in a directory gives the sums; lines that make no sense are
# passed over. `statistics` says what is in a line, and writes them. Long files are replaced by
# their sums now and then.


_ABSURD: Final = 1 << 63
COMPACT_FROM: Final = 1 << 16  # bytes of a file that is added up when somebody collects
READ_AT_MOST: Final = 1 << 24  # bytes of a file: whorl adds up its own long before that
_TAKEN: Final = ".taken.jsonl"
DAYS_KEPT: Final = 730
PROGRAMS_KEPT: Final = 1000  # in one line: those that were used most
_SUMS: Final = ("bytes_read", "bytes_written", "seconds_saved", "seconds_spent")
_TABLES: Final = ("programs", "causes", "tiers")
_ENDINGS: Final = frozenset(ending.value for ending in Ending)

Line: TypeAlias = dict[str, Any]
"""Numbers by name, and tables of numbers: see `statistics`."""


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
    tiers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

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
    def of_lines(cls, lines: Iterable[Mapping[str, Any]]) -> Totals:
        """The sums of lines; what makes no sense in them is passed over."""
        total: Line = {}
        for line in lines:
            add(total, _checked(line))
        sums = {name: total.get(name, 0) for name in _SUMS}
        programs = {
            name: ProgramTotals(int(found), int(made), saved, spent)
            for name, (found, made, saved, spent) in total.get("programs", {}).items()
        }
        return cls(
            {ending: total[ending.value] for ending in Ending if ending.value in total},
            int(sums["bytes_read"]),
            int(sums["bytes_written"]),
            float(sums["seconds_saved"]),
            float(sums["seconds_spent"]),
            programs,
            total.get("causes", {}),
            total.get("tiers", {}),
        )

    @classmethod
    def of(cls, directory: str | os.PathLike[str]) -> Totals:
        """The sums of all processes that flushed into a directory."""
        return cls.of_lines(line for file in _files(directory) for line in _lines(file))

    @classmethod
    def in_file(cls, path: str | os.PathLike[str]) -> Totals:
        """The sums of a file that WHORL_SUMMARY named."""
        try:
            with open(path, "rb") as file:  # a link will do: the user has named it
                return cls.of_lines(_lines_of(file.read(READ_AT_MOST)))
        except (OSError, MemoryError):
            return cls()

    @classmethod
    def by_day(cls, directory: str | os.PathLike[str]) -> dict[int, Totals]:
        """The same for each day since 1970, as far as that is known."""
        days = _by_day(line for file in _files(directory) for line in _lines(file))
        return {day: cls.of_lines(lines) for day, lines in days.items()}


def add(line: Line, more: Mapping[str, Any], sign: int = 1) -> Line:
    """Add the numbers of a line to those of another, table by table; the other.

    >>> add({"hit": 1, "causes": {"a": 1}}, {"hit": 2, "causes": {"b": 1}})
    {'hit': 3, 'causes': {'a': 1, 'b': 1}}
    """
    for name, value in more.items():
        if type(value) is dict:
            add(line.setdefault(name, {}), value, sign)
        elif type(value) is list:
            row = line.get(name) or [0] * len(value)
            line[name] = [one + sign * other for one, other in zip(row, value, strict=True)]
        else:
            line[name] = line[name] + sign * value if name in line else sign * value
    return line


def _checked(line: Mapping[str, Any]) -> Line:
    """What makes sense in a line: a file may hold anything."""
    checked: Line = {name: n for name, n in line.items() if name in _SUMS and _is_number(n)}
    checked |= {name: n for name, n in line.items() if name in _ENDINGS and _is_count(n)}
    for table, is_row in (("programs", _is_row), ("causes", _is_count)):
        checked[table] = {name: row for name, row in _rows(line, table) if is_row(row)}
    checked["tiers"] = {
        name: {what: number for what, number in row.items() if _is_number(number)}
        for name, row in _rows(line, "tiers")
        if type(row) is dict
    }
    return checked


def _rows(line: Mapping[str, Any], table: str) -> Iterable[tuple[str, Any]]:
    rows = line.get(table)
    return rows.items() if type(rows) is dict else ()


def _is_number(number: object) -> bool:
    return type(number) in (int, float) and abs(cast("float", number)) < _ABSURD


def _is_count(number: object) -> bool:
    return type(number) is int and _is_number(number)


def _is_row(row: object) -> bool:
    return type(row) is list and len(row) == 4 and all(map(_is_number, row))


def _by_day(lines: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    days: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        day = line.get("day", 0)
        days[day if type(day) is int and 0 <= day < 1_000_000 else 0].append(line)
    return dict(sorted(days.items()))


def _files(directory: str | os.PathLike[str]) -> list[str]:
    try:
        names = [name for name in sorted(os.listdir(directory)) if name.endswith(".jsonl")]
    except (OSError, MemoryError):
        return []
    return [os.path.join(directory, name) for name in names]


def _lines(path: str) -> Iterator[dict[str, Any]]:
    """The lines in a file of a statistics directory, as far as they can be read."""
    try:
        data = read_small(path, READ_AT_MOST)
    except (OSError, MemoryError):
        return
    yield from _lines_of(data)


def _lines_of(data: bytes) -> Iterator[dict[str, Any]]:
    json = load("json")
    for text in data.splitlines():
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if type(line) is dict:
            yield line


def compact(directory: str | os.PathLike[str]) -> None:
    """Replace the lines of long files by their sums, unless another process does."""
    with contextlib.suppress(OSError, MemoryError, NotImplementedError):
        is_there = os.path.isdir(directory)
        lock = lock_file(os.path.join(directory, "compacting")) if is_there else None
        if lock is not None:
            try:
                for path in _files(directory):
                    _compact_file(path)
            finally:
                lock.release()


def _compact_file(path: str) -> None:
    """Replace one file, unless it is a sum already, to which nobody appends."""
    if path.endswith(_TAKEN) or os.lstat(path).st_size < COMPACT_FROM:
        return
    taken = f"{path.removesuffix('.jsonl')}.{os.getpid()}-{time.time_ns():x}{_TAKEN}"
    os.rename(path, taken)  # whoever appends from now on makes a new file
    time.sleep(0.01)  # ... and whoever had it open has written by now
    before = [*_lines_of(read_small(taken, READ_AT_MOST))]  # an error leaves them as they are
    dumps = load("json").dumps
    lines = [dumps(line, separators=(",", ":")) for line in _summed(before)]
    summed = f"{taken.removesuffix('.jsonl')}.sum"
    write_small(summed, "\n".join(lines) + "\n")
    os.replace(summed, taken)  # at every moment there are the lines or their sum


def _summed(lines: list[dict[str, Any]]) -> Iterator[Line]:
    """One line for each day, the days before the last ones together; tables in one line."""
    days = _by_day(lines)
    first = max(days, default=0) - DAYS_KEPT
    sums: dict[int, Line] = {}
    tables: Line = {}
    for day, each in days.items():
        for line in map(_checked, each):
            add(tables, {name: line.pop(name) for name in _TABLES})
            add(sums.setdefault(day if day >= first else 0, {}), line)
    for day, line in sums.items():
        if any(line.values()):
            yield {**line, "day": day} if day else line
    most = sorted(tables.get("programs", {}).items(), key=lambda row: -row[1][0] - row[1][1])
    tables["programs"] = dict(most[:PROGRAMS_KEPT])
    if any(tables.values()):
        yield tables
