"""The journal: the last misses of all processes, with their causes; and how a miss is recorded.

    root/journal/misses.jsonl       one line of JSON per miss, the last at the end
    root/journal/misses.old.jsonl   the lines before these

When a missing entry has been produced, a line is appended in one write, so no process waits for
another. A file that has become long replaces the old one, so both together stay below twice
`LONGEST`. Invalid lines are skipped. A program never fails because of the journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from whorl.errors import RequiredHit
from whorl.fast_dataclasses import NamedTuple, dataclass, replace
from whorl.settings import current

from .atomic_file import append_small, make_directory, read_small
from .outcome import Ending
from .statistics import Statistics

LONGEST: Final = 1 << 19  # bytes of a file
DIFFERENCES: Final = 24  # of one miss that are kept
TEXT: Final = 300  # characters of a text that are kept
_ABSURD: Final = 1e11  # seconds: the year 5138
_READ_AT_MOST: Final = 4 * LONGEST

# Causes of misses, as they are counted.
FIRST_COMPILE: Final = "first compile"
EDITED: Final = "its code was edited"
READ_DIFFERS: Final = "a read differs"
GONE: Final = "no longer stored"


class Change(NamedTuple):
    """One read, or part of a key, that differs from the nearest earlier result.

    >>> print(Change("global:solver.SCALE", "2.0", "3.0", "solver.py:7: `x * SCALE`"))
    global:solver.SCALE: 2.0 -> 3.0  (read at solver.py:7: `x * SCALE`)
    """

    path: str
    old: str
    new: str
    line: str = ""
    is_ambient: bool = False  # not reached through an argument; the journal leaves it out

    def __str__(self) -> str:
        at = f"  (read at {self.line})" if self.line else ""
        return f"{self.path}: {self.old} -> {self.new}{at}"


_FIELDS: Final = ("path", "old", "new", "line")  # of a change, in the journal


@dataclass(frozen=True, slots=True)
class Miss:
    """A lookup that found nothing, and what came of it.

    `cause` is one of a few words that can be counted, `reason` the same at length. `seconds` is
    how long the production took; `key` names the new entry, and is empty if nothing was stored.

    >>> Miss("solver.step", "first compile", "first compile").ending
    'made'
    """

    program: str
    cause: str
    reason: str
    differences: tuple[Change, ...] = ()
    left_out: int = 0  # differences that are not kept
    time: float = 0.0
    seconds: float = 0.0
    ending: str = "made"  # or: waited for another, raised ..., refused
    key: str = ""
    process: int = 0

    def as_plain(self) -> dict[str, Any]:
        """The same as what JSON has.

        >>> Miss.from_plain(Miss("f", "first compile", "first compile").as_plain()).program
        'f'
        """
        return {
            "time": self.time, "program": self.program, "cause": self.cause, "reason": self.reason,
            "differences": [dict(zip(_FIELDS, each, strict=False)) for each in self.differences],
            "left_out": self.left_out, "seconds": self.seconds, "ending": self.ending,
            "key": self.key, "process": self.process,
        }  # fmt: skip

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Miss:
        """The miss in a row of JSON; ValueError if it is none."""
        try:
            at, seconds = float(plain["time"]), float(plain["seconds"])
            if not (is_time(at) and is_time(seconds)):
                raise ValueError(f"not a time: {at}, {seconds}")
            return cls(
                str(plain["program"]),
                str(plain["cause"]),
                str(plain["reason"]),
                tuple(map(_change, plain["differences"])),
                int(plain["left_out"]),
                at,
                seconds,
                str(plain["ending"]),
                str(plain["key"]),
                int(plain["process"]),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a miss: {error!r}") from error


def _change(plain: Mapping[str, Any]) -> Change:
    path, old, new, line = (str(plain[name]) for name in _FIELDS)
    return Change(path, old, new, line)


def is_time(seconds: float) -> bool:
    """Whether a number from a file can be a time or a duration in seconds.

    >>> is_time(1.7e9), is_time(-1.0), is_time(float("nan"))
    (True, False, False)
    """
    return 0 <= seconds < _ABSURD


class Journal:
    """The misses of all processes that use a directory, the last ones.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     Journal(root).note(Miss("solver.step", "first compile", "first compile"))
    ...     [miss.program for miss in Journal(root).misses()]
    ['solver.step']
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._home = os.path.join(self._root, "journal")
        self._path = os.path.join(self._home, "misses.jsonl")
        self._old = os.path.join(self._home, "misses.old.jsonl")

    def note(self, miss: Miss) -> None:
        """Append a miss; errors are ignored."""
        with contextlib.suppress(OSError, MemoryError):
            if self._append(_line(miss)) >= LONGEST and os.lstat(self._path).st_size >= LONGEST:
                os.replace(self._path, self._old)

    def _append(self, line: bytes) -> int:
        try:
            return append_small(self._path, line)
        except FileNotFoundError:
            if not os.path.isdir(self._root):  # the store is gone; that is not ours to undo
                return 0
            make_directory(self._home)
            return append_small(self._path, line)

    def misses(self) -> list[Miss]:
        """The misses in both files, the oldest first."""
        misses = [*_read(self._old), *_read(self._path)]
        return sorted(misses, key=lambda miss: miss.time)


def _line(miss: Miss) -> bytes:
    """A miss as a line of bounded length. It begins with a new line: a torn one before it stays
    alone."""
    plain = miss.as_plain()
    first = plain["differences"][:DIFFERENCES]
    plain["left_out"] += len(plain["differences"]) - len(first)
    plain["differences"] = [{name: _short(text) for name, text in each.items()} for each in first]
    for name in ("program", "cause", "reason", "ending", "key"):
        plain[name] = _short(plain[name])
    plain["time"] = round(miss.time or time.time(), 3)
    plain["seconds"] = round(miss.seconds, 6)
    plain["process"] = miss.process or os.getpid()
    return f"\n{json.dumps(plain, separators=(',', ':'))}\n".encode("ascii")


def _short(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"


def _read(path: str) -> Iterator[Miss]:
    try:
        data = read_small(path, _READ_AT_MOST)
    except (OSError, MemoryError):
        return
    for text in data.split(b"\n"):
        if not text:
            continue
        with contextlib.suppress(ValueError, RecursionError):
            plain = json.loads(text)
            if type(plain) is dict:
                yield Miss.from_plain(plain)


# -- recording a miss ------------------------------------------------------------------
#
# Records the outcome of a miss in the statistics and the journal, or refuses the miss.
#
# Used wherever something is produced after a miss: by kernels and by cached functions.


def is_hit_required() -> bool:
    """Whether a miss is an error: WHORL_REQUIRE_HIT, or `whorl.configure(require_hit=True)`.

    >>> is_hit_required()
    False
    """
    return current().require_hit.value


class MissOutcome:
    """The outcome of a miss, filled in while it is produced."""

    __slots__ = ("how", "key")

    def __init__(self) -> None:
        self.key: object = None  # of what was produced, if it is kept
        self.how: Ending | None = None  # None: it is for this process only, and not counted


@contextlib.contextmanager
def record_miss(
    miss: Miss, why: object, statistics: Statistics, journal: Journal | None, cache: str = "on"
) -> Iterator[MissOutcome]:
    """Produce what was missing in the block; the outcome is counted and written to the journal.

    Raises `RequiredHit` with `why` and the state of the cache before that where a miss is an error.

    >>> statistics = Statistics()
    >>> with record_miss(Miss("m.f", "first call", ""), "", statistics, None) as outcome:
    ...     outcome.how = Ending.PRODUCED
    >>> statistics.totals.programs["m.f"].made
    1
    """
    if is_hit_required():
        if journal is not None:
            journal.note(replace(miss, ending="refused"))
        raise RequiredHit(miss.program, str(why), cache)
    start = time.perf_counter()
    outcome = MissOutcome()
    try:
        yield outcome
    except BaseException as error:
        miss = replace(miss, ending=f"raised {type(error).__name__}")
        raise
    else:
        if outcome.how is Ending.WAITED:
            miss = replace(miss, ending=Ending.WAITED.value)
        elif outcome.how is not None:
            statistics.made(miss.program, time.perf_counter() - start, miss.cause)
    finally:
        if journal is not None:
            seconds = time.perf_counter() - start
            journal.note(replace(miss, seconds=seconds, key=str(outcome.key or "")))
