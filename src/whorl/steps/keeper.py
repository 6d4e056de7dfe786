"""A key in, the result that is kept under it out: written down in a store, or live in a process.

What comes out of a store is made anew for whoever asks, so that nobody can change what another
gets; what nobody can change is handed out as it is. Arrays lie over the bytes of the entry and
cannot be written to, unless copies were asked for.
"""

from __future__ import annotations

import logging
import re
import time
import types
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Protocol

from whorl.artifacts import Damaged, Entry, Label, Part
from whorl.fingerprint.digest import Digest, StableDigest
from whorl.fingerprint.names import known_module_name
from whorl.late import dataclass
from whorl.lazy import importing
from whorl.store import Cache, DirectoryStore, Ending, Found, default_cache
from whorl.store.outcome import check_key

from .process_store import ProcessStore
from .values import Encoded, NotRestored, Serializer, decoded, encoded, is_constant

__all__ = ["Keeper", "Kept", "Live", "Made", "Written"]

log = logging.getLogger("whorl.steps")

LABELS_READ: Final = 64


class Kept:
    """A result in hand. `held` is the result itself if nobody can change it."""

    __slots__ = ("_again", "_first", "constant", "held", "is_shared", "is_stored", "size")

    def __init__(
        self,
        held: Any,
        *,
        again: Callable[[], Any] | None = None,
        size: int = 0,
        is_shared: bool = True,
    ) -> None:
        self.held = None if again is not None else held
        self.constant = again is None
        self._again = again
        self._first = [] if again is None else [held]  # for one who asks, and nobody after
        self.size = size
        self.is_shared = is_shared  # or good for the call that made it only
        self.is_stored = is_shared  # or the store could not take it

    def value(self) -> Any:
        """The result, anew where it could be changed."""
        if self._again is None:
            return self.held
        try:
            return self._first.pop()
        except IndexError:
            return self._again()


@dataclass(frozen=True, slots=True)
class Made:
    """What a run has made, and what is known of it."""

    value: Any
    seconds: float
    parts: tuple[Part, ...]
    why_not: str = ""  # why it is not to be kept; empty if it is


class Keeper(Protocol):
    """Where the results of one function are kept."""

    @property
    def flights(self) -> Cache:
        """What lets one make it while others wait."""

    @property
    def is_off(self) -> bool:
        """Whether nothing is kept at all."""

    def check(self, key: Digest) -> None:
        """Refuse a key under which nothing can be kept here."""

    def find(self, key: Digest, *, count: bool) -> Kept | None:
        """What is kept under a key."""

    def keep(self, key: Digest, made: Made) -> Kept:
        """Keep what was made, and hand it back as a later call will get it."""

    def forget(self, key: Digest) -> bool:
        """Whether there was something under a key; now there is not."""

    def forget_all(self) -> int:
        """Forget what the function has made; how much that was."""

    def labels(self, most: int = ...) -> Iterator[Label]:
        """What is said of so many of the results that are kept, the last first."""


class Written:
    """Results written down in a store, in the group of their function."""

    def __init__(
        self,
        name: str,
        group: StableDigest,
        cache: Cache | None,
        home: Mapping[str, Any],
        serializer: Serializer | None = None,
        *,
        writable: bool = False,
    ) -> None:
        self._name = name
        self._group = group
        self._own = cache
        self._home = home
        self._serializer = serializer
        self._writable = writable
        self._said: set[str] = set()

    @property
    def flights(self) -> Cache:
        """The cache, which has leases for other processes too."""
        return default_cache() if self._own is None else self._own

    @property
    def is_off(self) -> bool:
        """Whether `WHORL_CACHE` is off."""
        return self.flights.store.is_off

    def check(self, key: Digest) -> None:
        """A key that names something of this process cannot name something in a store."""
        check_key(key)

    def find(self, key: Digest, *, count: bool) -> Kept | None:
        """What is written down under a key, if it can be a result of this program."""
        check_key(key)
        assert isinstance(key, StableDigest)
        cache = self.flights
        got = cache.store.get(key, self._group)
        kept = self._read(got.entry) if isinstance(got, Found) else None
        if count:
            cache.count(got, "" if kept is None else self._name)
        return kept

    def _read(self, entry: Entry) -> Kept | None:
        try:
            return self._kept(entry)
        except (Damaged, NotRestored) as error:
            self._say(f"what is kept of {self._name} is not used: {error}", logging.INFO)
            return None

    def keep(self, key: Digest, made: Made) -> Kept:
        """Write a result down."""
        check_key(key)
        assert isinstance(key, StableDigest)
        if made.why_not:
            self._say(f"a result of {self._name} is not kept: {made.why_not}", logging.WARNING)
            return Kept(made.value, is_shared=False)
        try:
            written = encoded(made.value, self._serializer, place=f"{self._group}/{key}")
            entry = self._entry(key, written, made)
            kept = self._kept(entry)
        except Exception as error:  # whatever it is, the result is there and is returned
            why = str(error) or type(error).__name__
            self._say(f"a result of {self._name} is not kept: {why}", logging.WARNING)
            return Kept(made.value, is_shared=False)
        with importing:
            from whorl.store import Stored

        kept.is_stored = isinstance(self.flights.put(entry), Stored)
        return kept

    def _entry(self, key: StableDigest, written: Encoded, made: Made) -> Entry:
        label = Label(
            "result", key, self._group, made.parts, made=time.time(), seconds=made.seconds
        )
        return Entry.made(label, written.payloads, written.record)

    def _kept(self, entry: Entry) -> Kept:
        record, scope, place = entry.record, self._scope(), f"{entry.under}/{entry.key}"

        def again() -> Any:
            try:
                return decoded(
                    record, entry.payload, scope, self._serializer,
                    writable=self._writable, place=place,
                )  # fmt: skip
            except KeyError as error:
                raise NotRestored(f"it has no payload {error}") from error

        value = again()
        constant = self._serializer is None and is_constant(record)
        return Kept(value, again=None if constant else again, size=len(entry.data))

    def _scope(self) -> dict[str, Mapping[str, Any]]:
        """The function's own module, by the name it has in every process."""
        name = self._home.get("__name__")
        return {known_module_name(name): self._home} if type(name) is str else {}

    def forget(self, key: Digest) -> bool:
        """Remove an entry."""
        with importing:
            from whorl.store import Stored

        check_key(key)
        assert isinstance(key, StableDigest)
        return isinstance(self.flights.store.remove(key, self._group), Stored)

    def forget_all(self) -> int:
        """Remove the group."""
        return sum(self.forget(key) for key in list(self.flights.store.iterate(self._group)))

    def labels(self, most: int = LABELS_READ) -> Iterator[Label]:
        """The labels of the entries in the group, as many as are worth reading."""
        keys = islice(self.flights.store.iterate(self._group), most)
        labels = (self.flights.store.label(key, self._group) for key in keys)
        found = [label for label in labels if label is not None]
        return iter(sorted(found, key=lambda label: label.made, reverse=True))

    def _say(self, message: str, level: int) -> None:
        """Log what has not been logged yet; the address of an object makes no difference."""
        known = re.sub(" at 0x[0-9a-fA-F]+", "", message)
        if known not in self._said:
            self._said.add(known)
            log.log(level, "%s", message)


class Live:
    """Results in a `ProcessStore`, and labels beside them."""

    def __init__(self, name: str, store: ProcessStore) -> None:
        self._name = name
        self._store = store
        self._labels: dict[Digest, Label] = {}

    @property
    def flights(self) -> Cache:
        """What lets one thread make it while others wait."""
        return self._store.flights

    @property
    def is_off(self) -> bool:
        """Never: this is not the cache that `WHORL_CACHE` means."""
        return False

    def check(self, key: Digest) -> None:
        """Every digest will do."""

    def find(self, key: Digest, *, count: bool) -> Kept | None:
        """The very result."""
        found = self._store.get(key)
        if found is None:
            return None
        if count:
            self.flights.statistics.count(Ending.HIT)
        return Kept(found[0])

    def keep(self, key: Digest, made: Made) -> Kept:
        """Keep the very result."""
        if made.why_not:
            log.warning("a result of %s is not kept: %s", self._name, made.why_not)
            return Kept(made.value, is_shared=False)
        self._store.put(key, made.value)
        if len(self._labels) >= LABELS_READ:
            self._labels.pop(next(iter(self._labels)), None)
        named = StableDigest(str(key))  # of a label that stays here
        self._labels[key] = Label("result", named, None, made.parts, made=time.time(),
                                  seconds=made.seconds)  # fmt: skip
        return Kept(made.value)

    def forget(self, key: Digest) -> bool:
        """Drop a result."""
        self._labels.pop(key, None)
        return self._store.remove(key)

    def forget_all(self) -> int:
        """Drop what this function has put there, as far as it is known."""
        return sum(self.forget(key) for key in list(self._labels))

    def labels(self, most: int = LABELS_READ) -> Iterator[Label]:
        """What is said of the last results."""
        return iter(sorted(self._labels.values(), key=lambda label: label.made, reverse=True))


def keeper_of(
    name: str,
    group: StableDigest,
    store: object,
    home: Mapping[str, Any],
    serializer: Serializer | None,
    *,
    writable: bool,
) -> Written | Live:
    """The keeper that `store=` stands for.

    >>> keeper_of("f", StableDigest("0" * 32), "process", {}, None, writable=False).is_off
    False
    """
    import os

    if store == "process":
        store = ProcessStore()
    if isinstance(store, ProcessStore):
        if serializer is not None or writable:
            raise TypeError("serializer= and writable= are for results that are written down")
        return Live(name, store)
    if isinstance(store, str | os.PathLike):
        store = Cache(DirectoryStore(store))
    elif store is not None and not isinstance(store, Cache):
        if not callable(getattr(store, "get", None)) or isinstance(store, types.ModuleType | dict):
            raise TypeError(
                "store= is a directory, a whorl.store.Cache or Store, a whorl.ProcessStore or "
                f"'process', not {type(store).__name__}"
            )
        store = Cache(store)  # type: ignore[arg-type]  # a Store of the user's own make
    return Written(name, group, store, home, serializer, writable=writable)
