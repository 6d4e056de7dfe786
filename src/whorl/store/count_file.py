"""What a process has counted since the last time in, one line of JSON in a file out.

Lines are short and appended in one write to one of a few files, so processes do not wait for each
other and need no lock. `totals` adds them up.

    line    = {ending or sum: number..., "day": days since 1970,
               "programs": {name: [found, made, seconds saved, seconds spent]},
               "causes": {why something was made: number}}

Where WHORL_SUMMARY names a file, the same lines are appended to it.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from typing import Any, Final, cast

from whorl import settings
from whorl.errors import BadSetting
from whorl.lazy import importing, load

from .atomic_file import append_small, close_quietly, make_directory
from .statistics import Counts

__all__ = ["flushed"]

SHARDS: Final = 16
COMPACT_AT: Final = 1 << 20  # bytes of a file that is added up when somebody notices
DAY: Final = 86400
_NAME: Final = 300  # characters of a program's name


def flushed(counts: Counts, before: Counts, directory: str | os.PathLike[str] | None) -> Counts:
    """Append what is new since `before`; what is written by now. Trouble is for the next time."""
    new = _new(counts, before)
    summary = _summary()
    if not new or (directory is None and not summary):
        return before
    new["day"] = int(time.time()) // DAY
    line = _text_of(new).encode("ascii") + b"\n"
    written = before
    with contextlib.suppress(OSError, MemoryError):
        if directory is not None:
            size = _append(os.fspath(directory), line)
            if size >= COMPACT_AT:
                with importing:
                    from pathlib import Path  # which a process that counts has no need of

                    from .totals import compact

                compact(Path(directory))
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
