"""A cache: a store with leases and statistics, in which each entry is produced once.

When several threads or processes miss one key at once, one of them produces and the others wait
for what it puts: see `flight`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from whorl.artifacts import Entry
from whorl.fast_dataclasses import dataclass, replace
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import importing

from .outcome import Absent, Ending, Failed, Found, Got, Put, Skipped
from .protocol import Store, complete
from .statistics import Statistics

if TYPE_CHECKING:
    from .flight import Flights
    from .journal import Journal
    from .lease import Leases

__all__ = ["Cache", "Obtained"]

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
        elif isinstance(got, Absent):
            self.statistics.absent()
        else:
            self.statistics.count(got.ending)

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
        flights = self._flights.get("flights")
        if flights is None:
            with importing:
                from .flight import Flights

            flights = Flights(self.statistics, self.leases, self._lease)
            flights = self._flights.setdefault("flights", flights)
        return flights.once(name, look_up, produce, what)
