"""How long results are used: `expires=`, in seconds or as a timedelta."""

from __future__ import annotations

import math
import time
from datetime import timedelta

__all__ = ["has_passed", "lifetime_of"]


def lifetime_of(expires: float | timedelta | None) -> float:
    """The seconds for which a result is used; infinity if it does not expire.

    >>> lifetime_of(timedelta(minutes=2)), lifetime_of(None)
    (120.0, inf)
    """
    if expires is None:
        return math.inf
    seconds = expires.total_seconds() if isinstance(expires, timedelta) else expires
    if type(seconds) not in (int, float) or not seconds > 0:
        raise TypeError(
            f"expires= is a number of seconds above 0 or a datetime.timedelta, not {expires!r}"
        )
    return float(seconds)


def has_passed(made: float, lifetime: float) -> bool:
    """Whether a result that was made at a time is too old by now.

    >>> has_passed(0.0, 60.0), has_passed(time.time(), 60.0), has_passed(0.0, math.inf)
    (True, False, False)
    """
    return lifetime != math.inf and time.time() >= made + lifetime
