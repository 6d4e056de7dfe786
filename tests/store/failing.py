"""System calls that fail: the n-th one of a block, with an error of choice."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

CALLS: Final = (
    "open", "read", "readv", "write", "close", "fsync", "fstat", "stat", "lstat", "lseek",
    "rename", "replace", "link", "unlink", "mkdir", "rmdir", "chmod", "fchmod", "utime", "listdir",
    "scandir", "truncate",
)  # fmt: skip

ERRORS: Final = ("EIO", "ENOSPC", "ESTALE", "EACCES", "EINTR", "MemoryError")


def raised(error: str) -> BaseException:
    """What a system call raises that fails like this."""
    if error == "MemoryError":
        return MemoryError()
    number = getattr(errno, error)
    return OSError(number, os.strerror(number))


class Failing:
    """Counts the system calls of a block, and lets the n-th fail, or every one from there on."""

    def __init__(self, number: int, error: str, *, from_there_on: bool, only_in: str = "") -> None:
        self._number = number
        self._error = error
        self._from_there_on = from_there_on
        self._only_in = only_in  # a part of the path of the file that makes the call
        self.count = 0

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if self._only_in and not _is_called_in(self._only_in):
                return real(*args, **options)
            self.count += 1
            is_due = self.count == self._number or (
                self._from_there_on and self.count > self._number
            )
            if not is_due:
                return real(*args, **options)
            if name == "close":  # which lets go of the file whatever it says
                real(*args, **options)
            raise raised(self._error)

        return call


def _is_called_in(part: str) -> bool:
    frame = sys._getframe(2)
    for _ in range(3):  # `os.path` and `pathlib` make calls for others
        if frame is None or part in frame.f_code.co_filename:
            return frame is not None
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return False


@contextmanager
def failing(
    number: int, error: str, *, from_there_on: bool = False, only_in: str = ""
) -> Iterator[Failing]:
    """Let the n-th system call in the block fail; number 0 lets none, and counts them."""
    fails = Failing(number or sys.maxsize, error, from_there_on=from_there_on, only_in=only_in)
    kept = [(os, name, getattr(os, name)) for name in CALLS] + [(fcntl, "flock", fcntl.flock)]
    try:
        for module, name, real in kept:
            setattr(module, name, fails.wrapped(name, real))
        yield fails
    finally:
        for module, name, real in kept:
            setattr(module, name, real)


class OpenFiles:
    """The files that this process has open, to be compared with those that it has open later.

    Only further files count: a file of an earlier test may be closed at any time, when the garbage
    collector finds what holds it.
    """

    def __init__(self) -> None:
        gc.collect()
        self._descriptors = _descriptors()

    def leaks(self) -> set[str]:
        """The descriptors that are open now and were not open then."""
        return _descriptors() - self._descriptors


def _descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}  # and what this takes itself
