"""What a store answers, and how lookups, writes and productions end."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from whorl.artifacts import Entry
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import Digest, ProcessDigest, StableDigest


class Ending(Enum):
    """How something ended; the value is what `whorl stats` prints.

    >>> Ending("hit")
    <Ending.HIT: 'hit'>
    """

    # lookups
    HIT = "hit"
    ABSENT = "miss: absent"
    DAMAGED = "miss: damaged"
    UNREADABLE = "miss: unreadable"
    UNSAFE = "miss: unsafe"

    # writes
    STORED = "stored"
    SKIPPED = "not stored: not wanted"
    NO_SPACE = "not stored: no space"
    NOT_WRITABLE = "not stored: not writable"
    NOT_STORED = "not stored: error"

    # productions
    PRODUCED = "produced"
    WAITED = "waited for another"
    GAVE_UP = "gave up waiting"
    UNLOCKED = "produced without a lease"
    RAISED = "production raised"

    # upkeep
    EVICTED = "evicted"
    SET_ASIDE = "set aside"

    @property
    def is_miss(self) -> bool:
        """Whether a lookup ended without an entry."""
        return self.value.startswith("miss")


@dataclass(slots=True)
class Found:
    """The entry of the key, checked. Every hit makes one: not frozen, with its own `__init__`.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> entry = encode(Artifact(), Label("artifact", StableDigest("0" * 32)))
    >>> Found(entry).entry is entry
    True
    """

    entry: Entry

    def __init__(self, entry: Entry) -> None:
        self.entry = entry


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
    ending: Ending = Ending.NOT_STORED


@dataclass(frozen=True, slots=True)
class Stored:
    """The entry can be found from now on.

    >>> Stored()
    Stored()
    """


@dataclass(frozen=True, slots=True)
class Skipped:
    """The store keeps no such entry: it is read-only, or the entry is too large.

    >>> Skipped("the store is read-only").reason
    'the store is read-only'
    """

    reason: str
    ending: Ending = Ending.SKIPPED


Got: TypeAlias = Found | Absent | Failed
Put: TypeAlias = Stored | Skipped | Failed

Removed: TypeAlias = Stored | Absent | Failed

ABSENT: Final = Absent()
STORED: Final = Stored()


def check_key(key: object, under: object = None) -> None:
    """Raise `TypeError` for a key that may not name something that outlives the process."""
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
