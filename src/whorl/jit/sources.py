"""What is known about sources, kept in the store: an unchanged file is not parsed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whorl.artifacts import Damaged, Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.source import SourceMemory
from whorl.store import Found

if TYPE_CHECKING:
    from whorl.store import Store

__all__ = ["StoredSources"]


class StoredSources(SourceMemory):
    """Rows about functions as entries without payloads; `rows` are those of this lookup.

    >>> from whorl.store import MemoryStore
    >>> sources = StoredSources(MemoryStore())
    >>> sources.put(StableDigest("0" * 32), ["source", "ab", 1, 2])
    >>> sources.get(StableDigest("0" * 32))
    ['source', 'ab', 1, 2]
    """

    __slots__ = ("_hinted", "_store", "rows")

    def __init__(self, store: Store) -> None:
        SourceMemory.__init__(self)
        self._store = store
        self._hinted: Mapping[str, object] = {}
        self.rows: dict[str, object] = {}

    def expect(self, rows: Mapping[str, object]) -> None:
        """Rows by key that are known already: the store need not be asked for them."""
        self._hinted = rows

    def get(self, key: StableDigest) -> object:
        """The row of a key, or None."""
        row = self._hinted.get(key)
        if row is None:
            row = self._stored(key)
        if row is not None:
            self.rows[key] = row
        return row

    def _stored(self, key: StableDigest) -> object:
        got = self._store.get(key)
        try:
            return got.entry.record if isinstance(got, Found) else None
        except Damaged:
            return None

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        self.rows[key] = row
        self._store.put(Entry.made(Label("source", key), {}, row))
