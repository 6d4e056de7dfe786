"""A bundle as a store that is only read: mapped into memory, and checked entry by entry.

The table of contents is read when the first entry is asked for. An entry that is not in it costs
one look into a dict, and one that is in it is checked like any other before it is used.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Final

from whorl.artifacts import Damaged, Entry
from whorl.fast_dataclasses import NamedTuple
from whorl.fingerprint.digest import StableDigest

from .bundle import contents, first_entry
from .outcome import Absent, Failed, Found, Got, Put, Removed, Skipped
from .protocol import BaseStore

_READ_ONLY: Final = "a bundle is not written to"


class _Place(NamedTuple):
    """Where an entry lies in the file."""

    offset: int
    size: int


class BundleStore(BaseStore):
    """The entries of a bundle. `BadBundle` or `OSError` if the file is none or cannot be read.

    >>> import tempfile
    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store.bundle import pack
    >>> key = StableDigest("0" * 32)
    >>> entry = encode(Artifact({"code": b"ret"}), Label("artifact", key))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pack(f"{folder}/bundle", [entry])
    ...     store = BundleStore(f"{folder}/bundle")
    >>> bytes(store.get(key).entry.payload("code"))
    b'ret'
    """

    __slots__ = ("_data", "_groups", "_places", "made", "path", "toolchains")

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            table = contents(file)
            # The mapping stays when the file is closed, and when it is replaced.
            self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self.made = table.made
        self.toolchains = table.toolchains
        self._places: dict[tuple[StableDigest | None, StableDigest], _Place] = {}
        self._groups: dict[StableDigest | None, list[StableDigest]] = {}
        offset = first_entry()
        for row in table.entries:
            key, under = row.name
            self._places[under, key] = _Place(offset, row.size)
            self._groups.setdefault(under, []).append(key)
            offset += row.size

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Entry]:
        for under, key in self._places:
            got = self.get(key, under)
            if isinstance(got, Found):
                yield got.entry

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, if its bytes are those that were written."""
        place = self._places.get((under, key))
        if place is None:
            return Absent()
        data = self._data[place.offset : place.offset + place.size]
        try:
            return Found(Entry.checked(data, key, under))
        except Damaged as damaged:
            return Failed(f"{self.path}: entry {key} is damaged: {damaged}")

    def peek(self, key: StableDigest) -> Entry | None:
        """The entry of a key, which is always quick to read."""
        got = self.get(key)
        return got.entry if isinstance(got, Found) else None

    def put(self, entry: Entry) -> Put:
        """Nothing is kept."""
        return Skipped(_READ_ONLY)

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Nothing is removed."""
        return Failed(_READ_ONLY)

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """The keys of a group."""
        return iter(tuple(self._groups.get(under, ())))
