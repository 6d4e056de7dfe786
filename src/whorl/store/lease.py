"""A key in, the right to make its entry out: held by one process at a time.

A lease is a locked file. The system lets go of it when its holder ends in any way, so a
killed producer is replaced at once. Where files cannot be locked there are no leases, and
work may be done twice; it is never done wrongly, because nothing relies on a lease but the
saving of work.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final

from .atomic_file import make_directory, read_small, write_small
from .file_lock import locked

if TYPE_CHECKING:
    from .file_lock import Lock

__all__ = ["HELD", "NO_LEASES", "Held", "Lease", "Leases", "NoLeases"]


_LONGEST_NUMBER: Final = 20  # digits of a process number, and some


class Held:
    """Somebody else has the lease."""


class NoLeases:
    """There are no leases here: files cannot be locked."""


HELD: Final = Held()
NO_LEASES: Final = NoLeases()


class Lease:
    """The right to make one entry, until it is released."""

    def __init__(self, lock: Lock, path: str) -> None:
        self._lock = lock
        self._path = path

    def release(self, *, done: bool) -> None:
        """Let others have it. If the entry is made, nobody needs the file any more."""
        if done:
            with contextlib.suppress(OSError, MemoryError):
                os.unlink(f"{self._path}.holder")
            if sys.platform != "win32":  # there, a file that is open cannot go
                with contextlib.suppress(OSError, MemoryError):
                    os.unlink(self._path)
        with contextlib.suppress(OSError, MemoryError):
            self._lock.release()


class Leases:
    """The leases in a directory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     leases = Leases(directory)
    ...     lease = leases.take("key")
    ...     leases.take("key") is HELD, leases.holder("key") == f"process {os.getpid()}"
    ...     lease.release(done=True)
    ...     isinstance(leases.take("key"), Lease)
    (True, True)
    True
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)

    @property
    def place(self) -> str:
        """Where they are: two objects for one place are the same leases."""
        return self._directory

    def take(self, name: str) -> Lease | Held | NoLeases:
        """The lease, if nobody has it."""
        path = f"{self._directory}{os.sep}{name}"
        try:
            if not os.path.isdir(self._directory):
                make_directory(self._directory)
            lock = locked(path)
        except (OSError, MemoryError, NotImplementedError):
            return NO_LEASES
        if lock is None:
            return HELD
        with contextlib.suppress(OSError, MemoryError):
            write_small(f"{path}.holder", str(os.getpid()))
        return Lease(lock, path)

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""
        try:
            holder = read_small(f"{self._directory}{os.sep}{name}.holder", _LONGEST_NUMBER)
            return f"process {int(holder)}"
        except (OSError, MemoryError, ValueError):
            return "another process"
