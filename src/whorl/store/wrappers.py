"""Stores made of others: tiers, one never written to, one that checks, one opened when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from whorl.artifacts import HINT, Damaged, Entry, Label
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import importing, logger
from whorl.locks import ForkSafeLock

from .outcome import ABSENT, STORED, Absent, Failed, Found, Got, Put, Removed, Skipped, Stored
from .protocol import BaseStore, FourMethods, Store, complete
from .statistics import Statistics

if TYPE_CHECKING:
    from .journal import Journal
    from .lease import Leases

log = logger("whorl.store")


class _Wrapper(FourMethods):
    """A store that hands everything on to another one."""

    inner: BaseStore

    def __init__(self, inner: Store) -> None:
        super().__init__(complete(inner))

    @property
    def is_off(self) -> bool:
        """Whether the other one is."""
        return self.inner.is_off

    @property
    def leases(self) -> Leases | None:
        """Those of the other one."""
        return self.inner.leases

    @property
    def statistics(self) -> Statistics | None:
        """Those of the other one."""
        return self.inner.statistics

    @property
    def journal(self) -> Journal | None:
        """That of the other one."""
        return self.inner.journal

    def uses(self, toolchain: str) -> None:
        """Note that entries of a toolchain are in use."""
        self.inner.uses(toolchain)

    def label(self, key: StableDigest, under: StableDigest | None = None) -> Label | None:
        """What an entry says of itself."""
        return self.inner.label(key, under)

    def peek(self, key: StableDigest) -> Entry | None:
        """The entry of a key if it is quick to read."""
        return self.inner.peek(key)

    def versions(
        self, key: StableDigest, under: StableDigest | None = None, *, far: bool = True
    ) -> Iterator[Entry]:
        """Every entry of a key that the other one has."""
        return self.inner.versions(key, under, far=far)

    def elsewhere(self, under: StableDigest) -> Iterator[tuple[str, Entry]]:
        """Entries of a group on other machines."""
        return self.inner.elsewhere(under)

    @property
    def is_far(self) -> bool:
        """Whether the other one is."""
        return self.inner.is_far

    def offer(self, entry: Entry) -> None:
        """Offer it to the other one."""
        self.inner.offer(entry)

    def report_to(self, statistics: Statistics) -> None:
        """Have the other one count there."""
        self.inner.report_to(statistics)


class ReadOnly(_Wrapper):
    """A store that is read and never changed. A directory is not even tidied up.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> store = ReadOnly(MemoryStore())
    >>> store.put(encode(Artifact(), Label("artifact", StableDigest("0" * 32)))).reason
    'the store is read-only'
    """

    leases = statistics = journal = None  # all of these write

    def __init__(self, inner: Store) -> None:
        super().__init__(complete(inner).for_reading())

    def put(self, entry: Entry) -> Skipped:
        """Nothing is kept."""
        return Skipped("the store is read-only")

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Failed:
        """Nothing is forgotten."""
        return Failed("the store is read-only")

    def uses(self, toolchain: str) -> None:
        """Nothing is noted."""

    def offer(self, entry: Entry) -> None:
        """Nothing is kept."""


class Tiered(BaseStore):
    """Several stores, nearest first: what a far one has is kept in those before it.

    Statistics and the journal are those of the nearest store that has them. So are leases, unless
    a store on another machine has some too: then both are taken.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> near, far = MemoryStore(), MemoryStore()
    >>> key = StableDigest("0" * 32)
    >>> far.put(encode(Artifact(), Label("artifact", key)))
    Stored()
    >>> isinstance(Tiered(near, far).get(key), Found), isinstance(near.get(key), Found)
    (True, True)
    """

    def __init__(self, *tiers: Store) -> None:
        if not tiers:
            raise TypeError("Tiered needs at least one store")
        self.tiers = tuple(map(complete, tiers))

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, from the nearest store that has it."""
        miss: Got = ABSENT
        for i, tier in enumerate(self.tiers):
            got = tier.get(key, under)
            if isinstance(got, Found):
                for nearer in self.tiers[:i]:
                    nearer.put(got.entry)
                for farther in self.tiers[i + 1 :]:
                    farther.offer(got.entry)
                return got
            if isinstance(got, Failed):
                miss = got
        return miss

    def put(self, entry: Entry) -> Put:
        """Keep an entry in every store; one that does is enough."""
        puts = [tier.put(entry) for tier in self.tiers]
        return min(puts, key=lambda put: (Stored, Failed, Skipped).index(type(put)))

    def put_near(self, entry: Entry) -> Put:
        """Keep an entry in the nearest store that is not read-only."""
        put: Put = Skipped("no store keeps it")
        for tier in self.tiers:
            put = tier.put_near(entry)
            if not isinstance(put, Skipped):
                break
        return put

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry in every store."""
        ends = [tier.remove(key, under) for tier in self.tiers]
        return min(ends, key=lambda end: (Failed, Stored, Absent).index(type(end)))

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group in any store, each once."""
        return iter({key for tier in self.tiers for key in tier.iterate(under)})

    @property
    def is_off(self) -> bool:
        """Whether all of them are."""
        return all(tier.is_off for tier in self.tiers)

    @property
    def is_far(self) -> bool:
        """Whether all of them are."""
        return all(tier.is_far for tier in self.tiers)

    @property
    def leases(self) -> Leases | None:
        """Those of the nearest store that has some, with the nearest of other machines."""
        near, far = (
            next((ls for tier in self.tiers if tier.is_far is is_far and (ls := tier.leases)), None)
            for is_far in (False, True)
        )
        if near is None or far is None:
            return near or far
        with importing:
            from .lease import LeasesOfTwo

        return LeasesOfTwo(near, far)

    @property
    def statistics(self) -> Statistics | None:
        """Those of the nearest store that has some."""
        return next((counts for tier in self.tiers if (counts := tier.statistics)), None)

    @property
    def journal(self) -> Journal | None:
        """That of the nearest store that has one."""
        return next((journal for tier in self.tiers if (journal := tier.journal)), None)

    def uses(self, toolchain: str) -> None:
        """Note in every store that entries of a toolchain are in use."""
        for tier in self.tiers:
            tier.uses(toolchain)

    def label(self, key: StableDigest, under: StableDigest | None = None) -> Label | None:
        """What the nearest entry of a key says of itself."""
        return next((label for tier in self.tiers if (label := tier.label(key, under))), None)

    def peek(self, key: StableDigest) -> Entry | None:
        """The nearest entry of a key that is quick to read."""
        return next((entry for tier in self.tiers if (entry := tier.peek(key))), None)

    def versions(
        self, key: StableDigest, under: StableDigest | None = None, *, far: bool = True
    ) -> Iterator[Entry]:
        """The entry of a key in every store that has one; the first is kept in those before it."""
        nearer: tuple[BaseStore, ...] | None = ()
        for tier in self.tiers:
            for entry in tier.versions(key, under, far=far):
                for store in nearer or ():
                    store.put(entry)
                nearer = None
                yield entry
            nearer = None if nearer is None else (*nearer, tier)

    def elsewhere(self, under: StableDigest) -> Iterator[tuple[str, Entry]]:
        """Entries of a group on other machines, those of the nearest tier first."""
        return chain.from_iterable(tier.elsewhere(under) for tier in self.tiers)

    def offer(self, entry: Entry) -> None:
        """Offer an entry to every store."""
        for tier in self.tiers:
            tier.offer(entry)

    def report_to(self, statistics: Statistics) -> None:
        """Have every store count there."""
        for tier in self.tiers:
            tier.report_to(statistics)

    def for_reading(self) -> Tiered:
        """The same stores, of which none is changed."""
        return Tiered(*map(ReadOnly, self.tiers))


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two productions of one key that are not the same: something was not read."""

    key: StableDigest
    kept: Entry
    made: Entry

    @property
    def differing(self) -> tuple[str, ...]:
        """The names of the payloads that differ; "record" for what stands beside them.

        >>> from whorl.artifacts import Artifact, Label, encode
        >>> label = Label("artifact", StableDigest("0" * 32))
        >>> kept, made = (encode(Artifact({"code": code}), label) for code in (b"1", b"2"))
        >>> Mismatch(label.key, kept, made).differing
        ('code',)
        """
        kept = {place.name: place.digest for place in self.kept.payloads}
        made = {place.name: place.digest for place in self.made.payloads}
        names = [name for name in {**kept, **made} if kept.get(name) != made.get(name)]
        return (*names, *(["record"] if self.kept.record != self.made.record else []))


class Verifying(_Wrapper):
    """A store that has some keys produced again, and compares what comes out.

    A sampled key is reported as absent once, so that it is produced again; when that is put, it
    is compared with the entry in the store. `on_mismatch` is called with a difference, which means
    that the compiler read something that is not in its key. The entry in the store stays. Hints are
    let through. There is no journal: explaining a miss reads entries, which would count as samples.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> mismatches: list[Mismatch] = []
    >>> store = Verifying(MemoryStore(), on_mismatch=mismatches.append)
    >>> label = Label("artifact", StableDigest("0" * 32))
    >>> for code in (b"1", b"2"):
    ...     got, put = store.get(label.key), store.put(encode(Artifact({"code": code}), label))
    >>> [mismatch.differing for mismatch in mismatches]
    [('code',)]
    """

    journal = None

    def __init__(
        self,
        inner: Store,
        *,
        sample: float = 1.0,
        on_mismatch: Callable[[Mismatch], None] | None = None,
    ) -> None:
        if not 0 <= sample <= 1:
            raise ValueError(f"sample is a share between 0 and 1, not {sample!r}")
        with importing:
            from random import Random

        super().__init__(inner)
        self._sample = sample
        self._chance = Random()  # not the program's own sequence of random numbers
        self._on_mismatch = on_mismatch or _report
        self._sampled: set[tuple[StableDigest | None, StableDigest]] = set()
        self._expected: dict[tuple[StableDigest | None, StableDigest], Entry] = {}

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, or nothing if it is to be produced again."""
        if (under, key) in self._expected:  # still to be produced again
            return ABSENT
        got = self.inner.get(key, under)
        return self._unless_sampled(got.entry) if isinstance(got, Found) else got

    def _unless_sampled(self, entry: Entry) -> Found | Absent:
        """An entry, or nothing if it is to be produced again."""
        place = (entry.under, entry.key)
        if place in self._expected:
            return ABSENT
        if place in self._sampled or _is_hint(entry):
            return Found(entry)
        self._sampled.add(place)
        if self._sample < 1 and self._chance.random() >= self._sample:
            return Found(entry)
        self._expected[place] = entry
        return ABSENT

    def put(self, entry: Entry) -> Put:
        """Keep an entry, or compare it with the one that is expected."""
        expected = self._expected.pop((entry.under, entry.key), None)
        if expected is None:
            return self.inner.put(entry)
        mismatch = Mismatch(entry.key, expected, entry)
        try:
            differing = mismatch.differing
        except Damaged:
            return self.inner.put(entry)
        if differing:
            self._on_mismatch(mismatch)
        if isinstance(self.inner.get(entry.key, entry.under), Found):
            return STORED
        return self.inner.put(entry)  # it was removed or evicted meanwhile

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry."""
        self._expected.pop((under, key), None)
        return self.inner.remove(key, under)

    def put_near(self, entry: Entry) -> Put:
        """Keep a hint where it is looked for first."""
        return self.inner.put_near(entry) if _is_hint(entry) else self.put(entry)

    def peek(self, key: StableDigest) -> Entry | None:
        """A hint, if it is quick to read."""
        entry = self.inner.peek(key)
        return entry if entry is not None and _is_hint(entry) else None

    def versions(
        self, key: StableDigest, under: StableDigest | None = None, *, far: bool = True
    ) -> Iterator[Entry]:
        """Every entry of a key, or none if it is to be produced again."""
        for entry in self.inner.versions(key, under, far=far):
            if not isinstance(self._unless_sampled(entry), Found):
                return
            yield entry


def _is_hint(entry: Entry) -> bool:
    """Whether it may come out different when it is made again."""
    try:
        return entry.label.kind == HINT
    except Damaged:
        return False


def _report(mismatch: Mismatch) -> None:
    log.error(
        "%s was produced again and came out different in %s: something its compile read is not "
        "in its key",
        mismatch.key,
        ", ".join(mismatch.differing),
    )


# -- shared caches, opened when they are needed ----------------------------------------
#
# Shared caches that are opened when the first of them is asked.
#
# A process that finds everything in its directory has no need of them: opening them takes 10 ms,
# most of it for imports. So whatever is known without them is answered without them.


class LateTiers(BaseStore):
    """What `open_tiers` returns, called with the first request that goes to another machine."""

    def __init__(self, open_tiers: Callable[[], BaseStore], *, reshare: bool) -> None:
        self._open_tiers = open_tiers
        self._reshare = reshare
        self._lock = ForkSafeLock()
        self._statistics: Statistics | None = None
        self._tiers: BaseStore | None = None

    @property
    def tiers(self) -> BaseStore:
        """The shared caches, open."""
        tiers = self._tiers
        if tiers is None:
            with self._lock:
                tiers = self._tiers or self._open_tiers()
                if self._statistics is not None:
                    tiers.report_to(self._statistics)
                self._tiers = tiers
        return tiers

    @property
    def is_far(self) -> bool:
        """Yes."""
        return True

    @property
    def leases(self) -> Leases | None:
        """Those of the nearest that has some."""
        return self.tiers.leases

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""
        return self.tiers.get(key, under)

    def put(self, entry: Entry) -> Put:
        """Keep an entry."""
        return self.tiers.put(entry)

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry."""
        return self.tiers.remove(key, under)

    def versions(
        self, key: StableDigest, under: StableDigest | None = None, *, far: bool = True
    ) -> Iterator[Entry]:
        """Every entry of a key; none if no other machine is to be asked."""
        return self.tiers.versions(key, under) if far else iter(())

    def elsewhere(self, under: StableDigest) -> Iterator[tuple[str, Entry]]:
        """Entries of a group on other machines."""
        return self.tiers.elsewhere(under)

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """No keys: listings are those of this machine."""
        return iter(())

    def label(self, key: StableDigest, under: StableDigest | None = None) -> Label | None:
        """Nothing: who looks at labels looks at entries of this machine."""
        return None

    def put_near(self, entry: Entry) -> Put:
        """Nothing: what is kept near is not uploaded."""
        return Skipped("it is not near")

    def offer(self, entry: Entry) -> None:
        """Offer an entry, if one of them wants that."""
        if self._reshare:
            self.tiers.offer(entry)

    def report_to(self, statistics: Statistics) -> None:
        """Count there what they do."""
        self._statistics = statistics
        if self._tiers is not None:
            self._tiers.report_to(statistics)

    def for_reading(self) -> LateTiers:
        """The same, none of them changed."""
        return LateTiers(lambda: self.tiers.for_reading(), reshare=False)  # noqa: PLW0108  # later
