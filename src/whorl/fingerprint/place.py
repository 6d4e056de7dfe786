"""A dictionary and the names that are read in it."""

from __future__ import annotations

from typing import Any

from whorl.late import NamedTuple

__all__ = ["Place"]


class Place(NamedTuple):
    """A dictionary that is read: these names of it, or all (None)."""

    stored: dict[Any, Any]
    names: frozenset[str] | None
    is_instance: bool = False
    is_own: bool = False  # the code that reads it writes to it as well
