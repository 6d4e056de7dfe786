"""How values count: the mode of a whole walk, and the wrappers for single values."""

from __future__ import annotations

import enum
import weakref

__all__ = ["ByIdentity", "ByType", "InOrder", "Introspection", "Mode"]


class Mode(enum.Enum):
    """What a walk is for; `describe` explains the four modes."""

    DATA = "data"
    CODE = "code"
    OWN_CODE = "own code"
    NAMES = "names"


class Introspection(enum.Enum):
    """A property of code that counts only for code that inspects it: see `introspection`."""

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
