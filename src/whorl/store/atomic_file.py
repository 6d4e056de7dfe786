"""Files of a store: written atomically, locked, and the small ones beside the entries.

Files and directories are created for this user alone. The mode of an existing file is never
changed: it may be a device, or somebody's own file. Links are not followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from _weakref import ref
from itertools import count
from typing import TYPE_CHECKING, Final

from whorl.locks import reset_in_child
from whorl.signals import pass_on

from .safety import distrust

if TYPE_CHECKING:
    from typing import Protocol

    class Lock(Protocol):
        """A lock that is held until it is released."""

        def release(self) -> None:
            """Let others have it."""


_NUMBER: Final = count()
_PROCESS: Final = os.urandom(4).hex()  # process numbers may meet on a shared file system
_ATTEMPTS: Final = 3
_ALWAYS: Final = (
    getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
_NEW: Final = os.O_CREAT | os.O_EXCL | _ALWAYS
_EXISTING: Final = _ALWAYS | getattr(os, "O_NONBLOCK", 0)  # a pipe in its place must not hold us up
READ_FLAGS: Final = os.O_RDONLY | _EXISTING
"""Opens a file for reading: links are not followed, and a pipe is not waited for."""


def write_file(path: str, data: bytes | memoryview, beside: str, *, sync: bool = False) -> None:
    """Write a file under a name of its own in the directory `beside`, then give it its name.

    `sync` waits until the bytes and the name are on the disk. Whatever happens, the file that
    was there before stays whole until the new one takes its place.
    """
    temporary, file = _new_file(beside)
    try:
        _fill(file, data, sync=sync)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError, MemoryError):
            os.unlink(temporary)
        raise
    if sync:
        _sync_directory(os.path.dirname(path))


def _new_file(directory: str) -> tuple[str, int]:
    """A file that nobody has, open for writing."""
    while True:
        path = f"{directory}{os.sep}{_PROCESS}-{os.getpid()}-{next(_NUMBER)}"
        with contextlib.suppress(FileExistsError):  # left by a killed process of the same number
            return path, os.open(path, os.O_WRONLY | _NEW, 0o600)


def _fill(file: int, data: bytes | memoryview, *, sync: bool = False) -> None:
    """Write all of a new file and close it, in any case.

    Errors of closing count: some file systems report only then that the disk is full.
    """
    try:
        _set_mode(file)
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
        if sync:
            os.fsync(file)
    except BaseException:
        close_quietly(file)
        raise
    os.close(file)


def _set_mode(file: int) -> None:
    """Let only this user access a new file, whatever the umask is."""
    if hasattr(os, "fchmod"):
        os.fchmod(file, 0o600)


def close_quietly(file: int) -> None:
    """Close a file and ignore errors: nothing more is read from it or written to it."""
    with contextlib.suppress(OSError, MemoryError):
        os.close(file)


def remove_quietly(path: str) -> None:
    """Remove a file if that can be done; what a handler of a signal raises goes on."""
    try:
        os.unlink(path)
    except (OSError, MemoryError) as error:
        pass_on(error)


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
            close_quietly(file)


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
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            return
    with contextlib.suppress(OSError):
        os.chmod(directory, 0o700)  # whatever the umask has left of it


def write_small(path: str, text: str) -> None:
    """Write a file of a few bytes, for this user alone, whose loss does no harm."""
    _check_directory_of(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    file = os.open(path, os.O_WRONLY | _NEW, 0o600)
    _fill(file, text.encode("utf-8", "backslashreplace"))


def read_small(path: str, most: int) -> bytes:
    """The first bytes of a file, no more than `most`. Links and pipes are not read."""
    file = os.open(path, READ_FLAGS)
    try:
        parts, left = [], most
        while left > 0 and (part := os.read(file, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        close_quietly(file)


def append_small(path: str, data: bytes) -> int:
    """Append a few bytes in one write; returns the size of the file after that."""
    file = open_own(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, data)
        return os.fstat(file).st_size
    finally:
        close_quietly(file)


def open_own(path: str, flags: int) -> int:
    """Open a file of the store's own bookkeeping; made for this user alone if it is not there.

    Raises `PermissionError` for what is not a file, has a second name, or is in a directory that is
    not ours alone: others could have put it there to make us write somewhere else.
    """
    _check_directory_of(path)
    for _ in range(_ATTEMPTS):
        try:
            file = os.open(path, flags | _EXISTING)
        except FileNotFoundError:
            try:
                file = os.open(path, flags | _NEW, 0o600)
            except FileExistsError:  # another process was faster
                continue
            return _checked(file, path, is_new=True)
        return _checked(file, path, is_new=False)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _checked(file: int, path: str, *, is_new: bool) -> int:
    try:
        if is_new:
            _set_mode(file)
        else:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                raise PermissionError(errno.EPERM, "it is not a file of the store's own", path)
    except BaseException:
        close_quietly(file)
        raise
    return file


def _check_directory_of(path: str) -> None:
    reason = distrust(os.path.dirname(path))
    if reason is not None:
        raise PermissionError(errno.EPERM, reason, os.path.dirname(path))


# -- locks on files --------------------------------------------------------------------
#
# Locks on files: one process has such a lock at a time, and one thread of it.
#
# A lock ends when it is released, and also when nobody refers to it any more: an interrupt may come
# before its owner has a name for it.
#
# Where there is `flock`, it is used as it is. `filelock` takes 15 ms to import, as much as a hit
# does in all, and a child that is forked meanwhile would wait for it for ever. It knows the other
# systems.


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
