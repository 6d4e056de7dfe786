"""Locks on files: one process has such a lock at a time, and one thread of it.

A lock ends when it is released, and also when nobody refers to it any more: an interrupt may come
before its owner has a name for it.

Where there is `flock`, it is used as it is. `filelock` takes 15 ms to import, as much as a hit does
in all, and a child that is forked meanwhile would wait for it for ever. It knows the other systems.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from _weakref import ref
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

        __slots__ = ("__weakref__", "_own")

        def __init__(self, file: int) -> None:
            self._own: ref[_LockedFile] | None = ref(self, _open_locks.close)
            _open_locks.files[self._own] = file

        def release(self) -> None:
            """Let others have it."""
            if self._own is not None:
                _open_locks.close(self._own)
                self._own = None  # so that it is not called: errors in such calls are lost

    class _OpenLocks:
        """The files of the locks of this process."""

        def __init__(self) -> None:
            self.files: dict[ref[_LockedFile], int] = {}

        def close(self, lock: ref[_LockedFile]) -> None:
            """Unlock a file and close it. After an interrupt this can be repeated."""
            file = self.files.get(lock)
            if file is not None:
                with contextlib.suppress(OSError, MemoryError):  # the program has closed it
                    fcntl.flock(file, fcntl.LOCK_UN)  # a child may have the file open, too
                if self.files.pop(lock, None) is not None:
                    close_quietly(file)

        def reset_in_child(self) -> None:
            """A child has no locks: it would hold on to those of its parent."""
            while self.files:
                close_quietly(self.files.popitem()[1])

    _open_locks: Final = _OpenLocks()
    reset_in_child(_open_locks)

    def _try_to_lock(path: str) -> Lock | None:
        file = open_own(path, os.O_RDWR)
        lock = _LockedFile(file)  # which closes the file if an interrupt comes
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_nlink:
                return lock
        except OSError as error:
            if error.errno not in _CONTENTION:
                lock.release()
                raise
        except BaseException:
            lock.release()
            raise
        lock.release()  # another has it, or has just removed it
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
