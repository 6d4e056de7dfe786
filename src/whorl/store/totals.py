"""Sums of what was found and made: of one process, or of all that used a directory.

Adding up all lines of all files in a directory gives the sums; lines that make no sense are passed
over. `statistics` says what is in a line, and writes them. Long files are replaced by their sums
now and then.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from whorl.fast_dataclasses import dataclass, field, replace
from whorl.lazy import load

from .atomic_file import read_small, write_small
from .file_lock import lock_file
from .outcome import Ending

__all__ = ["ProgramTotals", "Totals", "compact"]

_ABSURD: Final = 1 << 63
COMPACT_FROM: Final = 1 << 16  # bytes of a file that is added up when somebody collects
READ_AT_MOST: Final = 1 << 24  # bytes of a file: whorl adds up its own long before that
_TAKEN: Final = ".taken.jsonl"
DAYS_KEPT: Final = 730
PROGRAMS_KEPT: Final = 1000  # in one line: those that were used most
_SUMS: Final = ("bytes_read", "bytes_written", "seconds_saved", "seconds_spent")


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
    def of_line(cls, line: Mapping[str, Any]) -> Totals:
        """The sums in one line."""
        return cls._sum([line])

    @classmethod
    def of(cls, directory: str | os.PathLike[str]) -> Totals:
        """The sums of all processes that flushed into a directory."""
        return cls._sum(line for file in _files(directory) for line in _lines(file))

    @classmethod
    def in_file(cls, path: str | os.PathLike[str]) -> Totals:
        """The sums of a file that WHORL_SUMMARY named."""
        try:
            with open(path, "rb") as file:  # a link will do: the user has named it
                return cls._sum(_lines_of(file.read(READ_AT_MOST)))
        except (OSError, MemoryError):
            return cls()

    @classmethod
    def by_day(cls, directory: str | os.PathLike[str]) -> dict[int, Totals]:
        """The same for each day since 1970, as far as that is known."""
        return _by_day(line for file in _files(directory) for line in _lines(file))

    @classmethod
    def _sum(cls, lines: Iterable[Mapping[str, Any]]) -> Totals:
        endings: Counter[Ending] = Counter()
        sums: Counter[str] = Counter()
        programs: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])
        causes: Counter[str] = Counter()
        tiers: defaultdict[str, Counter[str]] = defaultdict(Counter)
        names = {ending.value: ending for ending in Ending}
        for line in lines:
            _add_programs(programs, line.get("programs"))
            _add_causes(causes, line.get("causes"))
            _add_tiers(tiers, line.get("tiers"))
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
            {name: dict(row) for name, row in tiers.items()},
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
        if self.tiers:
            line["tiers"] = {name: dict(row) for name, row in self.tiers.items()}
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


def _add_tiers(tiers: defaultdict[str, Counter[str]], rows: object) -> None:
    if type(rows) is not dict:
        return
    for name, row in rows.items():
        if type(row) is dict:
            numbers = {what: number for what, number in row.items() if _is_number(number)}
            tiers[name].update(numbers)


def _by_day(lines: Iterable[Mapping[str, Any]]) -> dict[int, Totals]:
    days: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        day = line.get("day", 0)
        days[day if type(day) is int and 0 <= day < 1_000_000 else 0].append(line)
    return {day: Totals._sum(lines) for day, lines in sorted(days.items())}


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


def _summed(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line for each day, the days before the last ones together; programs in one line."""
    days = _by_day(lines)
    first = max(days, default=0) - DAYS_KEPT
    late = {day: sums for day, sums in days.items() if day >= first}
    early = Totals._sum(sums.as_line() for day, sums in days.items() if day < first)
    for day, sums in ((0, early), *late.items()):
        line = replace(sums, programs={}, causes={}, tiers={}).as_line()
        if line:
            yield {**line, "day": day} if day else line
    everything = Totals._sum(lines)
    rest = Totals(
        programs=everything.programs, causes=everything.causes, tiers=everything.tiers
    ).as_line()
    if rest:
        yield rest
