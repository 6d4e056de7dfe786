"""A class in, what is known of it or of the nearest of its bases out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from .lookup import mro

__all__ = ["ClassTable"]

T = TypeVar("T")


class ClassTable(Generic[T]):
    """Class -> something, by identity: a metaclass may say what it likes about equality."""

    def __init__(self, entries: Mapping[type, T] | None = None) -> None:
        self._entries: dict[int, tuple[type, T]] = {}
        self.update(entries or {})

    def __setitem__(self, cls: type, value: T) -> None:
        self._entries[id(cls)] = (cls, value)

    def __contains__(self, cls: type) -> bool:
        return id(cls) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, cls: type) -> T | None:
        """What is known of exactly this class."""
        entry = self._entries.get(id(cls))
        return None if entry is None else entry[1]

    def nearest(self, cls: type) -> type | None:
        """The first class along the MRO of which something is known."""
        return next((c for c in mro(cls) if id(c) in self._entries), None)

    def update(self, entries: Mapping[type, T]) -> None:
        """Add entries."""
        for cls, value in entries.items():
            self[cls] = value

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
