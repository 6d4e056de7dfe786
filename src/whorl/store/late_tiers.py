"""Shared caches that are opened when the first of them is asked.

A process that finds everything in its directory has no need of them: opening them takes 10 ms, most
of it for imports. So whatever is known without them is answered without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from whorl.artifacts import Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.locks import ForkSafeLock

from .outcome import Got, Put, Removed, Skipped
from .protocol import BaseStore

if TYPE_CHECKING:
    from .lease import Leases
    from .statistics import Statistics

__all__ = ["LateTiers"]


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
