"""Every way a store can answer. The usual two, `Found` and `Absent`, are in `found`."""

from __future__ import annotations

from typing import Final, TypeAlias

from whorl.late import dataclass

from .ending import Ending
from .found import ABSENT, Absent, Found, check_key

__all__ = [
    "ABSENT",
    "STORED",
    "Absent",
    "Failed",
    "Found",
    "Got",
    "Put",
    "Skipped",
    "Stored",
    "check_key",
]


@dataclass(frozen=True, slots=True)
class Failed:
    """The store could not do it; `reason` says why. Never fatal: to a program it is a miss.

    >>> Failed("no space left on device").reason
    'no space left on device'
    """

    reason: str
    ending: Ending = Ending.NOT_STORED


@dataclass(frozen=True, slots=True)
class Stored:
    """The entry can be found from now on.

    >>> Stored()
    Stored()
    """


@dataclass(frozen=True, slots=True)
class Skipped:
    """The store does not keep this, as it was told.

    >>> Skipped("the store is read-only").reason
    'the store is read-only'
    """

    reason: str
    ending: Ending = Ending.SKIPPED


Got: TypeAlias = Found | Absent | Failed
Put: TypeAlias = Stored | Skipped | Failed

STORED: Final = Stored()
