"""A key and a way to make its entry in, the entry out: found, or made once by whoever is first.

A cache is a store with leases and statistics. When several threads or processes miss one key
at once, one of them produces and the others wait for what it puts: see `flight`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import room

from .directory import DirectoryStore
from .found import Absent, Found
from .statistics import Statistics

if TYPE_CHECKING:
    from . import ending as endings
    from . import flight, medium
    from . import lease as leasing
    from . import outcome as outcomes
else:  # what a hit has no need of
    endings = room("whorl.store.ending", globals())
    flight = room("whorl.store.flight", globals())
    leasing = room("whorl.store.lease", globals())
    medium = room("whorl.store.medium", globals())
    outcomes = room("whorl.store.outcome", globals())

__all__ = ["Cache"]

LEASE: Final = 600.0  # seconds

T = TypeVar("T")


class Cache:
    """A store, with one producer at a time for each key. A directory brings its own leases.

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

    __slots__ = ("__weakref__", "_lease", "_leases", "_under_way", "statistics", "store")

    def __init__(
        self,
        store: medium.Store,
        *,
        leases: leasing.Leases | None = None,
        statistics: Statistics | None = None,
        lease: float = LEASE,
    ) -> None:
        if statistics is None and isinstance(store, DirectoryStore):
            statistics = store.statistics
        self.store = store
        self.statistics = statistics or Statistics()
        self._leases = leases
        self._lease = lease
        self._under_way: dict[str, flight.Flights] = {}  # one, of whoever is first

    @property
    def leases(self) -> leasing.Leases | None:
        """The leases that other processes know; None if there are none."""
        if self._leases is None and isinstance(self.store, DirectoryStore):
            self._leases = leasing.Leases(self.store.leases)
        return self._leases

    def get(self, key: StableDigest, under: StableDigest | None = None) -> outcomes.Got:
        """The entry of a key; how that ends is counted."""
        got = self.store.get(key, under)
        self.count(got)
        return got

    def count(self, got: outcomes.Got, program: str = "") -> None:
        """Count how a lookup has ended; a hit for a program too, if it is of use to one."""
        if isinstance(got, Found):
            self.statistics.hit(len(got.entry.data), got.entry.head, program)
        elif isinstance(got, Absent):
            self.statistics.absent()
        else:
            self.statistics.count(got.ending)

    def uses(self, toolchain: str) -> None:
        """Say that entries of a toolchain are in use, so that they are not evicted first.

        That is written down with the statistics: a hit does not wait for it.
        """
        if isinstance(self.store, DirectoryStore) and toolchain:
            self.statistics.to_do.append(partial(self.store.uses, toolchain))

    def put(self, entry: Entry) -> outcomes.Put:
        """Keep an entry; how that ends is counted."""
        return flight.counted(self.store.put(entry), len(entry.data), self.statistics)

    def obtain(
        self,
        key: StableDigest,
        produce: Callable[[], Entry],
        *,
        under: StableDigest | None = None,
        what: str = "an entry",
    ) -> flight.Obtained:
        """The entry of a key, made by `produce` if nobody has it.

        `what` is being made, for those who wait. What `produce` raises is raised here.
        """
        got = self.get(key, under)
        if isinstance(got, Found):
            return flight.hit(got.entry)
        return flight.obtained(self, key, produce, under, what)

    def once(
        self,
        name: str,
        look: Callable[[T | None], T | None],
        produce: Callable[[], T],
        *,
        what: str = "an entry",
    ) -> tuple[T, endings.Ending]:
        """What `look` finds, or `produce` makes while nobody else produces under this name.

        Whoever has waited looks again before it produces; `look` is given what another thread
        of this process made, if it was one. Returns also how it ended: `WAITED`, or one of the
        ways of producing.
        """
        return self._flights.once(name, look, produce, what)

    @property
    def _flights(self) -> flight.Flights:
        """What is being made; known when something is first made."""
        found = self._under_way.get("flights")
        if found is None:
            found = flight.Flights(self.statistics, self.leases, self._lease)
            found = self._under_way.setdefault("flights", found)
        return found
