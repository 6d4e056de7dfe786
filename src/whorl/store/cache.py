"""A cache: a store in which each entry is produced once; and the cache of this process.

When several threads or processes miss one key at once, one of them produces and the others wait
for what it puts: see `lease`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from whorl import settings as _settings
from whorl.artifacts import Damaged, Entry, Label, Record, decode
from whorl.errors import UnsafeDirectory
from whorl.fast_dataclasses import dataclass, replace
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.source import SourceMemory
from whorl.lazy import importing, lazy_module, load, logger
from whorl.locks import ForkSafeLock
from whorl.settings import Settings
from whorl.signals import pass_on

from .directory import DirectoryStore
from .outcome import ABSENT, Absent, Ending, Failed, Found, Got, Put, Skipped
from .protocol import BaseStore, NullStore, Store, complete
from .statistics import Statistics

if TYPE_CHECKING:
    from . import foreign_entry as _foreign
    from .foreign_entry import ForeignEntry, ForeignLease, KeyPart
    from .journal import Journal
    from .lease import Flights, Leases

    _InAStore = SourceMemory[BaseStore]
else:
    _foreign = lazy_module("whorl.store.foreign_entry", globals())
    _InAStore = SourceMemory

LEASE: Final = 600.0  # seconds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Obtained:
    """An entry and how it came about: `HIT`, `WAITED` or one of the ways of producing it.

    `put` says what became of an entry that was produced.
    """

    entry: Entry
    how: Ending
    put: Put | None = None


class Cache:
    """A store, with one producer at a time for each key.

    Leases, statistics and the journal are those of the store, as far as it has any.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> cache = Cache(MemoryStore())
    >>> key = StableDigest("0" * 32)
    >>> def produce():
    ...     print("compiling")
    ...     return encode(Artifact({"code": b"ret"}), Label("artifact", key))
    >>> [cache.obtain(key, produce).how.value for _ in range(2)]
    compiling
    ['produced', 'hit']
    """

    __slots__ = ("__weakref__", "_flights", "_lease", "_leases", "statistics", "store")

    def __init__(
        self,
        store: Store,
        *,
        leases: Leases | None = None,
        statistics: Statistics | None = None,
        lease: float = LEASE,
    ) -> None:
        self.store = complete(store)
        self.statistics = statistics or self.store.statistics or Statistics()
        self.store.report_to(self.statistics)
        self._leases = leases
        self._lease = lease
        self._flights: dict[str, Flights] = {}  # one, when something is first produced

    @property
    def leases(self) -> Leases | None:
        """The leases that other processes know; None if there are none."""
        return self.store.leases if self._leases is None else self._leases

    @property
    def journal(self) -> Journal | None:
        """Where misses are written down; None if that is nowhere."""
        return self.store.journal

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key; how that ends is counted."""
        got = self.store.get(key, under)
        self.count(got)
        return got

    def count(self, got: Got, program: str = "") -> None:
        """Count how a lookup has ended; a hit for a program too, if it is of use to one."""
        if isinstance(got, Found):
            self.statistics.hit(len(got.entry.data), got.entry.head, program)
        else:
            self.statistics.count(Ending.ABSENT if isinstance(got, Absent) else got.ending)

    def uses(self, toolchain: str) -> None:
        """Note that entries of a toolchain are in use, so that they are not evicted first.

        That is written down with the statistics: a hit does not wait for it.
        """
        if toolchain:
            self.statistics.to_do.append(partial(self.store.uses, toolchain))

    def put(self, entry: Entry) -> Put:
        """Keep an entry; how that ends is counted."""
        put = self.store.put(entry)
        if isinstance(put, Skipped | Failed):
            self.statistics.count(put.ending)
        else:
            self.statistics.count(Ending.STORED, bytes_written=len(entry.data))
        return put

    def obtain(
        self,
        key: StableDigest,
        produce: Callable[[], Entry],
        *,
        under: StableDigest | None = None,
        what: str = "an entry",
    ) -> Obtained:
        """The entry of a key, made by `produce` if nobody has it.

        `what` names the entry for those who wait. What `produce` raises is raised here.
        """
        got = self.get(key, under)
        if isinstance(got, Found):
            return Obtained(got.entry, Ending.HIT)

        def look_up(theirs: Obtained | None) -> Obtained | None:
            if theirs is not None:
                return Obtained(theirs.entry, Ending.WAITED)
            again = self.store.get(key, under)
            return Obtained(again.entry, Ending.WAITED) if isinstance(again, Found) else None

        def produce_and_put() -> Obtained:
            entry = produce()
            if (entry.under, entry.key) != (under, key):
                raise ValueError(f"asked for {key} (under {under}), got the entry of {entry.key}")
            return Obtained(entry, Ending.PRODUCED, self.put(entry))

        name = str(key) if under is None else f"{under}-{key}"
        obtained, how = self.once(name, look_up, produce_and_put, what=what)
        if how is Ending.WAITED:
            entry = obtained.entry
            self.statistics.count(how, bytes_read=len(entry.data), seconds_saved=entry.seconds)
        return replace(obtained, how=how)

    def once(
        self,
        name: str,
        look_up: Callable[[T | None], T | None],
        produce: Callable[[], T],
        *,
        what: str = "an entry",
    ) -> tuple[T, Ending]:
        """What `look_up` returns, or `produce` makes while nobody else produces under this name.

        After a wait, `look_up` is called again before anything is produced; its argument is what
        another thread of this process made, if it was one. Returns also how it ended: `WAITED`, or
        one of the ways of producing.
        """
        return self._open_flights().once(name, look_up, produce, what)

    def _open_flights(self) -> Flights:
        flights = self._flights.get("flights")
        if flights is None:
            with importing:
                from .lease import Flights

            flights = Flights(self.statistics, self.leases, self._lease)
            flights = self._flights.setdefault("flights", flights)
        return flights

    # -- entries of other compilers --------------------------------------------------------

    def find(self, key: StableDigest, *, sealed: bool = False) -> ForeignEntry | None:
        """What a compiler has kept under a key, or None; how that ends is counted.

        With `sealed`, only what this user has sealed for this very key: reading a pickle can
        execute anything.

        >>> from whorl.store import MemoryStore
        >>> Cache(MemoryStore()).find(StableDigest("0" * 32)) is None
        True
        """
        return _foreign.find_entry(self, key, sealed=sealed, count=True)

    def keep(
        self,
        key: StableDigest,
        payloads: Mapping[str, bytes | memoryview],
        *,
        name: str,
        parts: Iterable[KeyPart] = (),
        seconds: float = 0.0,
        toolchain: str = "",
        sealed: bool = False,
    ) -> Put:
        """Keep what a compiler has made, under a key of its own.

        `name` is what it is called in lists, such as `solver.step`; `parts` say what the key was
        made of, so that a later miss can be explained. Payloads are bytes, by names that can be
        those of files. `sealed` signs them for this key: see `find`. Why it had to be made is
        counted and written to the journal.

        >>> from whorl.store import MemoryStore
        >>> cache, key = Cache(MemoryStore()), StableDigest("0" * 32)
        >>> cache.keep(key, {"kernel.ptx": b"ret"}, name="solver.step", sealed=True)
        Stored()
        >>> bytes(cache.find(key, sealed=True).payloads["kernel.ptx"])
        b'ret'
        """
        description = _foreign.EntryDescription(name, tuple(parts), seconds, toolchain)
        return _foreign.keep_entry(self, key, payloads, description, sealed=sealed)

    def begin(self, key: StableDigest, *, name: str = "", sealed: bool = False) -> ForeignLease:
        """The right to make the entry of a key, for compilers that ask and answer separately.

        Others that begin it wait until it is committed or abandoned, or its holder is gone, and no
        longer than a lease. `name` is for those who wait.

        >>> from whorl.store import MemoryStore
        >>> cache, key = Cache(MemoryStore()), StableDigest("0" * 32)
        >>> lease = cache.begin(key)
        >>> lease.commit({"code": b"ret"}, name="solver.step")
        Stored()
        """

        def look_up(theirs: ForeignEntry | None) -> ForeignEntry | None:
            return theirs or _foreign.find_entry(self, key, sealed=sealed, count=False)

        turn = self._open_flights().begin(f"foreign-{key}", look_up, name or "an entry")
        if turn.found is None:
            _foreign.refuse_where_required(turn, name or str(key), cache_state(self))
        else:
            self.statistics.count(turn.how, seconds_saved=turn.found.seconds)
        return _foreign.ForeignLease(self, key, turn)


# -- the cache of this process ---------------------------------------------------------


log = logger("whorl.store")

_lock = ForkSafeLock()
_cache: Cache | None = None
_opened: tuple[Settings, Cache] | None = None  # the settings it was opened with
_ready: tuple[Settings, DirectoryStore, Cache] | None = None  # ... before it was needed
_prepared: list[bool] = []  # whether that was tried


def open_cache(settings: Settings) -> Cache:
    """The cache that settings describe. A directory that is not safe is not used, with a warning.

    >>> from whorl.settings import Settings
    >>> open_cache(Settings.from_environment({"WHORL_CACHE": "off"})).store.__class__.__name__
    'NullStore'
    """
    mode = settings.cache.value
    if mode == "off":
        return Cache(NullStore())
    root = settings.cache_place.value
    try:
        directory = DirectoryStore(root, max_size=settings.cache_max_size.value)
    except UnsafeDirectory as error:
        log.warning("%s", error)
        return Cache(NullStore())
    store: BaseStore = directory
    if settings.remote.value:
        store = _with_shared_caches(directory, settings)
    if mode == "readonly":
        with importing:
            from .wrappers import ReadOnly

        store = ReadOnly(store)
    return Cache(store)


def _with_shared_caches(directory: BaseStore, settings: Settings) -> BaseStore:
    """A directory before the shared caches that settings name. What is wrong with a URL is said."""
    with importing:
        from whorl.url_options import usable_urls

        from .wrappers import LateTiers, Tiered

    urls, origin = settings.remote
    usable = usable_urls(urls, origin)
    if not usable:
        return directory
    settings = settings._replace(remote=settings.remote._replace(value=usable))
    reshare = any("reshare" in url.reveal() for url in usable)
    return Tiered(directory, LateTiers(partial(_open_tiers, settings), reshare=reshare))


def _open_tiers(settings: Settings) -> BaseStore:
    """The shared caches that settings name. They are a layer above this one: see `LateTiers`."""
    with importing:
        from .wrappers import Tiered

    tiers: list[BaseStore] = load("whorl.remote.tiers").open_tiers(settings)
    return Tiered(*tiers) if tiers else NullStore()


def open_url(url: str) -> BaseStore:
    """The shared cache at a URL, to be put behind a directory: `Cache(Tiered(directory, far))`.

    `BadSetting` for a URL that makes no sense. A server that does not answer is no error: its
    entries are absent.
    """
    far: BaseStore = load("whorl.remote.tiers").open_url(url)
    return far


def as_cache(store: Cache | Store | str | os.PathLike[str]) -> Cache:
    """The cache for a value of `store=`: a cache, a store, or the path of a directory.

    >>> from whorl.store import MemoryStore
    >>> as_cache(MemoryStore()).store
    <whorl.store.protocol.MemoryStore object at ...>
    """
    if isinstance(store, Cache):
        return store
    is_path = isinstance(store, str | os.PathLike) and "://" not in os.fspath(store)
    return Cache(DirectoryStore(store) if is_path else store)  # type: ignore[arg-type]


def cache_state(cache: object) -> str:
    """What WHORL_CACHE says of a cache: "on", "off" or "readonly". It is for the default one only.

    >>> cache_state(None)
    'on'
    """
    return _settings.current().cache.value if cache is default_cache() else "on"


def default_cache() -> Cache:
    """The cache of this process, as `whorl.configure` and the environment say."""
    global _cache, _opened  # noqa: PLW0603  # one process, one default
    cache = _cache
    while cache is None:
        settings, ready = _settings.current(), _ready
        if ready is not None and ready[0] is settings and ready[1].trust.was_just_checked:
            _cache = cache = ready[2]
        else:
            opened = open_cache(settings)
            with _lock:  # one for all threads that come here at once
                if _opened is None or _opened[0] is not settings:
                    _opened = settings, opened
                _cache = cache = _opened[1]
        if _settings.current() is not settings:  # `configure` was faster
            _cache = cache = None
    return cache


def prepare() -> None:
    """Open the default cache before the first lookup, once in a process, without any message.

    That is the part of a first lookup that is the same for all kernels of a process. What is opened
    here is used if the settings are still the same when the cache is first needed; errors and
    warnings wait for that moment.
    """
    global _ready  # noqa: PLW0603  # as above
    if _prepared:
        return
    _prepared.append(True)
    settings = _settings.prepared()
    if settings is None or settings.cache.value != "on" or settings.remote.value:
        return
    try:
        directory = DirectoryStore(
            settings.cache_place.value, max_size=settings.cache_max_size.value
        )
    except Exception as error:  # `default_cache` reports it
        pass_on(error)
        return
    _ready = settings, directory, Cache(directory)


def prepared() -> BaseStore | None:
    """The store of this process's cache, if that is open by now, for good or only prepared."""
    cache = _cache or (_ready and _ready[2])
    return cache.store if cache else None


def _reopen(before: Settings, after: Settings) -> None:
    global _cache, _opened, _ready
    with _lock:
        cache, _cache, _opened, _ready = _cache, None, None, None
    if cache is not None:
        cache.statistics.flush()


_settings.on_change(_reopen)


# -- what kernels and cached functions keep beside their results ------------------------


def records(
    store: Store,
    group: StableDigest,
    *,
    but: Container[StableDigest] = (),
    most: int | None = None,
) -> list[tuple[Label, Record]]:
    """The records of a group with their labels, no more than `most`; unreadable ones are left out.

    >>> from whorl.store import MemoryStore
    >>> records(MemoryStore(), StableDigest("0" * 32))
    []
    """
    rows: list[tuple[Label, Record]] = []
    for key in store.iterate(group):
        if len(rows) == most:
            break
        got = ABSENT if key in but else store.get(key, group)
        if isinstance(got, Found):
            with contextlib.suppress(Damaged):
                rows.append((got.entry.label, decode(got.entry)))
    return rows


class StoredSources(_InAStore):
    """Rows about functions as entries without payloads.

    >>> from whorl.store import MemoryStore
    >>> sources = StoredSources(MemoryStore())
    >>> sources.put(StableDigest("0" * 32), ["source", "ab", 1, 2])
    >>> sources.get(StableDigest("0" * 32))
    ['source', 'ab', 1, 2]
    """

    __slots__ = ()

    def get(self, key: StableDigest) -> object:
        """The row that the store has of a key, or None."""
        entry = next(self.place.versions(key, far=False), None)  # working it out is as quick
        try:
            return None if entry is None else entry.record
        except Damaged:
            return None

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        self.place.put(Entry.build(Label("source", key), {}, row))
