"""Entries by digest, one file each, in a directory that many processes share.

    root/
      CACHEDIR.TAG                      backups may pass over this
      v1/                               the format; other versions do not look in here
        entries/ab/cdef...              the entry of key abcdef..., in one of 256 shards
        groups/12/3456.../abcdef...     the entry of a key under the group 123456...
        incoming/                       files being written
        leases/                         who is making what: see `cache`
        toolchains/                     which are in use: see `bound`
        written, bound, collecting      how full it is: see `bound`
      quarantine/                       damaged files, for whoever wants to look
      statistics/                       see `statistics`
      journal/                          the last misses: see `journal`

A file gets its name when it is whole, and never changes after. So readers need no locks: they
see the old entry, the new one or none. What is read is checked before it is believed; a file
that is wrong in any way is set aside and counts as absent. A file that cannot be read just
now, for whatever reason, is left where it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from whorl.artifacts import FORMAT, Damaged, Entry
from whorl.artifacts.damage import check_head
from whorl.artifacts.entry import HEAD, names_of
from whorl.errors import UnsafeDirectory
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import logger
from whorl.settings import DEFAULT_MAX_SIZE

from .atomic_file import make_directory, sync_directories, write_file
from .ending import Ending
from .mapping import mapped
from .outcome import ABSENT, STORED, Absent, Failed, Found, Got, Skipped, Stored, check_key
from .safety import check_directory, danger, is_private
from .stamp import STAMP_EVERY, keep_alive
from .statistics import Statistics

if TYPE_CHECKING:
    from pathlib import Path

    from .bound import Bound, Collected

__all__ = ["DirectoryStore"]

log = logger("whorl.store")
INFO, WARNING = 20, 30  # levels, as logging has them

_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe under an entry's name must not hold us up
    | getattr(os, "O_BINARY", 0)
)
_USUAL: Final = 1 << 16  # bytes that hold most entries
_LOOKED_AT: Final = 10_000
_TRUSTED_FOR: Final = 5.0  # seconds
_AT_ONCE: Final = 1 << 20  # up to here a file is read before its head is looked at
_ATTEMPTS: Final = 3
_READ_ONLY: Final = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_TAG: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This directory holds what whorl can make again.\n"
)


class DirectoryStore:
    """Entries in a directory. It is made when something is first put into it.

    >>> import tempfile
    >>> from whorl.artifacts import Artifact, Label, encode
    >>> with tempfile.TemporaryDirectory() as root:
    ...     store = DirectoryStore(root)
    ...     key = StableDigest("0" * 32)
    ...     put = store.put(encode(Artifact({"code": b"ret"}), Label("artifact", key)))
    ...     put, bytes(DirectoryStore(root).get(key).entry.payload("code"))
    (Stored(), b'ret')

    `max_size` bounds the bytes of all entries together. `sync` waits for the disk on every put:
    without it an entry may be lost when the machine (not the process) dies, never damaged
    unnoticed. A directory that other users may write to raises `UnsafeDirectory`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        max_size: int = DEFAULT_MAX_SIZE,
        sync: bool = False,
        read_only: bool = False,
        statistics: Statistics | None = None,
    ) -> None:
        # Texts, not paths, and no more than a hit needs: every new process does this.
        self._root = os.path.abspath(root)
        check_directory(self._root)
        home = f"{self._root}{os.sep}v{FORMAT}"
        self.max_size = max_size
        self.read_only = read_only
        self.statistics = statistics or Statistics(
            None if read_only else f"{self._root}{os.sep}statistics"
        )
        self.leases = f"{home}{os.sep}leases"
        self._entries = f"{home}{os.sep}entries{os.sep}"
        self._groups = f"{home}{os.sep}groups{os.sep}"
        self._incoming = f"{home}{os.sep}incoming"
        self._sync = sync
        self._said: set[object] = set()
        # Until when it is not necessary to look at a file again, and what names it has to have.
        self._looked_at: dict[str, tuple[float, bytes]] = {}

    @property
    def root(self) -> Path:
        """The directory."""
        from pathlib import Path

        return Path(self._root)

    @cached_property
    def bound(self) -> Bound:
        """What keeps it from growing."""
        from .bound import Bound

        return Bound(self._root, self.max_size, self.statistics)

    def for_reading(self) -> DirectoryStore:
        """The same directory, not changed in any way: not even tidied up."""
        return DirectoryStore(self._root, max_size=self.max_size, read_only=True)

    def __repr__(self) -> str:
        return f"DirectoryStore({self._root!r})"

    def path(self, key: StableDigest, under: StableDigest | None = None) -> str:
        """Where the entry of a key is, if it is there: for mapping its payloads."""
        if under is None:
            return f"{self._entries}{key[:2]}{os.sep}{key[2:]}"
        return f"{self._groups}{under[:2]}{os.sep}{under[2:]}{os.sep}{key}"

    # -- reading ------------------------------------------------------------------------

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, checked. Hot: see `bench/store.py`."""
        if type(key) is StableDigest and under is None:
            path = f"{self._entries}{key[:2]}{os.sep}{key[2:]}"  # the same as below, sooner
        else:
            check_key(key, under)
            path = self.path(key, under)
        try:
            file = os.open(path, _READ)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except OSError as error:
            return self._unreadable(path, error)
        try:
            known = self._looked_at.get(path)
            if known is not None and known[0] > time.monotonic():
                try:
                    return Found(Entry.checked(os.read(file, _USUAL), key, under, known[1]))
                except Damaged:  # or only a part of it: look more closely
                    os.lseek(file, 0, os.SEEK_SET)
            status = os.fstat(file)
            if status.st_size > self.max_size:
                return Failed("it is larger than all of the store may be", Ending.UNREADABLE)
            names = names_of(key, under)
            contents = _contents(file, status, self._root)
            entry = Entry.checked(contents, key, under, names)
            return self._looked(path, status, names) or Found(entry)
        except Damaged as damaged:
            return self._set_aside(path, os.fstat(file), damaged)
        except (OSError, MemoryError) as error:
            return self._unreadable(path, error)
        finally:
            os.close(file)

    def _looked(self, path: str, status: os.stat_result, names: bytes) -> Failed | None:
        """Look at the file itself, not at its content: who may have written it, when it was used.

        In a directory that nobody else can enter, nobody else can have written a file: there it
        is enough to look at it every few seconds.
        """
        reason = danger(status)
        if reason is not None:
            return self._unsafe(path, reason)
        if abs(time.time() - status.st_mtime) > STAMP_EVERY and not self.read_only:
            with contextlib.suppress(OSError):
                os.utime(path)
        if is_private(os.stat(self._root)):
            if len(self._looked_at) >= _LOOKED_AT:
                self._looked_at.clear()
            self._looked_at[path] = time.monotonic() + _TRUSTED_FOR, names
        return None

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group, or those of no group, in no order."""
        if under is not None:
            check_key(under)
            return _keys(os.path.dirname(self.path(under, under)), "")
        shards = _subdirectories(self._entries)
        return chain.from_iterable(_keys(f"{self._entries}{shard}", shard) for shard in shards)

    def groups(self) -> Iterator[StableDigest]:
        """The groups that have entries."""
        for shard in _subdirectories(self._groups):
            for rest in _subdirectories(f"{self._groups}{shard}"):
                with contextlib.suppress(ValueError):
                    yield StableDigest(shard + rest)

    def _unreadable(self, path: str, error: OSError | MemoryError) -> Failed:
        if isinstance(error, MemoryError):
            return Failed("there is not enough memory for it", Ending.UNREADABLE)
        reason = _words(error)
        if error.errno == errno.ELOOP and os.path.islink(path):
            return self._unsafe(path, "it is a symbolic link")
        self._say(error.errno, WARNING, "cannot read %s: %s", path, reason)
        return Failed(reason, Ending.UNREADABLE)

    def _unsafe(self, path: str, reason: str) -> Failed:
        self._say(
            ("unsafe", reason),
            WARNING,
            "%s is not loaded: %s. Remove it, or make it yours alone (chown, chmod go-w).",
            path,
            reason,
        )
        return Failed(reason, Ending.UNSAFE)

    def set_aside(
        self, key: StableDigest, under: StableDigest | None, damaged: Damaged
    ) -> Failed | Absent:
        """Move an entry out of the way that somebody found to be of no use."""
        check_key(key, under)
        path = self.path(key, under)
        try:
            return self._set_aside(path, os.lstat(path), damaged)
        except OSError:
            return ABSENT

    def _set_aside(self, path: str, status: os.stat_result, damaged: Damaged) -> Failed:
        """Move a damaged file out of the way, unless another has taken its place meanwhile."""
        reason = str(damaged)
        if self.read_only:
            return Failed(reason, Ending.DAMAGED)
        aside = f"{self._root}{os.sep}quarantine"
        name = f"{os.path.basename(os.path.dirname(path))}{os.path.basename(path)}"
        target = f"{aside}{os.sep}{name}-{time.time_ns():x}-{os.getpid():x}"
        try:
            if not _is_same(os.lstat(path), status):
                return Failed(reason, Ending.DAMAGED)
            make_directory(aside)
            os.rename(path, target)
            if not _is_same(os.lstat(target), status):  # the good one that came in between
                os.rename(target, path)
                return Failed(reason, Ending.DAMAGED)
        except FileNotFoundError:
            return Failed(reason, Ending.DAMAGED)
        except OSError as error:
            self._say(
                ("damaged", path), WARNING, "%s is damaged: %s; it cannot be moved: %s",
                path, reason, _words(error),
            )  # fmt: skip
            return Failed(reason, Ending.DAMAGED)
        self.statistics.count(Ending.SET_ASIDE)
        self.bound.trim_quarantine()
        self._say(
            ("damaged", path), WARNING, "%s is damaged: %s; it is now in %s and will be "
            "made again", path, reason, aside,
        )  # fmt: skip
        return Failed(reason, Ending.DAMAGED)

    # -- writing ------------------------------------------------------------------------

    def put(self, entry: Entry) -> Stored | Skipped | Failed:
        """Keep an entry. When this returns `Stored`, every process can find it."""
        check_key(entry.key, entry.under)
        if self.read_only:
            return Skipped("the store is read-only")
        if len(entry.data) > self.max_size:
            reason = f"it is larger than all of the store may be ({self.max_size} bytes)"
            self._say("large", WARNING, "%s is not kept: %s", entry.key, reason)
            return Skipped(reason)
        path = self.path(entry.key, entry.under)
        try:
            if self.bound.is_large(len(entry.data)):
                self._make_directories(path)
            with self.bound.room_for(len(entry.data)):
                self._write(path, entry.data)
        except UnsafeDirectory as error:
            self._say("unsafe", WARNING, "%s", error)
            return Failed(error.reason, Ending.UNSAFE)
        except OSError as error:
            return self._not_stored(error)
        self.bound.wrote(len(entry.data))
        return STORED

    def _write(self, path: str, data: bytes | memoryview) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                write_file(path, data, self._incoming, sync=self._sync)
            except FileNotFoundError:  # the first of its shard, or a collection was faster
                if attempt == _ATTEMPTS:
                    raise
                self._make_directories(path)
                if self._sync:
                    sync_directories(path, self._root)
            except IsADirectoryError:  # somebody's directory under an entry's name
                if attempt == _ATTEMPTS:
                    raise
                self._set_aside(path, os.lstat(path), Damaged.not_a_file())
            else:
                return

    def _make_directories(self, path: str) -> None:
        make_directory(self._root)
        check_directory(self._root)
        for directory in (self._incoming, os.path.dirname(path)):
            make_directory(directory)
        tag = f"{self._root}{os.sep}CACHEDIR.TAG"
        if not os.path.exists(tag):
            with contextlib.suppress(OSError):
                write_file(tag, _TAG, self._incoming)

    def _not_stored(self, error: OSError) -> Skipped | Failed:
        reason = _words(error)
        if error.errno in _FULL:
            ending = Ending.NO_SPACE
        elif error.errno in _READ_ONLY:
            ending = Ending.NOT_WRITABLE
        else:
            ending = Ending.NOT_STORED
        if ending is Ending.NOT_WRITABLE and os.path.isdir(self._root):
            self._say("read-only", INFO, "%s cannot be written to: %s", self._root, reason)
            return Skipped(f"{self._root} cannot be written to: {reason}", ending)
        self._say(
            error.errno, WARNING, "nothing is kept in %s: %s. The program goes on without.",
            self._root, reason,
        )  # fmt: skip
        return Failed(reason, ending)

    def remove(
        self, key: StableDigest, under: StableDigest | None = None
    ) -> Stored | Absent | Failed:
        """Forget an entry."""
        check_key(key, under)
        if self.read_only:
            return Failed("the store is read-only", Ending.NOT_WRITABLE)
        try:
            os.unlink(self.path(key, under))
        except FileNotFoundError:
            return ABSENT
        except OSError as error:
            return Failed(_words(error), Ending.NOT_WRITABLE)
        return STORED

    # -- upkeep -------------------------------------------------------------------------

    def collect(
        self,
        max_size: int | None = None,
        *,
        unused_for: float | None = None,
        is_rehearsal: bool = False,
    ) -> Collected:
        """Bring the store within its bound, or within another one, now: see `Bound.collect`."""
        return self.bound.collect(max_size, unused_for=unused_for, is_rehearsal=is_rehearsal)

    def uses(self, toolchain: str) -> None:
        """Say that entries of a toolchain are in use: they are not the first to be evicted."""
        keep_alive(f"{self._root}{os.sep}v{FORMAT}", toolchain)

    def _say(self, topic: object, level: int, message: str, *words: object) -> None:
        """Log something once."""
        if topic not in self._said:
            self._said.add(topic)
            log.log(level, message, *words)


def _contents(file: int, status: os.stat_result, root: str) -> bytes | memoryview:
    """All of a file; `Damaged` before a large one is read whose head does not fit.

    A large one is mapped where that is safe.
    """
    size = status.st_size
    if not stat.S_ISREG(status.st_mode):
        raise Damaged.not_a_file()
    if size <= _AT_ONCE:
        return _rest(file, size)
    check_head(_rest(file, HEAD), size)
    found = mapped(file, size, root)
    if found is not None:
        return found
    os.lseek(file, 0, os.SEEK_SET)
    return _rest(file, size)


def _rest(file: int, size: int) -> bytes:
    """So many bytes, or as many as there are."""
    data = os.read(file, size)
    if len(data) == size:
        return data
    parts = [data]  # the system gives no more than 2 GB at once
    while part := os.read(file, size - sum(map(len, parts))):
        parts.append(part)
    return b"".join(parts)


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _words(error: OSError) -> str:
    return error.strerror or str(error)


def _subdirectories(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as scan:
            return [found.name for found in scan if found.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _keys(directory: str, prefix: str) -> Iterator[StableDigest]:
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        with contextlib.suppress(ValueError):
            yield StableDigest(prefix + name)
