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

from whorl.artifacts import FORMAT, Damaged, Entry
from whorl.artifacts.entry import names_of
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import importing, logger, room
from whorl.settings import DEFAULT_MAX_SIZE, absolute

from .found import ABSENT, Absent, Found, check_key
from .safety import check_directory, danger, is_private
from .statistics import Statistics

if TYPE_CHECKING:
    from pathlib import Path

    from . import bound as bounds
    from . import listing, mapping, stamp, unusable, writing
    from . import outcome as outcomes
    from .bound import Bound, Collected
else:  # what a hit has no need of
    bounds = room("whorl.store.bound", globals())
    listing = room("whorl.store.listing", globals())
    mapping = room("whorl.store.mapping", globals())
    outcomes = room("whorl.store.outcome", globals())
    stamp = room("whorl.store.stamp", globals())
    unusable = room("whorl.store.unusable", globals())
    writing = room("whorl.store.writing", globals())

__all__ = ["DirectoryStore"]

log = logger("whorl.store")

RENEWED_EVERY: Final = 3600.0  # seconds after which a hit renews the time of a file
_READ: Final = (
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
        "__weakref__", "_bound", "_checked_until", "_entries", "_groups", "_home", "_looked_at",
        "_private_until", "_said", "max_size", "place", "read_only", "statistics", "sync",
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
        is_closed = check_directory(self.place)
        home = f"{self.place}{_VERSION}"
        self.max_size = max_size
        self.read_only = read_only
        self.statistics = statistics or Statistics(
            None if read_only else f"{self.place}{os.sep}statistics"
        )
        self._home = home
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
        return f"{self._home}{os.sep}leases"

    @property
    def incoming(self) -> str:
        """Where files are while they are written."""
        return f"{self._home}{os.sep}incoming"

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
        """Where the entry of a key is, if it is there: for mapping its payloads."""
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
            size = status.st_size
            if size > self.max_size:
                return unusable.too_large()
            contents: bytes | memoryview = os.read(file, size) if size <= _AT_ONCE else b""
            if len(contents) != size or status.st_mode & _KIND != _REGULAR:
                contents = _contents(file, status, self.place)
            names = names_of(key, under)
            entry = Entry.checked(contents, key, under, names)
            return self._looked(path, status, names) or Found(entry)
        except Damaged as damaged:
            return unusable.set_aside(self, path, os.fstat(file), damaged)
        except (OSError, MemoryError) as error:
            return self._unreadable(path, error)
        finally:
            os.close(file)

    def _unreadable(self, path: str, error: OSError | MemoryError) -> outcomes.Failed | Absent:
        try:
            return unusable.unreadable(self, path, error)
        except (ImportError, OSError):  # no more files can be opened, nor that of a module
            return ABSENT

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
            with contextlib.suppress(OSError):
                os.utime(path)

    def glance(self, key: StableDigest) -> Entry | None:
        """The entry of a key, if all is well with it; if not, nothing is said or done about that.

        For who reads ahead: `get` is there when somebody needs it.
        """
        path = self.path(key)
        try:
            file = os.open(path, _READ)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            if status.st_size > _AT_ONCE or danger(status) is not None:
                return None
            entry = Entry.checked(os.read(file, status.st_size), key)
        except (Damaged, OSError, MemoryError):
            return None
        finally:
            os.close(file)
        if abs(time.time() - status.st_mtime) > RENEWED_EVERY:
            self._renew(path)
        return entry

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group, or those of no group, in no order."""
        if under is None:
            return listing.keys_in_shards(self._entries)
        check_key(under)
        return listing.keys_in_group(os.path.dirname(self.path(under, under)))

    def groups(self) -> Iterator[StableDigest]:
        """The groups that have entries."""
        return listing.keys_in_groups(self._groups)

    def set_aside(
        self, key: StableDigest, under: StableDigest | None, damaged: Damaged
    ) -> outcomes.Failed | Absent:
        """Move an entry out of the way that somebody found to be of no use."""
        check_key(key, under)
        path = self.path(key, under)
        try:
            return unusable.set_aside(self, path, os.lstat(path), damaged)
        except OSError:
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
        stamp.keep_alive(self._home, toolchain)

    def say(self, topic: object, level: int, message: str, *words: object) -> None:
        """Log something once."""
        if topic not in self._said:
            self._said.add(topic)
            log.log(level, message, *words)


def _contents(file: int, status: os.stat_result, root: str) -> bytes | memoryview:
    """All of a file that is large, or of which not all was read; mapped where that is safe."""
    if not stat.S_ISREG(status.st_mode):
        raise Damaged.not_a_file()
    return mapping.contents(file, status.st_size, root)
