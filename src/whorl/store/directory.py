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
import os
import stat
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whorl.artifacts import FORMAT, Damage, Damaged, Entry
from whorl.artifacts.entry import HEAD, check_head, names_of
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import importing, logger, room
from whorl.settings import DEFAULT_MAX_SIZE, absolute

from .found import ABSENT, Absent, Found, check_key
from .safety import check_directory, danger, distrust, is_private, unsafe_directory
from .statistics import Statistics

if TYPE_CHECKING:
    from pathlib import Path

    from . import bound as bounds
    from . import large_file, listing, stamp, unusable, writing
    from . import outcome as outcomes
    from .bound import Bound, Collected
else:  # what a hit has no need of
    bounds = room("whorl.store.bound", globals())
    large_file = room("whorl.store.large_file", globals())
    listing = room("whorl.store.listing", globals())
    outcomes = room("whorl.store.outcome", globals())
    stamp = room("whorl.store.stamp", globals())
    unusable = room("whorl.store.unusable", globals())
    writing = room("whorl.store.writing", globals())

__all__ = ["DirectoryStore"]

log = logger("whorl.store")

RENEWED_EVERY: Final = 3600.0  # seconds after which a hit renews the time of a file
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe under an entry's name must not hold us up
    | getattr(os, "O_BINARY", 0)
)
_KIND: Final = 0o170000  # what `stat.S_IFMT` looks at
_REGULAR: Final = stat.S_IFREG
_SEP: Final = os.sep
_VERSION: Final = f"{os.sep}v{FORMAT}"
_USUAL: Final = 1 << 16  # bytes that hold most entries
_LOOKED_AT: Final = 10_000
_TRUSTED_FOR: Final = 5.0  # seconds
_AT_ONCE: Final = 1 << 20  # up to here a file is read before its head is looked at
_LARGE: Final = 1 << 22  # from here on it is worth asking for large pages of memory


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

    __slots__ = (
        "__weakref__", "_bound", "_checked_until", "_entries", "_groups", "_looked_at",
        "_private_until", "_safe_until", "_said", "home", "max_size", "place", "read_only",
        "statistics", "sync",
    )  # fmt: skip

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
        is_closed = check_directory(self.place, home)
        self.max_size = max_size
        self.read_only = read_only
        self.statistics = statistics or Statistics(
            None if read_only else f"{self.place}{os.sep}statistics"
        )
        self.home = home  # where what this version keeps is
        self._entries = f"{home}{os.sep}entries{os.sep}"
        self._groups = f"{home}{os.sep}groups{os.sep}"
        self.sync = sync
        self._said: set[object] = set()
        self._bound: Bound | None = None
        # Of a file that was looked at twice: until when it is not necessary to look at it again,
        # and what names it has to have.
        self._looked_at: dict[str, tuple[float, bytes] | None] = {}
        # Until when the directory is taken to be as it was seen, and nobody else can have entered.
        self._checked_until = 0.0 if is_closed is None else time.monotonic() + _TRUSTED_FOR
        self._safe_until = {home: self._checked_until}  # directories inside that were looked at
        self._private_until = self._checked_until if is_closed else 0.0

    @property
    def root(self) -> Path:
        """The directory."""
        with importing:
            from pathlib import Path

        return Path(self.place)

    @property
    def was_just_checked(self) -> bool:
        """Whether it was there, and safe, a moment ago."""
        return time.monotonic() < self._checked_until

    @property
    def leases(self) -> str:
        """Where it is written who is making what."""
        return f"{self.home}{os.sep}leases"

    @property
    def incoming(self) -> str:
        """Where files are while they are written."""
        return f"{self.home}{os.sep}incoming"

    @property
    def bound(self) -> Bound:
        """What keeps it from growing."""
        bound = self._bound
        if bound is None:
            bound = self._bound = bounds.Bound(self.place, self.max_size, self.statistics)
        return bound

    def for_reading(self) -> DirectoryStore:
        """The same directory, not changed in any way: not even tidied up."""
        return DirectoryStore(self.place, max_size=self.max_size, read_only=True)

    def __repr__(self) -> str:
        return f"DirectoryStore({self.place!r})"

    def path(self, key: StableDigest, under: StableDigest | None = None) -> str:
        """Where the entry of a key is, if it is there."""
        if under is None:
            return f"{self._entries}{key[:2]}{os.sep}{key[2:]}"
        return f"{self._groups}{under[:2]}{os.sep}{under[2:]}{os.sep}{key}"

    # -- reading ------------------------------------------------------------------------

    def get(self, key: StableDigest, under: StableDigest | None = None) -> outcomes.Got:
        """The entry of a key, checked. Hot: see `bench/store.py`."""
        if key.__class__ is not StableDigest or (under and under.__class__ is not StableDigest):
            check_key(key, under)
        if under is None:
            path = f"{self._entries}{key[:2]}{_SEP}{key[2:]}"  # as `path` says, sooner
        else:
            path = f"{self._groups}{under[:2]}{_SEP}{under[2:]}{_SEP}{key}"
        try:
            file = os.open(path, _FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        except (OSError, MemoryError) as error:
            return self._unreadable(path, error)
        try:
            known = self._looked_at.get(path)
            if known is not None and known[0] > time.monotonic():
                try:
                    return Found(Entry.checked(os.read(file, _USUAL), key, under, known[1]))
                except Damaged:  # or only a part of it: look more closely
                    os.lseek(file, 0, os.SEEK_SET)
            directory = path.rpartition(_SEP)[0]
            unsafe = self._distrusted(directory)
            if unsafe is not None:
                return unusable.distrusted(self, *unsafe)
            status = os.fstat(file)
            size = status.st_size
            if size > self.max_size:
                return unusable.too_large()
            names = names_of(key, under)
            try:
                entry = Entry.checked(_contents(file, status), key, under, names)
            except Damaged as damaged:
                return unusable.set_aside(self, path, status, damaged)
            return self._looked(path, status, names) or Found(entry)
        except (OSError, MemoryError, ImportError) as error:
            return self._unreadable(path, error)
        finally:
            _close(file)

    def _unreadable(self, path: str, error: Exception) -> outcomes.Failed | Absent:
        try:
            return unusable.unreadable(self, path, error)
        except (ImportError, OSError, MemoryError):  # no files can be opened, nor that of a module
            return ABSENT

    # -- trust --------------------------------------------------------------------------

    def check_inside(self, directory: str) -> None:
        """Raise `UnsafeDirectory` if a directory of the store, or one above, may be another's."""
        unsafe = self._distrusted(directory)
        if unsafe is not None:
            raise unsafe_directory(*unsafe, self.place)

    def _distrusted(self, directory: str) -> tuple[str, str] | None:
        """The directory on the way to this one that is not to be trusted, and why; None if all are.

        Each is looked at every few seconds.
        """
        known, now, met = self._safe_until, time.monotonic(), []
        while directory != self.place and known.get(directory, 0.0) <= now:
            reason = distrust(directory)
            if reason is not None:
                return directory, reason
            met.append(directory)
            directory = directory.rpartition(_SEP)[0]
        if len(known) >= _LOOKED_AT:
            known.clear()
        known.update(dict.fromkeys(met, now + _TRUSTED_FOR))
        return None

    # -- reading, where it is less usual ------------------------------------------------

    def _looked(self, path: str, status: os.stat_result, names: bytes) -> outcomes.Failed | None:
        """Look at the file itself, not at its content: who may have written it, when it was used.

        In a directory that nobody else can enter, nobody else can have written a file: there it
        is enough to look at it every few seconds.
        """
        reason = danger(status)
        if reason is not None:
            return unusable.unsafe(self, path, reason)
        age = time.time() - status.st_mtime
        if not -RENEWED_EVERY <= age <= RENEWED_EVERY:
            self._renew(path)
        looked_at = self._looked_at
        if path not in looked_at:  # as most, which are asked for once
            if len(looked_at) >= _LOOKED_AT:
                looked_at.clear()
            looked_at[path] = None
            return None
        now = time.monotonic()
        if now >= self._private_until and is_private(os.stat(self.place)):
            self._private_until = now + _TRUSTED_FOR
        if now < self._private_until:
            looked_at[path] = self._private_until, names
        return None

    def _renew(self, path: str) -> None:
        if not self.read_only:
            with contextlib.suppress(OSError, MemoryError):
                os.utime(path)

    def glance(self, key: StableDigest) -> Entry | None:
        """The entry of a key, if all is well with it; if not, nothing is said or done about that.

        For who reads ahead: `get` is there when somebody needs it.
        """
        path = self.path(key)
        try:
            file = os.open(path, _FLAGS)
        except (OSError, MemoryError):
            return None
        try:
            status = os.fstat(file)
            if status.st_size > _AT_ONCE or danger(status) is not None:
                return None
            if self._distrusted(path.rpartition(_SEP)[0]) is not None:
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
        if not self._is_trusted(directory):
            return iter(())
        if under is None:
            return listing.keys_in_shards(directory)
        return listing.keys_in_group(directory)

    def groups(self) -> Iterator[StableDigest]:
        """The groups that have entries."""
        directory = os.path.dirname(self._groups)
        return listing.keys_in_groups(directory) if self._is_trusted(directory) else iter(())

    def _is_trusted(self, directory: str) -> bool:
        try:
            return self._distrusted(directory) is None
        except (OSError, MemoryError):
            return False

    def set_aside(
        self, key: StableDigest, under: StableDigest | None, damaged: Damaged
    ) -> outcomes.Failed | Absent:
        """Move an entry out of the way that somebody found to be of no use."""
        check_key(key, under)
        path = self.path(key, under)
        try:
            if self._distrusted(os.path.dirname(path)) is not None:
                return ABSENT
            return unusable.set_aside(self, path, os.lstat(path), damaged)
        except (OSError, MemoryError):
            return ABSENT

    # -- writing ------------------------------------------------------------------------

    def put(self, entry: Entry) -> outcomes.Put:
        """Keep an entry. When this returns `Stored`, every process can find it."""
        return writing.put(self, entry)

    def remove(
        self, key: StableDigest, under: StableDigest | None = None
    ) -> outcomes.Stored | Absent | outcomes.Failed:
        """Forget an entry."""
        return writing.remove(self, key, under)

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
        stamp.keep_alive(self.home, toolchain)

    def say(self, topic: object, level: int, message: str, *words: object) -> None:
        """Log something once."""
        if topic not in self._said:
            self._said.add(topic)
            log.log(level, message, *words)


def _close(file: int) -> None:
    """What was read has been checked: it is right, whatever is said now."""
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
    found = large_file.contents(file, size) if size >= _LARGE else None
    return _read(file, size) if found is None else found


def _read(file: int, size: int) -> bytes:
    """So many bytes, or as many as there are: the system may give fewer at once."""
    data = os.read(file, size)
    if len(data) == size:
        return data
    parts, left = [data], size - len(data)
    while left > 0 and (part := os.read(file, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
