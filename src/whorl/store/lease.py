"""Leases: who produces what. Those of a directory are locked files.

The system lets go of a lock when its holder ends in any way, so a killed producer is replaced at
once. Where files cannot be locked there are no leases, and work may be done twice; it is never
done wrongly.
"""

from __future__ import annotations

import os
import sys
import time
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from whorl.signals import is_of_signal_handler, suppress

from .atomic_file import make_directory, read_small, write_small
from .file_lock import lock_file

if TYPE_CHECKING:
    from .file_lock import Lock

__all__ = ["DirectoryLeases", "Lease", "Leases", "LeasesOfTwo", "NoLease"]

ASK_FAR_EVERY: Final = 0.2  # seconds between two questions for a lease that another machine holds
_UNAVAILABLE: Final = (OSError, MemoryError, NotImplementedError)
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
        try:
            if done:
                with suppress(OSError, MemoryError):
                    os.unlink(f"{self._path}.holder")
                if sys.platform != "win32":  # there, a file that is open cannot go
                    with suppress(OSError, MemoryError):
                        os.unlink(self._path)
        finally:
            with suppress(OSError, MemoryError):
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
        lock: Lock | None = None
        try:
            if not os.path.isdir(self._directory):
                make_directory(self._directory)
            lock = lock_file(path)
            if lock is None:
                return NoLease.HELD
            with suppress(OSError, MemoryError):
                write_small(f"{path}.holder", str(os.getpid()))
            return _FileLease(lock, path)
        except BaseException as error:
            if lock is not None:  # to which the frames of the traceback refer
                lock.release()
            if isinstance(error, _UNAVAILABLE) and not is_of_signal_handler(error):
                return NoLease.UNAVAILABLE
            raise

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""
        try:
            holder = read_small(f"{self._directory}{os.sep}{name}.holder", _LONGEST_NUMBER)
            return f"process {int(holder)}"
        except (OSError, MemoryError, ValueError):
            return "another process"


class _LeaseOfTwo:
    """The right to produce one entry on this machine, and among machines."""

    def __init__(self, near: Lease | None, far: Lease | None) -> None:
        self._near = near
        self._far = far

    def release(self, *, done: bool) -> None:
        """Let others have it: other machines when they can find the entry, ours at once."""
        try:
            if self._far is not None:
                self._far.release(done=done)
        finally:
            if self._near is not None:
                self._near.release(done=done)


class LeasesOfTwo:
    """Leases of this machine and of several, taken in this order: one process of a machine asks.

    What cannot be had on one side is done without: if other machines do not answer, the lease of
    this one is enough.
    """

    def __init__(self, near: Leases, far: Leases) -> None:
        self._near = near
        self._far = far
        self._asked: dict[str, float] = {}  # when a lease was last held by another machine

    @property
    def place(self) -> str:
        """Where those of this machine are."""
        return self._near.place

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it, here or elsewhere."""
        near: Lease | NoLease = NoLease.HELD
        far: Lease | NoLease = NoLease.HELD
        is_granted = False
        try:
            near = self._near.take(name)
            if near is NoLease.HELD:
                return near
            far = self._take_far(name)
            if far is NoLease.HELD:
                return far
            mine = None if isinstance(near, NoLease) else near
            theirs = None if isinstance(far, NoLease) else far
            if mine is None and theirs is None:
                return NoLease.UNAVAILABLE
            both = _LeaseOfTwo(mine, theirs)
            is_granted = True
            return both
        finally:
            if not is_granted:  # or an interrupt has come
                for lease in (far, near):
                    if not isinstance(lease, NoLease):
                        lease.release(done=False)

    def _take_far(self, name: str) -> Lease | NoLease:
        now = time.monotonic()
        if now - self._asked.get(name, -ASK_FAR_EVERY) < ASK_FAR_EVERY:
            return NoLease.HELD
        far = self._far.take(name)
        if far is NoLease.HELD:
            self._asked[name] = now
        else:
            self._asked.pop(name, None)
        return far

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""
        return self._far.holder(name) if name in self._asked else self._near.holder(name)
