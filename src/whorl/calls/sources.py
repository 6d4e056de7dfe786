"""Stores facts about source files, so that an unchanged file is not parsed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.artifacts import Damaged, Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.source import SourceMemory

if TYPE_CHECKING:
    from whorl.store import BaseStore

    _InAStore = SourceMemory[BaseStore]
else:
    _InAStore = SourceMemory

__all__ = ["StoredSources"]


class StoredSources(_InAStore):
    """Rows about functions as entries without payloads.

    >>> from whorl.store import MemoryStore
    >>> sources = StoredSources(MemoryStore())
    >>> sources.put(StableDigest("0" * 32), ["source", "ab", 1, 2])
    >>> sources.get(StableDigest("0" * 32))
    ['source', 'ab', 1, 2]
    """

    __slots__ = ()

    def get(self, key: StableDigest) -> object:
        """The row that the store has of a key, or None."""
        entry = next(self.place.versions(key, far=False), None)  # working it out is as quick
        try:
            return None if entry is None else entry.record
        except Damaged:
            return None

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        self.place.put(Entry.build(Label("source", key), {}, row))
