"""What a store is: four methods that each one has, and what it can do; and the two simplest stores.

A store of four methods is complete. Whatever else a store can do, it says by overriding a member
of `BaseStore`, whose own answer is always "not here". Wrappers hand the question on to what they
are made of, so nobody has to know how a store is put together:

    leases          one producer at a time among all processes that use the store
    statistics      what was found and made is counted, and added up over processes
    journal         the last misses, with what differed
    uses            which toolchains are in use, so that their entries are not evicted first
    label           what an entry says of itself, without reading all of it
    peek            an entry that is quick to read, before anybody needs it
    versions        every entry of a key, where several tiers have one of their own
    put_near        keep an entry where it is looked for first
    is_far          every request is a round trip: what can be worked out here is not asked for
    offer           keep an entry that was found in a nearer tier, if that is wanted
    report_to       count there what this store does
    for_reading     the same store, never changed
    is_off          there is nothing to find, and nothing is kept
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from whorl.artifacts import Damaged, Entry, Label
from whorl.fingerprint.digest import StableDigest

from .outcome import ABSENT, STORED, Absent, Found, Got, Put, Removed, Skipped, Stored, check_key

if TYPE_CHECKING:
    from .journal import Journal
    from .lease import Leases
    from .statistics import Statistics


class Store(Protocol):
    """Entries by key, in a medium of some kind. All a new medium has to do is in these methods.

    Keys are stable digests. Entries may be put `under` a group, such as the manifests of a
    program, and are then found and listed under it only. No method raises because of the
    medium; each answers with an outcome. Methods may be called by several threads at once.
    """

    __slots__ = ()

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""

    def put(self, entry: Entry) -> Put:
        """Keep an entry under its own key; one of the same key gives way to it."""

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry."""

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group, or those of no group, in no order; none where they are not known."""


class BaseStore(Store):
    """A store to derive from: four methods to write, and the capabilities that it has.

    >>> from whorl.store import MemoryStore
    >>> MemoryStore().leases is None
    True
    """

    __slots__ = ()

    @property
    def is_off(self) -> bool:
        """Whether there is nothing to find here, ever."""
        return False

    @property
    def is_far(self) -> bool:
        """Whether a request goes to another machine."""
        return False

    @property
    def leases(self) -> Leases | None:
        """What lets one process produce while others wait; None if processes do not know."""
        return None

    @property
    def statistics(self) -> Statistics | None:
        """Where it is counted what was found and made; None if that is not added up."""
        return None

    @property
    def journal(self) -> Journal | None:
        """Where misses are written down; None if that is nowhere."""
        return None

    def uses(self, toolchain: str) -> None:
        """Note that entries of a toolchain are in use: they are not the first to be evicted."""

    def label(self, key: StableDigest, under: StableDigest | None = None) -> Label | None:
        """What an entry says of itself, unchecked where that is quicker; None if there is none."""
        got = self.get(key, under)
        try:
            return got.entry.label if isinstance(got, Found) else None
        except Damaged:
            return None

    def peek(self, key: StableDigest) -> Entry | None:
        """The entry of a key if it is quick to read and all is well with it.

        For reading ahead: whatever is wrong, nothing is logged or changed. `get` comes later.
        """
        return None

    def versions(
        self, key: StableDigest, under: StableDigest | None = None, *, far: bool = True
    ) -> Iterator[Entry]:
        """Every entry that tiers of this store have for a key, the nearest first.

        Without `far`, no other machine is asked.
        """
        if self.is_far and not far:
            return
        got = self.get(key, under)
        if isinstance(got, Found):
            yield got.entry

    def elsewhere(self, under: StableDigest) -> Iterator[tuple[str, Entry]]:
        """Entries of a group on other machines, each with the name of the machine that stored it.

        For explanations: nothing is kept here, and an engine that cannot list has none.
        """
        return iter(())

    def put_near(self, entry: Entry) -> Put:
        """Keep an entry where it is looked for first, and nowhere else."""
        return self.put(entry)

    def offer(self, entry: Entry) -> None:
        """An entry was found in a nearer tier: keep it too, if this store wants that."""

    def report_to(self, statistics: Statistics) -> None:
        """Count in these statistics what this store does, if it counts anything of its own."""

    def for_reading(self) -> BaseStore:
        """The same store, changed in no way by reading it: not even tidied up."""
        return self


class FourMethods(BaseStore):
    """A store that hands the four methods on to another one, and has no more than these."""

    __slots__ = ("inner",)

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""
        return self.inner.get(key, under)

    def put(self, entry: Entry) -> Put:
        """Keep an entry."""
        return self.inner.put(entry)

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry."""
        return self.inner.remove(key, under)

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group."""
        return self.inner.iterate(under)


def complete(store: Store) -> BaseStore:
    """A store with all capabilities; one of four methods only has those of `BaseStore`.

    Raises `TypeError` for what is not a store.

    >>> from whorl.store import MemoryStore
    >>> store = MemoryStore()
    >>> complete(store) is store
    True
    """
    if isinstance(store, BaseStore):
        return store
    if isinstance(store, type) or not all(callable(getattr(store, n, None)) for n in _METHODS):
        raise TypeError(_no_store(store))
    return FourMethods(store)


_METHODS: Final = ("get", "put", "remove", "iterate")


def _no_store(value: object) -> str:
    """Why a value is not a store, and what to write instead."""
    if isinstance(value, str) and "://" in value:
        return "a URL is not a store: write whorl.store.open_url(URL)"  # which may hold a password
    if isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        return f"{path!r} is a path, not a store: write whorl.store.DirectoryStore({path!r})"
    if isinstance(value, type):
        return f"{value.__name__} is a class, not a store: pass an object of it"
    name = type(value).__name__
    if isinstance(getattr(value, "store", None), BaseStore):
        return f"a {name} is not a store: pass its .store"
    return f"a store has the methods {', '.join(_METHODS)}; {name} does not"


# -- the two simplest stores -----------------------------------------------------------
#
# Entries in this process, and nowhere at all.


class MemoryStore(BaseStore):
    """Entries that live as long as the store.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> store = MemoryStore()
    >>> key = StableDigest("0" * 32)
    >>> store.get(key)
    Absent()
    >>> store.put(encode(Artifact({"code": b"ret"}), Label("artifact", key)))
    Stored()
    >>> list(store.iterate()) == [key]
    True
    """

    def __init__(self) -> None:
        self._groups: dict[StableDigest | None, dict[StableDigest, Entry]] = {}

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""
        check_key(key, under)
        entry = self._groups.get(under, {}).get(key)
        return ABSENT if entry is None else Found(entry)

    def put(self, entry: Entry) -> Stored:
        """Keep an entry."""
        check_key(entry.key, entry.under)
        self._groups.setdefault(entry.under, {})[entry.key] = entry
        return STORED

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Stored | Absent:
        """Forget an entry."""
        check_key(key, under)
        return ABSENT if self._groups.get(under, {}).pop(key, None) is None else STORED

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group."""
        return iter(list(self._groups.get(under, {})))


class NullStore(BaseStore):
    """A store that keeps nothing: what `WHORL_CACHE=off` means.

    >>> NullStore().get(StableDigest("0" * 32))
    Absent()
    """

    @property
    def is_off(self) -> bool:
        """Yes."""
        return True

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Absent:
        """Nothing."""
        check_key(key, under)
        return ABSENT

    def put(self, entry: Entry) -> Skipped:
        """Nothing is kept."""
        check_key(entry.key, entry.under)
        return Skipped("the cache is off")

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Absent:
        """There is nothing to forget."""
        check_key(key, under)
        return ABSENT

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """No keys."""
        return iter(())
