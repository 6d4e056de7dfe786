"""Bytes in, a file that is there whole or not at all out."""

from __future__ import annotations

import contextlib
import os
from itertools import count
from typing import Final

__all__ = ["append_small", "make_directory", "sync_directories", "write_file", "write_small"]

_NUMBER: Final = count()
_PROCESS: Final = os.urandom(4).hex()  # process numbers may meet on a shared file system
_NEW: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)

_SMALL: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
_APPENDED: Final = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_APPEND
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe in its place must not hold us up
)


def write_file(path: str, data: bytes | memoryview, beside: str, *, sync: bool = False) -> None:
    """Write a file under a name of its own in the directory `beside`, then give it its name.

    `sync` waits until the bytes and the name are on the disk. Whatever happens, the file that
    was there before stays whole until the new one takes its place.
    """
    temporary, file = _new_file(beside)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            if hasattr(os, "fchmod"):
                os.fchmod(file, 0o600)  # whatever the umask has left of it
            if sync:
                os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if sync:
        _sync_directory(os.path.dirname(path))


def _new_file(directory: str) -> tuple[str, int]:
    """A file that nobody has, open for writing."""
    while True:
        path = f"{directory}{os.sep}{_PROCESS}-{os.getpid()}-{next(_NUMBER)}"
        with contextlib.suppress(FileExistsError):  # left by a killed process of the same number
            return path, os.open(path, _NEW, 0o600)


def sync_directories(path: str, upto: str) -> None:
    """Wait until the names of the directories above a path are on the disk."""
    directory = os.path.dirname(path)
    while True:
        _sync_directory(directory)
        if directory in (os.path.dirname(upto), os.path.dirname(directory)):
            return
        directory = os.path.dirname(directory)


def _sync_directory(directory: str) -> None:
    with contextlib.suppress(OSError):  # some systems cannot open directories
        file = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def make_directory(directory: str) -> None:
    """Make a directory for this user alone, and those above it as far as they are missing."""
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        above = os.path.dirname(directory)
        if not os.path.lexists(above):
            make_directory(above)
        # If that is there and this still fails, it is a link that leads nowhere, or a place where
        # nothing can be.
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700)
    with contextlib.suppress(OSError):
        os.chmod(directory, 0o700)  # whatever the umask has left of it


def write_small(path: str, text: str) -> None:
    """Write a file of a few bytes, for this user alone, whose loss does no harm."""
    file = os.open(path, _SMALL, 0o600)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)
        os.write(file, text.encode("utf-8", "backslashreplace"))
    finally:
        os.close(file)


def append_small(path: str, data: bytes) -> int:
    """Append a few bytes in one write; the size of the file after that."""
    file = os.open(path, _APPENDED, 0o600)
    try:
        size = os.fstat(file).st_size
        if not size and hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)
        os.write(file, data)
        return os.fstat(file).st_size
    finally:
        os.close(file)
