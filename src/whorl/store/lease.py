"""Leases: who produces what. Those of a directory are locked files.

The system lets go of a lock when its holder ends in any way, so a killed producer is replaced at
once. Where files cannot be locked there are no leases, and work may be done twice; it is never
done wrongly.
"""

from __future__ import annotations

import contextlib
import os
import sys
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from .atomic_file import make_directory, read_small, write_small
from .file_lock import lock_file

if TYPE_CHECKING:
    from .file_lock import Lock

__all__ = ["DirectoryLeases", "Lease", "Leases", "NoLease"]

_LONGEST_NUMBER: Final = 20  # digits of a process number, and some


class Lease(Protocol):
    """The right to produce one entry, until it is released."""

    def release(self, *, done: bool) -> None:
        """Let others have it; `done` if the entry is there now."""


class NoLease(Enum):
    """Why a lease was not granted."""

    HELD = "another has it"
    UNAVAILABLE = "there are no leases here"


class Leases(Protocol):
    """Leases by name, for everybody who shares a store.

    Nothing relies on a lease but the saving of work: who gets none may produce all the same.
    """

    @property
    def place(self) -> str:
        """Where they are: two objects for one place are the same leases."""

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it. This does not wait."""

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""


class _FileLease:
    """The right to produce one entry, as long as a file is locked."""

    def __init__(self, lock: Lock, path: str) -> None:
        self._lock = lock
        self._path = path

    def release(self, *, done: bool) -> None:
        """Let others have it. If the entry is there, nobody needs the file any more."""
        if done:
            with contextlib.suppress(OSError, MemoryError):
                os.unlink(f"{self._path}.holder")
            if sys.platform != "win32":  # there, a file that is open cannot go
                with contextlib.suppress(OSError, MemoryError):
                    os.unlink(self._path)
        with contextlib.suppress(OSError, MemoryError):
            self._lock.release()


class DirectoryLeases:
    """The leases in a directory: those of all processes whose locks meet there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     leases = DirectoryLeases(directory)
    ...     lease = leases.take("key")
    ...     leases.take("key") is NoLease.HELD, leases.holder("key") == f"process {os.getpid()}"
    ...     lease.release(done=True)
    ...     isinstance(leases.take("key"), NoLease)
    (True, True)
    False
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)

    @property
    def place(self) -> str:
        """Where they are: two objects for one place are the same leases."""
        return self._directory

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it."""
        path = f"{self._directory}{os.sep}{name}"
        try:
            if not os.path.isdir(self._directory):
                make_directory(self._directory)
            lock = lock_file(path)
        except (OSError, MemoryError, NotImplementedError):
            return NoLease.UNAVAILABLE
        if lock is None:
            return NoLease.HELD
        with contextlib.suppress(OSError, MemoryError):
            write_small(f"{path}.holder", str(os.getpid()))
        return _FileLease(lock, path)

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""
        try:
            holder = read_small(f"{self._directory}{os.sep}{name}.holder", _LONGEST_NUMBER)
            return f"process {int(holder)}"
        except (OSError, MemoryError, ValueError):
            return "another process"
