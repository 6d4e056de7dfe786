"""Reads the records in a group of the store."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from whorl.artifacts import Damaged, Label, Record, decode
from whorl.fingerprint.digest import StableDigest
from whorl.store import Found

if TYPE_CHECKING:
    from whorl.store import Store

__all__ = ["records"]


def records(
    store: Store, group: StableDigest, but: Container[StableDigest] = ()
) -> Iterator[tuple[Label, Record]]:
    """The records of a group with their labels; what cannot be read is passed over.

    >>> from whorl.store import MemoryStore
    >>> list(records(MemoryStore(), StableDigest("0" * 32)))
    []
    """
    for key in store.iterate(group):
        if key in but:
            continue
        got = store.get(key, group)
        if not isinstance(got, Found):
            continue
        try:
            row = got.entry.label, decode(got.entry)
        except Damaged:
            continue
        yield row
