"""Every way a store can answer, and the keys that it may be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from whorl.artifacts import Entry
from whorl.fingerprint.digest import Digest, ProcessDigest, StableDigest
from whorl.late import dataclass, field
from whorl.lazy import room

if TYPE_CHECKING:
    from . import ending as endings
else:  # a process that finds everything has none to name
    endings = room("whorl.store.ending")

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


@dataclass(slots=True)
class Found:
    """The entry asked for, checked. Not frozen, because that would cost 0.3 us on every hit.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> entry = encode(Artifact(), Label("artifact", StableDigest("0" * 32)))
    >>> Found(entry).entry is entry
    True
    """

    entry: Entry


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such entry.

    >>> Absent()
    Absent()
    """


@dataclass(frozen=True, slots=True)
class Failed:
    """The store could not do it; `reason` says why. Never fatal: to a program it is a miss.

    >>> Failed("no space left on device").reason
    'no space left on device'
    """

    reason: str
    ending: endings.Ending = field(default_factory=lambda: endings.Ending.NOT_STORED)


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
    ending: endings.Ending = field(default_factory=lambda: endings.Ending.SKIPPED)


Got: TypeAlias = Found | Absent | Failed
Put: TypeAlias = Stored | Skipped | Failed

ABSENT: Final = Absent()
STORED: Final = Stored()


def check_key(key: object, under: object = None) -> None:
    """Refuse what may not name something that outlives the process."""
    if under is not None:
        check_key(under)
    if isinstance(key, StableDigest):
        return
    if isinstance(key, ProcessDigest):
        raise TypeError(
            f"ProcessDigest {key} names something of this process only and is no key of a store; "
            "use a stable rule instead of by_identity"
        )
    known = " (a plain Digest does not say how long it lives)" if isinstance(key, Digest) else ""
    raise TypeError(f"the key of a store is a StableDigest, not {type(key).__name__}{known}")
