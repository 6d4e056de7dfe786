"""What a server has to do for a shared cache, and why it could not.

An engine moves bytes by name. It knows nothing of entries, seals or queues. Whatever goes wrong is
an `EngineTrouble` with a reason; there are no retries inside. An engine is used by one thread at a
time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from .address import Address

__all__ = ["BaseEngine", "Engine", "EngineTrouble", "Reason", "listing_end", "status_trouble"]


class Reason(Enum):
    """Why a server could not do it; the value is what statistics print."""

    TIMEOUT = "timeout"
    REFUSED = "connection refused"
    RESET = "connection lost"
    UNKNOWN_HOST = "unknown host"
    CERTIFICATE = "bad certificate"
    FORBIDDEN = "not allowed"
    BUSY = "too many requests"
    SERVER = "server error"
    REDIRECT = "redirect"
    TRUNCATED = "incomplete answer"
    NONSENSE = "answer not understood"
    FULL = "no space"
    TOO_LARGE = "too large"
    FORKED = "not in a forked process"
    MISSING = "package not installed"
    NO_LEASES = "no leases"
    OTHER = "error"


class EngineTrouble(Exception):
    """An operation that a server did not do. `detail` holds no secret."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason.value} ({self.detail})" if self.detail else self.reason.value


_REASONS: Final = {
    401: Reason.FORBIDDEN,
    403: Reason.FORBIDDEN,
    405: Reason.FORBIDDEN,
    407: Reason.FORBIDDEN,
    413: Reason.TOO_LARGE,
    429: Reason.BUSY,
    503: Reason.BUSY,
    507: Reason.FULL,
}


def status_trouble(status: int) -> EngineTrouble:
    """What a status of HTTP says that is no success.

    >>> status_trouble(429).reason.value
    'too many requests'
    """
    if 300 <= status < 400:
        return EngineTrouble(Reason.REDIRECT, str(status))
    return EngineTrouble(_REASONS.get(status, Reason.SERVER), str(status))


class Engine(Protocol):
    """Bytes by name on a server."""

    @property
    def can_lease(self) -> bool:
        """Whether `take`, `renew` and `release` work, as far as is known without asking."""

    @property
    def can_list(self) -> bool:
        """Whether `names` works."""

    def get(self, name: str, most: int) -> bytes | None:
        """The bytes of a name, at most so many; None if there are none."""

    def put(self, name: str, data: bytes, ttl: float | None) -> None:
        """Keep bytes under a name."""

    def swap(self, name: str, old: bytes | None, new: bytes, ttl: float | None) -> bool:
        """Keep bytes if those of the name are still `old`, as far as the server can do that."""

    def remove(self, name: str) -> bool:
        """Forget a name; whether there was something."""

    def names(self, prefix: str = "") -> Iterator[str]:
        """All names that begin so; with a prefix, as many as come in the time of one operation."""

    def take(self, name: str, token: str, seconds: float) -> str | None:
        """Take a lease; None if that worked, otherwise the token of the holder."""

    def renew(self, name: str, token: str, seconds: float) -> bool:
        """Hold a lease for longer; whether it was still held."""

    def release(self, name: str, token: str) -> None:
        """Give a lease back, if it is still held with this token."""

    def clock(self) -> float | None:
        """The time of the server, in seconds since 1970; None if it does not tell."""

    def close(self) -> None:
        """Close connections."""


def listing_end(address: Address, prefix: str) -> float:
    """When a listing is over: never, unless it is for an explanation, which nobody waits for."""
    return time.monotonic() + address.timeout if prefix else math.inf


class BaseEngine:
    """An engine that moves bytes, and neither lists nor leases."""

    can_lease = False
    can_list = False

    def put(self, name: str, data: bytes, ttl: float | None) -> None:
        """Keep bytes under a name."""
        raise NotImplementedError

    def swap(self, name: str, old: bytes | None, new: bytes, ttl: float | None) -> bool:
        """Keep bytes, whatever is there: this server has no conditions."""
        self.put(name, new, ttl)
        return True

    def names(self, prefix: str = "") -> Iterator[str]:
        """No names: this server does not list."""
        return iter(())

    def take(self, name: str, token: str, seconds: float) -> str | None:
        """No lease."""
        raise EngineTrouble(Reason.NO_LEASES)

    def renew(self, name: str, token: str, seconds: float) -> bool:
        """No lease."""
        return False

    def release(self, name: str, token: str) -> None:
        """No lease."""

    def clock(self) -> float | None:
        """Not known."""
        return None

    def close(self) -> None:
        """Nothing to close."""
