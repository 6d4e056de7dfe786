"""A breaker: after a failure nobody asks again for a while, then one does."""

from __future__ import annotations

import time
from typing import Final

from whorl.locks import ForkSafeLock

__all__ = ["REST", "Breaker"]

REST: Final = 30.0  # seconds


class Breaker:
    """Whether a server is worth asking.

    >>> breaker = Breaker(rest=60)
    >>> breaker.allows()
    True
    >>> breaker.opened()
    >>> breaker.allows(), breaker.is_open
    (False, True)
    """

    def __init__(self, rest: float = REST) -> None:
        self.rest = rest
        self._until = 0.0  # when the rest is over; 0 while all is well
        self._lock = ForkSafeLock()

    @property
    def is_open(self) -> bool:
        """Whether it failed last."""
        return bool(self._until)

    def allows(self) -> bool:
        """Whether to ask now. After a rest one caller is let through, and the others rest on."""
        if not self._until:
            return True
        with self._lock:
            if not self._until:
                return True
            now = time.monotonic()
            if now < self._until:
                return False
            self._until = now + self.rest
            return True

    def opened(self) -> None:
        """It failed."""
        self._until = time.monotonic() + self.rest

    def closed(self) -> None:
        """It worked."""
        self._until = 0.0
