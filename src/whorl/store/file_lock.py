"""The path of a file in, the lock on it out: held by one process at a time, and by one thread.

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

from .atomic_file import close_quietly, open_own

if TYPE_CHECKING:
    from typing import Protocol

    class Lock(Protocol):
        """A lock that is held until it is released."""

        def release(self) -> None: ...


__all__ = ["locked"]

_OURS_ALONE: Final = 0o600
_PAUSE: Final = 0.05  # seconds between two attempts
_CONTENTION: Final = frozenset((errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK))


def locked(path: str, patience: float = 0.0) -> Lock | None:
    """The lock, to be released; None if another has it for so many seconds.

    Where files cannot be locked, that is an OSError or a NotImplementedError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     lock = locked(f"{directory}/file")
    ...     lock is None, locked(f"{directory}/file") is None
    ...     lock.release()
    (False, True)
    """
    until = time.monotonic() + patience
    while True:
        lock = _attempted(path)
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
            _held.add(self)

        def release(self) -> None:
            """Let others have it."""
            _held.discard(self)
            file, self.file = self.file, -1
            if file >= 0:
                with contextlib.suppress(OSError, MemoryError):  # the program has closed it
                    fcntl.flock(file, fcntl.LOCK_UN)  # a child may have the file open, too
                close_quietly(file)

    _held: Final[set[_LockedFile]] = set()

    def _attempted(path: str) -> Lock | None:
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

    def _let_go_in_child() -> None:
        """A child has no locks: it would hold on to those of its parent."""
        while _held:
            lock = _held.pop()
            file, lock.file = lock.file, -1
            close_quietly(file)

    os.register_at_fork(after_in_child=_let_go_in_child)

else:
    import filelock

    def _attempted(path: str) -> Lock | None:
        lock = filelock.FileLock(path, thread_local=False, mode=_OURS_ALONE, fallback_to_soft=False)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            return None
        return lock
