"""What is known about sources, kept in the store: an unchanged file is not parsed again."""

from __future__ import annotations

from dataclasses import dataclass

from whorl.artifacts import Damaged, Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.store import Found, Store

__all__ = ["StoredSources"]


@dataclass(frozen=True, slots=True)
class StoredSources:
    """Rows about functions as entries without payloads.

    >>> from whorl.store import MemoryStore
    >>> sources = StoredSources(MemoryStore())
    >>> sources.put(StableDigest("0" * 32), ["source", "ab", 1, 2])
    >>> sources.get(StableDigest("0" * 32))
    ['source', 'ab', 1, 2]
    """

    store: Store

    def get(self, key: StableDigest) -> object:
        """The row of a key, or None."""
        got = self.store.get(key)
        try:
            return got.entry.record if isinstance(got, Found) else None
        except Damaged:
            return None

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        self.store.put(Entry.made(Label("source", key), {}, row))
