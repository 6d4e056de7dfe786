"""Keeps the results of a function by key: encoded in a store, or alive in the process.

A result that comes out of a store is decoded anew for every caller, so that none can change what
another gets; what cannot be changed is shared. Arrays lie over the bytes of the entry and are
read-only, unless copies were asked for (`writable`).
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from whorl.artifacts import Damaged, Entry, Label, Part
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import Digest, StableDigest, hash_hex
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.tokens import marshalled
from whorl.signals import pass_on
from whorl.store import Cache, Ending, Found, NullStore, Stored, default_cache
from whorl.store.cache import as_cache
from whorl.store.outcome import check_key

from .lifetime import has_passed
from .plain_format import CannotRestore
from .request import ResultOptions
from .result_format import decode_result, encode_result, is_constant

# Results by digest in this process: the very objects, for as long as the store lives.
#
# Nothing is encoded, so anything can be kept: compiled functions, open handles, objects that refer
# to each other. Every caller gets the same object. Keys may be `ProcessDigest`s.


class ProcessStore:
    """Live results, the `max_entries` that were used last.

    >>> import whorl
    >>> store = ProcessStore()
    >>> key = whorl.fingerprint(object(), by="identity")
    >>> store.put(key, "made")
    >>> store.get(key), len(store)
    (('made',), 1)
    """

    def __init__(self, max_entries: int = 4096) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries is 1 or more, not {max_entries!r}")
        self._max_entries = max_entries
        self._results: dict[Digest, Any] = {}
        self.flights = Cache(NullStore())  # one producer at a time for each key

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"<ProcessStore of {len(self)}>"

    def get(self, key: Digest) -> tuple[Any] | None:
        """The result of a key, in a tuple; None if there is none."""
        result = self._results.pop(key, self)
        if result is self:
            return None
        self._results[key] = result  # now the last to go
        return (result,)

    def put(self, key: Digest, result: Any) -> None:
        """Keep a result."""
        if not isinstance(key, Digest):
            raise TypeError(f"the key of a result is a Digest, not {type(key).__name__}")
        self._results.pop(key, None)
        while len(self._results) >= self._max_entries:
            self._results.pop(next(iter(self._results)), None)
        self._results[key] = result

    def remove(self, key: Digest) -> bool:
        """Forget a result; whether there was one."""
        return self._results.pop(key, self) is not self

    def clear(self) -> None:
        """Forget everything."""
        self._results.clear()


# -- results of a function -------------------------------------------------------------


log = logging.getLogger("whorl.steps")

LABELS_READ: Final = 64


class Result:
    """A result in hand. `constant` is its value if `is_constant`: nobody can change it."""

    __slots__ = (
        "_decode", "_first", "constant", "is_constant", "is_shared", "is_stored", "made", "size",
    )  # fmt: skip

    def __init__(
        self,
        value: Any,
        *,
        decode: Callable[[], Any] | None = None,
        size: int = 0,
        is_shared: bool = True,
        made: float = 0.0,
    ) -> None:
        self.is_constant = decode is None
        self.constant = value if decode is None else None
        self._decode = decode
        self._first = [] if decode is None else [value]  # for the first caller only
        self.size = size
        self.made = made  # when, in seconds since 1970
        self.is_shared = is_shared  # or good for the call that made it only
        self.is_stored = is_shared  # or the store could not take it

    def value(self) -> Any:
        """The result, anew where it could be changed."""
        if self._decode is None:
            return self.constant
        try:
            return self._first.pop()
        except IndexError:
            return self._decode()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run has returned, and how."""

    value: Any
    seconds: float
    parts: tuple[Part, ...]
    refusal: str  # why it must not be kept; empty if it may


class StoredResults:
    """Results encoded in a store, in the group of their function."""

    def __init__(
        self, name: str, cache: Cache | None, home: Mapping[str, Any], options: ResultOptions
    ) -> None:
        self._name = name
        self._group = StableDigest(hash_hex(marshalled(("results", name))))
        self._own = cache
        self._home = home
        self._serializer = options.serializer
        self._writable = options.writable
        self._lifetime = options.lifetime
        self._logged: set[str] = set()

    @property
    def flights(self) -> Cache:
        """The cache, which has leases for other processes too."""
        return default_cache() if self._own is None else self._own

    @property
    def is_off(self) -> bool:
        """Whether `WHORL_CACHE` is off."""
        return self.flights.store.is_off

    def check(self, key: Digest) -> None:
        """Refuse a key of this process: it means nothing in a store."""
        check_key(key)

    def find(self, key: Digest, *, count: bool) -> Result | None:
        """What is stored under a key, if it can be a result of this program."""
        check_key(key)
        assert isinstance(key, StableDigest)
        cache = self.flights
        got = cache.store.get(key, self._group)
        result = self._read(got.entry) if isinstance(got, Found) else None
        if count:
            cache.count(got, "" if result is None else self._name)
        return result

    def _read(self, entry: Entry) -> Result | None:
        try:
            if self._lifetime != math.inf and has_passed(entry.label.made, self._lifetime):
                return None
            return self._decoded(entry)
        except (Damaged, CannotRestore) as error:
            self._log(f"what is kept of {self._name} is not used: {error}", logging.INFO)
            return None

    def keep(self, key: Digest, outcome: RunOutcome) -> Result:
        """Store a result, and return it as a later call will get it."""
        check_key(key)
        assert isinstance(key, StableDigest)
        if outcome.refusal:
            return self._not_kept(outcome, outcome.refusal)
        try:
            encoded = encode_result(outcome.value, self._serializer, place=f"{self._group}/{key}")
            label = Label(
                "result", key, self._group, outcome.parts,
                made=time.time(), seconds=outcome.seconds,
            )  # fmt: skip
            entry = Entry.build(label, encoded.payloads, encoded.record)
            result = self._decoded(entry)
        except Exception as error:  # whatever it is, the result is there and is returned
            pass_on(error)
            return self._not_kept(outcome, str(error) or type(error).__name__)
        result.is_stored = isinstance(self.flights.put(entry), Stored)
        return result

    def _not_kept(self, outcome: RunOutcome, why: str) -> Result:
        self._log(f"a result of {self._name} is not kept: {why}", logging.WARNING)
        return Result(outcome.value, is_shared=False)

    def _decoded(self, entry: Entry) -> Result:
        record, scope, place = entry.record, self._scope(), f"{entry.under}/{entry.key}"

        def decode() -> Any:
            try:
                return decode_result(
                    record, entry.payload, scope, self._serializer,
                    writable=self._writable, place=place,
                )  # fmt: skip
            except KeyError as error:
                raise CannotRestore(f"it has no payload {error}") from error

        value = decode()
        constant = self._serializer is None and is_constant(record)
        made = 0.0 if self._lifetime == math.inf else entry.label.made
        return Result(value, decode=None if constant else decode, size=len(entry.data), made=made)

    def _scope(self) -> dict[str, Mapping[str, Any]]:
        """The function's own module, by the name it has in every process."""
        name = self._home.get("__name__")
        return {known_module_name(name): self._home} if type(name) is str else {}

    def forget(self, key: Digest) -> bool:
        """Remove an entry; whether there was one."""
        check_key(key)
        assert isinstance(key, StableDigest)
        return isinstance(self.flights.store.remove(key, self._group), Stored)

    def forget_all(self) -> int:
        """Remove the group; how many entries it had."""
        return sum(self.forget(key) for key in list(self.flights.store.iterate(self._group)))

    def labels(self, most: int) -> Iterator[Label]:
        """The labels of so many entries of the group, the last first."""
        store = self.flights.store
        keys = islice(store.iterate(self._group), most)
        labels = [label for key in keys if (label := store.label(key, self._group)) is not None]
        return iter(sorted(labels, key=lambda label: label.made, reverse=True))

    def _log(self, message: str, level: int) -> None:
        """Log what has not been logged yet; the address of an object makes no difference."""
        text = re.sub(" at 0x[0-9a-fA-F]+", "", message)
        if text not in self._logged:
            self._logged.add(text)
            log.log(level, "%s", message)


class LiveResults:
    """Results in a `ProcessStore`, and labels beside them."""

    is_off: Final = False  # `WHORL_CACHE` is about another cache

    def __init__(self, name: str, store: ProcessStore, lifetime: float) -> None:
        self._name = name
        self._store = store
        self._lifetime = lifetime
        self._labels: dict[Digest, Label] = {}
        self._made: dict[Digest, float] = {}  # of results that expire

    @property
    def flights(self) -> Cache:
        """What lets one thread make it while others wait."""
        return self._store.flights

    def check(self, key: Digest) -> None:
        """Every digest will do."""

    def find(self, key: Digest, *, count: bool) -> Result | None:
        """The very result."""
        made = self._made.get(key, 0.0)
        row = None if has_passed(made, self._lifetime) else self._store.get(key)
        if row is None:
            return None
        if count:
            self.flights.statistics.count(Ending.HIT)
        return Result(row[0], made=made)

    def keep(self, key: Digest, outcome: RunOutcome) -> Result:
        """Keep the very result."""
        if outcome.refusal:
            log.warning("a result of %s is not kept: %s", self._name, outcome.refusal)
            return Result(outcome.value, is_shared=False)
        now = time.time()
        self._store.put(key, outcome.value)
        if self._lifetime != math.inf:
            self._made = {each: made for each, made in self._made.items() if each != key
                          and not has_passed(made, self._lifetime)}  # fmt: skip
            self._made[key] = now
        if len(self._labels) >= LABELS_READ:
            self._labels.pop(next(iter(self._labels)), None)
        name = StableDigest(str(key))  # of a label that stays here
        self._labels[key] = Label("result", name, None, outcome.parts, made=now,
                                  seconds=outcome.seconds)  # fmt: skip
        return Result(outcome.value, made=now)

    def forget(self, key: Digest) -> bool:
        """Drop a result; whether there was one."""
        self._labels.pop(key, None)
        self._made.pop(key, None)
        return self._store.remove(key)

    def forget_all(self) -> int:
        """Drop the results of this function that are known; how many."""
        return sum(self.forget(key) for key in list(self._labels))

    def labels(self, most: int) -> Iterator[Label]:
        """The labels of the last results."""
        return iter(sorted(self._labels.values(), key=lambda label: label.made, reverse=True))


def result_store(
    name: str, options: ResultOptions, home: Mapping[str, Any]
) -> StoredResults | LiveResults:
    """Where results go for a value of `store=`; `home` is the module that the function is from."""
    store = ProcessStore() if options.store == "process" else options.store
    if isinstance(store, ProcessStore):
        if options.serializer is not None or options.writable:
            raise TypeError("serializer= and writable= are for results that are written down")
        return LiveResults(name, store, options.lifetime)
    cache: Any = None
    if store is not None:
        try:
            cache = as_cache(store)  # type: ignore[arg-type]  # which it checks
        except TypeError as error:
            raise TypeError(
                "store= is a directory, a whorl.store.Cache or Store, a whorl.ProcessStore or "
                f"'process', not {type(store).__name__}: {error}"
            ) from None
    return StoredResults(name, cache, home, options)
