"""Every way a lookup, a write or a production can end, by name: what statistics count."""

from __future__ import annotations

from enum import Enum

__all__ = ["Ending"]


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
