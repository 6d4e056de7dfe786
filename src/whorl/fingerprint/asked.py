"""How a value is asked for: the mode of a whole walk, and the wrappers for single values."""

from __future__ import annotations

import enum

__all__ = ["ByIdentity", "ByType", "InOrder", "Mode"]


class Mode(enum.Enum):
    """Which question is being asked; `describe` explains the four."""

    DATA = "data"
    CODE = "code"
    OWN_CODE = "own code"
    NAMES = "names"


class InOrder:
    """A value whose order counts where it is a plain dict."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class ByType:
    """A value that counts by its type: what it holds only by type, too."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class ByIdentity:
    """A value that counts as this very object."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value
