"""How a value is asked for: the mode of a whole walk, and the wrappers for single values."""

from __future__ import annotations

import enum
import weakref

__all__ = ["ByIdentity", "ByType", "InOrder", "Mode", "Sight"]


class Mode(enum.Enum):
    """Which question is being asked; `describe` explains the four."""

    DATA = "data"
    CODE = "code"
    OWN_CODE = "own code"
    NAMES = "names"


class Sight(enum.Enum):
    """What code sees of other code only if it looks; `sights` tells who looks."""

    ORDER = "the order of what is in a class"
    DOCS = "docstrings"
    TYPES = "the classes that annotations name"
    NAMES = "the qualified names and modules of definitions"


class InOrder:
    """A value whose order counts where it is a plain dict."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class ByType:
    """A value that counts by its type: what it holds only by type, too.

    One wrapper for one object while it is in use, so that a walk knows it when it comes back.
    """

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: object) -> None:
        self.value = value

    @classmethod
    def of(cls, value: object) -> ByType:
        """The wrapper of an object."""
        known = _wrappers.get(id(value))
        if known is None or known.value is not value:
            known = _wrappers[id(value)] = cls(value)
        return known


_wrappers: weakref.WeakValueDictionary[int, ByType] = weakref.WeakValueDictionary()


class ByIdentity:
    """A value that counts as this very object."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value
