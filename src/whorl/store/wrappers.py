"""Stores made of other stores: tiers, one never written to, one that checks its compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whorl.artifacts import HINT, Damaged, Entry
from whorl.fingerprint.digest import StableDigest
from whorl.late import dataclass
from whorl.lazy import importing, logger

from .directory import DirectoryStore
from .medium import Store
from .outcome import ABSENT, STORED, Absent, Failed, Found, Got, Put, Skipped, Stored

__all__ = ["Mismatch", "ReadOnly", "Tiered", "Verifying"]

log = logger("whorl.store")


class ReadOnly:
    """A store that is read and never changed. A directory is not even tidied up.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> store = ReadOnly(MemoryStore())
    >>> store.put(encode(Artifact(), Label("artifact", StableDigest("0" * 32)))).reason
    'the store is read-only'
    """

    def __init__(self, inner: Store) -> None:
        self.inner: Store = inner.for_reading() if isinstance(inner, DirectoryStore) else inner

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""
        return self.inner.get(key, under)

    def put(self, entry: Entry) -> Skipped:
        """Nothing is kept."""
        return Skipped("the store is read-only")

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Failed:
        """Nothing is forgotten."""
        return Failed("the store is read-only")

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group."""
        return self.inner.iterate(under)


class Tiered:
    """Several stores, nearest first: what a far one has is kept in those before it.

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
        self.tiers = tiers

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, from the nearest store that has it."""
        failed: Got = ABSENT
        for i, tier in enumerate(self.tiers):
            got = tier.get(key, under)
            if isinstance(got, Found):
                for nearer in self.tiers[:i]:
                    nearer.put(got.entry)
                return got
            if isinstance(got, Failed):
                failed = got
        return failed

    def put(self, entry: Entry) -> Put:
        """Keep an entry in every store; one that does is enough."""
        puts = [tier.put(entry) for tier in self.tiers]
        return min(puts, key=lambda put: (Stored, Failed, Skipped).index(type(put)))

    def remove(
        self, key: StableDigest, under: StableDigest | None = None
    ) -> Stored | Absent | Failed:
        """Forget an entry in every store."""
        ends = [tier.remove(key, under) for tier in self.tiers]
        return min(ends, key=lambda end: (Failed, Stored, Absent).index(type(end)))

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group in any store, each once."""
        return iter({key for tier in self.tiers for key in tier.iterate(under)})


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


class Verifying:
    """A store that has some keys produced again, and compares what comes out.

    A sampled key is said to be absent once, so that it is produced again; when that is put, it
    is compared with what was kept. `on_mismatch` is told of a difference, which means that the
    compiler read something that is not in its key. What was kept stays. Hints are let through.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> found: list[Mismatch] = []
    >>> store = Verifying(MemoryStore(), on_mismatch=found.append)
    >>> label = Label("artifact", StableDigest("0" * 32))
    >>> for code in (b"1", b"2"):
    ...     got, put = store.get(label.key), store.put(encode(Artifact({"code": code}), label))
    >>> [mismatch.differing for mismatch in found]
    [('code',)]
    """

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

        self.inner = inner
        self._sample = sample
        self._chance = Random()  # the program's own numbers are its own
        self._on_mismatch = on_mismatch or _report
        self._done: set[tuple[StableDigest | None, StableDigest]] = set()
        self._kept: dict[tuple[StableDigest | None, StableDigest], Entry] = {}

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, or nothing if it is to be produced again."""
        place = (under, key)
        if place in self._kept:  # still to be produced again
            return ABSENT
        got = self.inner.get(key, under)
        if place in self._done or not isinstance(got, Found) or _is_hint(got.entry):
            return got
        self._done.add(place)
        if self._sample < 1 and self._chance.random() >= self._sample:
            return got
        self._kept[place] = got.entry
        return ABSENT

    def put(self, entry: Entry) -> Put:
        """Keep an entry, or compare it with the one that was kept."""
        kept = self._kept.pop((entry.under, entry.key), None)
        if kept is None:
            return self.inner.put(entry)
        mismatch = Mismatch(entry.key, kept, entry)
        try:
            differing = mismatch.differing
        except Damaged:
            return self.inner.put(entry)
        if differing:
            self._on_mismatch(mismatch)
        if isinstance(self.inner.get(entry.key, entry.under), Found):
            return STORED
        return self.inner.put(entry)  # it was removed or evicted meanwhile

    def remove(
        self, key: StableDigest, under: StableDigest | None = None
    ) -> Stored | Absent | Failed:
        """Forget an entry."""
        self._kept.pop((under, key), None)
        return self.inner.remove(key, under)

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group."""
        return self.inner.iterate(under)


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
