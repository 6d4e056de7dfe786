"""What a store is asked, whatever it keeps its entries in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest

from .outcome import Absent, Failed, Got, Put, Stored

__all__ = ["Store"]


class Store(Protocol):
    """Entries by key, in a medium of some kind. All a new medium has to do is in these methods.

    Keys are stable digests. Entries may be put `under` a group, such as the manifests of a
    program, and are then found and listed under it only. No method raises because of the
    medium; each answers with an outcome. Methods may be called by several threads at once.
    """

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""

    def put(self, entry: Entry) -> Put:
        """Keep an entry under its own key; one of the same key gives way to it."""

    def remove(
        self, key: StableDigest, under: StableDigest | None = None
    ) -> Stored | Absent | Failed:
        """Forget an entry."""

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group, or those of no group, in no order."""
