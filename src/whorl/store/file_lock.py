"""Locks on files: one process has such a lock at a time, and one thread of it.

Where there is `flock`, it is used as it is. `filelock` takes 15 ms to import, as much as a hit does
in all, and a child that is forked meanwhile would wait for it for ever. It knows the other systems.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from typing import TYPE_CHECKING, Final

from whorl.locks import reset_in_child

from .atomic_file import close_quietly, open_own

if TYPE_CHECKING:
    from typing import Protocol

    class Lock(Protocol):
        """A lock that is held until it is released."""

        def release(self) -> None: ...


__all__ = ["lock_file"]

_OURS_ALONE: Final = 0o600
_PAUSE: Final = 0.05  # seconds between two attempts
_CONTENTION: Final = frozenset((errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK))


def lock_file(path: str, patience: float = 0.0) -> Lock | None:
    """The lock, to be released; None if another has it for all of `patience` seconds.

    Where files cannot be locked, that is an OSError or a NotImplementedError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     lock = lock_file(f"{directory}/file")
    ...     lock is None, lock_file(f"{directory}/file") is None
    ...     lock.release()
    (False, True)
    """
    until = time.monotonic() + patience
    while True:
        lock = _try_to_lock(path)
        if lock is not None or time.monotonic() >= until:
            return lock
        time.sleep(_PAUSE)


if sys.platform != "win32":
    import fcntl

    class _LockedFile:
        """A file that is open and locked."""

        __slots__ = ("file",)

        def __init__(self, file: int) -> None:
            self.file = file
            _open_locks.files.add(self)

        def release(self) -> None:
            """Let others have it."""
            _open_locks.files.discard(self)
            file, self.file = self.file, -1
            if file >= 0:
                with contextlib.suppress(OSError, MemoryError):  # the program has closed it
                    fcntl.flock(file, fcntl.LOCK_UN)  # a child may have the file open, too
                close_quietly(file)

    class _OpenLocks:
        """The locks of this process."""

        def __init__(self) -> None:
            self.files: set[_LockedFile] = set()

        def reset_in_child(self) -> None:
            """A child has no locks: it would hold on to those of its parent."""
            while self.files:
                lock = self.files.pop()
                file, lock.file = lock.file, -1
                close_quietly(file)

    _open_locks: Final = _OpenLocks()
    reset_in_child(_open_locks)

    def _try_to_lock(path: str) -> Lock | None:
        file = open_own(path, os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_nlink:
                return _LockedFile(file)
        except OSError as error:
            if error.errno not in _CONTENTION:
                close_quietly(file)
                raise
        except BaseException:  # a signal came between
            close_quietly(file)
            raise
        close_quietly(file)  # another has it, or has just removed it
        return None

else:
    import filelock

    def _try_to_lock(path: str) -> Lock | None:
        lock = filelock.FileLock(path, thread_local=False, mode=_OURS_ALONE, fallback_to_soft=False)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            return None
        return lock
