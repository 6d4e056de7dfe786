"""Entries by digest, one file each, in a directory that many processes share.

    root/
      CACHEDIR.TAG                      backups may pass over this
      v1/                               the format; other versions do not read it
        entries/ab/cdef...              the entry of key abcdef..., in one of 256 shards
        groups/12/3456.../abcdef...     the entry of a key under the group 123456...
        incoming/                       files being written
        leases/                         who produces what: see `lease`
        toolchains/                     which are in use: see `listing`
        written, bound, collecting      how full it is: see `eviction`
      quarantine/                       damaged files, to be inspected
      statistics/                       see `statistics`
      journal/                          the last misses: see `journal`

A file gets its name when it is whole, and never changes after. So readers need no locks: they
see the old entry, the new one or none. What is read is checked before it is used; a file that is
wrong in any way is moved to the quarantine and counts as absent. A file that cannot be read at the
moment, for whatever reason, stays where it is.

Files are read, not mapped. If somebody writes to a mapped file, its bytes change after they were
checked, and if somebody truncates it, the next access kills the process.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whorl.artifacts import FORMAT, Damage, Damaged, Entry, Label
from whorl.artifacts.entry import HEAD, check_head, names_of
from whorl.errors import UnsafeDirectory
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import importing, logger
from whorl.settings import DEFAULT_MAX_SIZE, absolute

from . import listing
from .atomic_file import READ_FLAGS, make_directory, sync_directories, write_file
from .listing import note_use
from .outcome import (
    ABSENT,
    STORED,
    Absent,
    Ending,
    Failed,
    Found,
    Got,
    Put,
    Removed,
    Skipped,
    check_key,
)
from .protocol import BaseStore
from .safety import IS_LINK, Trust, check_directory, danger, file_remedy, unsafe_directory
from .statistics import Statistics

if TYPE_CHECKING:
    from pathlib import Path

    from .eviction import Collected, Eviction
    from .journal import Journal
    from .lease import DirectoryLeases


log = logger("whorl.store")

RENEWED_EVERY: Final = 3600.0  # seconds after which a hit renews the time of a file
_KIND: Final = 0o170000  # what `stat.S_IFMT` masks
_REGULAR: Final = stat.S_IFREG
_SEP: Final = os.sep
_VERSION: Final = f"{os.sep}v{FORMAT}"
_USUAL: Final = 1 << 16  # bytes that hold most entries
_FILES_KNOWN: Final = 10_000
_AT_ONCE: Final = 1 << 20  # up to here a file is read before its head is checked
_LARGE: Final = 1 << 22  # from here on large pages of memory are worth a system call
_INFO, _WARNING = 20, 30  # levels, as logging has them
_ATTEMPTS: Final = 3
_READ_ONLY: Final = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_TAG: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This directory holds what whorl can make again.\n"
)


class DirectoryStore(BaseStore):
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

    __slots__ = (
        "__weakref__", "_checked", "_entries", "_eviction", "_groups", "_logged", "home",
        "incoming", "max_size", "place", "read_only", "statistics", "sync", "trust",
    )  # fmt: skip

    statistics: Statistics

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
        self.place = absolute(os.fspath(root))
        home = f"{self.place}{_VERSION}"
        self.trust = Trust(self.place, home)
        self.max_size = max_size
        self.read_only = read_only
        self.statistics = statistics or Statistics(
            None if read_only else f"{self.place}{os.sep}statistics"
        )
        self.home = home  # where what this version keeps is
        self.incoming = f"{home}{os.sep}incoming"  # where files are while they are written
        self._entries = f"{home}{os.sep}entries{os.sep}"
        self._groups = f"{home}{os.sep}groups{os.sep}"
        self.sync = sync
        self._logged: set[object] = set()
        self._eviction: Eviction | None = None
        # Of a file that was checked twice: until when it need not be checked again, and the names
        # that it has to have.
        self._checked: dict[str, tuple[float, bytes] | None] = {}

    @property
    def root(self) -> Path:
        """The directory."""
        with importing:
            from pathlib import Path

        return Path(self.place)

    @property
    def eviction(self) -> Eviction:
        """What keeps the directory within its size."""
        eviction = self._eviction
        if eviction is None:
            with importing:
                from .eviction import Eviction

            eviction = self._eviction = Eviction(self.place, self.max_size, self.statistics)
        return eviction

    # -- capabilities -------------------------------------------------------------------

    @property
    def leases(self) -> DirectoryLeases | None:
        """The leases of all processes that write here."""
        with importing:
            from .lease import DirectoryLeases

        return None if self.read_only else DirectoryLeases(f"{self.home}{os.sep}leases")

    @property
    def journal(self) -> Journal | None:
        """The misses of all processes that write here."""
        with importing:
            from .journal import Journal

        return None if self.read_only else Journal(self.place)

    def uses(self, toolchain: str) -> None:
        """Note that entries of a toolchain are in use: they are not the first to be evicted."""
        if not self.read_only:
            note_use(self.home, toolchain)

    def label(self, key: StableDigest, under: StableDigest | None = None) -> Label | None:
        """What an entry says of itself, unchecked: of its file only the beginning is read."""
        try:
            return listing.read_label(self.path(key, under))
        except (OSError, MemoryError, Damaged):
            return None

    def for_reading(self) -> DirectoryStore:
        """The same directory, not changed in any way: not even tidied up."""
        return DirectoryStore(self.place, max_size=self.max_size, read_only=True)

    def __repr__(self) -> str:
        return f"DirectoryStore({self.place!r})"

    def path(self, key: StableDigest, under: StableDigest | None = None) -> str:
        """The path of the file of a key."""
        if under is None:
            return f"{self._entries}{key[:2]}{os.sep}{key[2:]}"
        return f"{self._groups}{under[:2]}{os.sep}{under[2:]}{os.sep}{key}"

    # -- reading ------------------------------------------------------------------------

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, checked. Hot: see `bench/store.py`."""
        if key.__class__ is not StableDigest or (under and under.__class__ is not StableDigest):
            check_key(key, under)
        if under is None:
            path = f"{self._entries}{key[:2]}{_SEP}{key[2:]}"  # as `path` says, sooner
        else:
            path = f"{self._groups}{under[:2]}{_SEP}{under[2:]}{_SEP}{key}"
        try:
            file = os.open(path, READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except (OSError, MemoryError) as error:
            return _unreadable(self, path, error)
        try:
            known = self._checked.get(path)
            if known is not None and known[0] > time.monotonic():
                try:
                    return Found(Entry.checked(os.read(file, _USUAL), key, under, known[1]))
                except Damaged:  # or only a part of it: look more closely
                    os.lseek(file, 0, os.SEEK_SET)
            directory = path.rpartition(_SEP)[0]
            doubt = self.trust.doubt(directory)
            if doubt is not None:
                return _distrusted(self, *doubt)
            status = os.fstat(file)
            size = status.st_size
            if size > self.max_size:
                return _TOO_LARGE
            names = names_of(key, under)
            try:
                entry = Entry.checked(_contents(file, status), key, under, names)
            except Damaged as damaged:
                return _set_aside(self, path, status, damaged)
            return self._check_file(path, status, names) or Found(entry)
        except (OSError, MemoryError, ImportError) as error:
            return _unreadable(self, path, error)
        finally:
            _close(file)

    def _check_file(self, path: str, status: os.stat_result, names: bytes) -> Failed | None:
        """Check the file, not its content: who may have written it, when it was used.

        In a directory that nobody else can enter, nobody else can have written a file: there a
        check every few seconds is enough.
        """
        reason = danger(status)
        if reason is not None:
            return _unsafe(self, path, reason)
        age = time.time() - status.st_mtime
        if not -RENEWED_EVERY <= age <= RENEWED_EVERY:
            self._renew(path)
        checked = self._checked
        if path not in checked:  # as most, which are read once
            if len(checked) >= _FILES_KNOWN:
                checked.clear()
            checked[path] = None
            return None
        until = self.trust.private_until()
        if time.monotonic() < until:
            checked[path] = until, names
        return None

    def _renew(self, path: str) -> None:
        if not self.read_only:
            with contextlib.suppress(OSError, MemoryError):
                os.utime(path)

    def peek(self, key: StableDigest) -> Entry | None:
        """The entry of a key, if it is small and can be used; nothing is logged."""
        path = self.path(key)
        try:
            file = os.open(path, READ_FLAGS)
        except (OSError, MemoryError):
            return None
        try:
            status = os.fstat(file)
            if status.st_size > _AT_ONCE or danger(status) is not None:
                return None
            if self.trust.doubt(path.rpartition(_SEP)[0]) is not None:
                return None
            entry = Entry.checked(os.read(file, status.st_size), key)
        except (Damaged, OSError, MemoryError, ImportError):
            return None
        finally:
            _close(file)
        if abs(time.time() - status.st_mtime) > RENEWED_EVERY:
            self._renew(path)
        return entry

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group, or those of no group, in no order."""
        if under is not None:
            check_key(under)
        above = self._entries if under is None else self.path(under, under)
        directory = os.path.dirname(above)
        if not self.trust.holds_for(directory):
            return iter(())
        if under is None:
            return listing.keys_in_shards(directory)
        return listing.keys_in_group(directory)

    def groups(self) -> Iterator[StableDigest]:
        """The groups that have entries."""
        directory = os.path.dirname(self._groups)
        return listing.keys_in_groups(directory) if self.trust.holds_for(directory) else iter(())

    def set_aside(
        self, key: StableDigest, under: StableDigest | None, damaged: Damaged
    ) -> Failed | Absent:
        """Move an entry that cannot be used to the quarantine."""
        check_key(key, under)
        path = self.path(key, under)
        try:
            if self.trust.doubt(os.path.dirname(path)) is not None:
                return ABSENT
            return _set_aside(self, path, os.lstat(path), damaged)
        except (OSError, MemoryError):
            return ABSENT

    # -- writing ------------------------------------------------------------------------

    def put(self, entry: Entry) -> Put:
        """Keep an entry. When this returns `Stored`, every process can find it."""
        check_key(entry.key, entry.under)
        if self.read_only:
            return Skipped("the store is read-only")
        if len(entry.data) > self.max_size:
            reason = f"it is larger than all of the store may be ({self.max_size} bytes)"
            self.log_once("large", _WARNING, "%s is not kept: %s", entry.key, reason)
            return Skipped(reason)
        try:
            _put(self, self.path(entry.key, entry.under), entry.data)
        except UnsafeDirectory as error:
            self.log_once("unsafe", _WARNING, "%s", error)
            return Failed(error.reason, Ending.UNSAFE)
        except OSError as error:
            return _not_stored(self, error)
        except MemoryError:
            return Failed("there is not enough memory", Ending.NOT_STORED)
        return STORED

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry."""
        check_key(key, under)
        if self.read_only:
            return Failed("the store is read-only", Ending.NOT_WRITABLE)
        path = self.path(key, under)
        try:
            self.trust.check(os.path.dirname(path))
            os.unlink(path)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except UnsafeDirectory as error:
            return Failed(error.reason, Ending.UNSAFE)
        except OSError as error:
            return Failed(_words(error), Ending.NOT_WRITABLE)
        except MemoryError:
            return Failed("there is not enough memory", Ending.NOT_WRITABLE)
        return STORED

    # -- upkeep -------------------------------------------------------------------------

    def collect(
        self,
        max_size: int | None = None,
        *,
        unused_for: float | None = None,
        is_rehearsal: bool = False,
    ) -> Collected:
        """Bring the store within its bound, or within another one, now: see `Eviction.collect`."""
        return self.eviction.collect(max_size, unused_for=unused_for, is_rehearsal=is_rehearsal)

    def log_once(self, topic: object, level: int, message: str, *words: object) -> None:
        """Log something, unless something of the same topic was logged before."""
        if topic not in self._logged:
            self._logged.add(topic)
            log.log(level, message, *words)


# -- reading a file ----------------------------------------------------------------------


def _close(file: int) -> None:
    """Close a file whose content was checked already: errors of closing do not matter."""
    try:  # noqa: SIM105  # hot
        os.close(file)
    except (OSError, MemoryError):
        pass


def _contents(file: int, status: os.stat_result) -> bytes | memoryview:
    """All of a file, read."""
    if status.st_mode & _KIND != _REGULAR:
        raise Damaged(Damage.FOREIGN, "not a file")
    size = status.st_size
    if size > _AT_ONCE:  # not read if it cannot be an entry
        check_head(_read(file, HEAD), size)
        os.lseek(file, 0, os.SEEK_SET)
    if size >= _LARGE and sys.platform == "linux":
        return _read_large(file, size)
    return _read(file, size)


def _read(file: int, size: int) -> bytes:
    """So many bytes, or as many as there are: the system may return fewer at once."""
    data = os.read(file, size)
    if len(data) == size:
        return data
    parts, left = [data], size - len(data)
    while left > 0 and (part := os.read(file, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _read_large(file: int, size: int) -> memoryview:
    """The same, into large pages of memory.

    With small pages, reading takes four times as long: 40 ms instead of 10 ms for 100 MB. (Mapping
    took 3 ms, with the check.)
    """
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    view, done = memoryview(memory), 0
    while done < size and (read := os.readv(file, [view[done:]])):
        done += read
    return view[:done].toreadonly()


# -- files that cannot be used -----------------------------------------------------------


_TOO_LARGE: Final = Failed("it is larger than all of the store may be", Ending.UNREADABLE)


def _unreadable(store: DirectoryStore, path: str, error: Exception) -> Failed:
    """The failure for a file that cannot be read at the moment; it stays where it is."""
    if isinstance(error, MemoryError):
        return Failed("there is not enough memory for it", Ending.UNREADABLE)
    if not isinstance(error, OSError):
        return Failed(str(error), Ending.UNREADABLE)
    reason = _words(error)
    if error.errno == errno.ELOOP and os.path.islink(path):
        return _unsafe(store, path, IS_LINK)
    store.log_once(error.errno, _WARNING, "cannot read %s: %s", path, reason)
    return Failed(reason, Ending.UNREADABLE)


def _unsafe(store: DirectoryStore, path: str, reason: str) -> Failed:
    """The failure for a file that another user may have written."""
    what_to_do = file_remedy(path, reason, store.place)
    store.log_once(
        ("unsafe", reason), _WARNING, "%s is not loaded: %s. %s", path, reason, what_to_do
    )
    return Failed(reason, Ending.UNSAFE)


def _distrusted(store: DirectoryStore, directory: str, reason: str) -> Failed:
    """The failure for a directory of the store that another user may write to."""
    store.log_once("unsafe", _WARNING, "%s", unsafe_directory(directory, reason, store.place))
    return Failed(reason, Ending.UNSAFE)


def _set_aside(
    store: DirectoryStore, path: str, status: os.stat_result, damaged: Damaged
) -> Failed:
    """Move a damaged file to the quarantine, unless another has replaced it meanwhile."""
    reason = str(damaged)
    if store.read_only:
        store.log_once(
            ("damaged", path), _WARNING, "%s is damaged: %s; it is not used, and stays there "
            "because the store is read-only", path, reason,
        )  # fmt: skip
        return Failed(reason, Ending.DAMAGED)
    aside = f"{store.place}{os.sep}quarantine"
    name = f"{os.path.basename(os.path.dirname(path))}{os.path.basename(path)}"
    target = f"{aside}{os.sep}{name}-{time.time_ns():x}-{os.getpid():x}"
    try:
        if not _is_same(os.lstat(path), status):
            return Failed(reason, Ending.DAMAGED)
        make_directory(aside)
        store.trust.check(aside)
        os.rename(path, target)
        if not _is_same(os.lstat(target), status):  # the good one that came in between
            os.rename(target, path)
            return Failed(reason, Ending.DAMAGED)
    except FileNotFoundError:
        return Failed(reason, Ending.DAMAGED)
    except (OSError, MemoryError, UnsafeDirectory) as error:
        store.log_once(
            ("damaged", path), _WARNING, "%s is damaged: %s; it cannot be moved: %s",
            path, reason, _words(error) if isinstance(error, OSError) else error,
        )  # fmt: skip
        return Failed(reason, Ending.DAMAGED)
    store.statistics.count(Ending.SET_ASIDE)
    store.eviction.trim_quarantine()
    store.log_once(
        ("damaged", path), _WARNING, "%s is damaged: %s; it is now in %s and will be "
        "made again", path, reason, aside,
    )  # fmt: skip
    return Failed(reason, Ending.DAMAGED)


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _words(error: OSError) -> str:
    """The system's own description of an error."""
    return error.strerror or str(error)


# -- writing a file ----------------------------------------------------------------------


def _put(store: DirectoryStore, path: str, data: bytes | memoryview) -> None:
    """Write a file; on a full disk once more, if there is something to evict."""
    try:
        _put_once(store, path, data)
    except OSError as error:
        if error.errno not in _FULL or not store.eviction.free(len(data)):
            raise
        _put_once(store, path, data)
        store.eviction.freed()
    store.eviction.wrote(len(data))


def _put_once(store: DirectoryStore, path: str, data: bytes | memoryview) -> None:
    if store.eviction.is_large(len(data)):
        _make_directories(store, path)
    with store.eviction.room_for(len(data)):
        _write(store, path, data)


def _write(store: DirectoryStore, path: str, data: bytes | memoryview) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            for directory in (store.incoming, os.path.dirname(path)):
                store.trust.check(directory)
            write_file(path, data, store.incoming, sync=store.sync)
        except (FileNotFoundError, NotADirectoryError):
            # The first of its shard; or a collection was faster; or a file is in the way.
            if attempt == _ATTEMPTS:
                raise
            _make_directories(store, path)
            if store.sync:
                sync_directories(path, store.place)
        except IsADirectoryError:  # somebody's directory under an entry's name
            if attempt == _ATTEMPTS:
                raise
            _set_aside(store, path, os.lstat(path), Damaged(Damage.FOREIGN, "not a file"))
        else:
            return


def _set_files_aside(store: DirectoryStore, directory: str) -> None:
    """Move what is no directory away from the place of one, or of one above it in the store."""
    above = os.path.dirname(directory)
    if above != store.place:
        _set_files_aside(store, above)
    with contextlib.suppress(FileNotFoundError):
        status = os.lstat(directory)
        if not stat.S_ISDIR(status.st_mode):
            _set_aside(store, directory, status, Damaged(Damage.FOREIGN, "not a directory"))


def _make_directories(store: DirectoryStore, path: str) -> None:
    make_directory(store.place)
    check_directory(store.place, store.home)
    for directory in (store.incoming, os.path.dirname(path)):
        _set_files_aside(store, directory)
        make_directory(directory)
    tag = f"{store.place}{os.sep}CACHEDIR.TAG"
    if not os.path.lexists(tag):
        with contextlib.suppress(OSError):
            write_file(tag, _TAG, store.incoming)


def _not_stored(store: DirectoryStore, error: OSError) -> Skipped | Failed:
    reason = _words(error)
    if error.errno in _FULL:
        ending = Ending.NO_SPACE
    elif error.errno in _READ_ONLY:
        ending = Ending.NOT_WRITABLE
    else:
        ending = Ending.NOT_STORED
    if ending is Ending.NOT_WRITABLE and os.path.isdir(store.place):
        store.log_once("read-only", _INFO, "%s cannot be written to: %s", store.place, reason)
        return Skipped(f"{store.place} cannot be written to: {reason}", ending)
    store.log_once(
        error.errno, _WARNING, "nothing is kept in %s: %s. The program goes on without.",
        store.place, reason,
    )  # fmt: skip
    return Failed(reason, ending)
