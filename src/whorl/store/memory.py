"""Entries in this process, and nowhere at all."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest

from .outcome import ABSENT, STORED, Absent, Found, Got, Skipped, Stored, check_key
from .protocol import BaseStore

__all__ = ["MemoryStore", "NullStore"]


class MemoryStore(BaseStore):
    """Entries that live as long as the store.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> store = MemoryStore()
    >>> key = StableDigest("0" * 32)
    >>> store.get(key)
    Absent()
    >>> store.put(encode(Artifact({"code": b"ret"}), Label("artifact", key)))
    Stored()
    >>> list(store.iterate()) == [key]
    True
    """

    def __init__(self) -> None:
        self._groups: dict[StableDigest | None, dict[StableDigest, Entry]] = {}

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key."""
        check_key(key, under)
        entry = self._groups.get(under, {}).get(key)
        return ABSENT if entry is None else Found(entry)

    def put(self, entry: Entry) -> Stored:
        """Keep an entry."""
        check_key(entry.key, entry.under)
        self._groups.setdefault(entry.under, {})[entry.key] = entry
        return STORED

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Stored | Absent:
        """Forget an entry."""
        check_key(key, under)
        return ABSENT if self._groups.get(under, {}).pop(key, None) is None else STORED

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group."""
        return iter(list(self._groups.get(under, {})))


class NullStore(BaseStore):
    """A store that keeps nothing: what `WHORL_CACHE=off` means.

    >>> NullStore().get(StableDigest("0" * 32))
    Absent()
    """

    @property
    def is_off(self) -> bool:
        """Yes."""
        return True

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Absent:
        """Nothing."""
        check_key(key, under)
        return ABSENT

    def put(self, entry: Entry) -> Skipped:
        """Nothing is kept."""
        check_key(entry.key, entry.under)
        return Skipped("the cache is off")

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Absent:
        """There is nothing to forget."""
        check_key(key, under)
        return ABSENT

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """No keys."""
        return iter(())
