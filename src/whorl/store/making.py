"""A miss in, what came of it counted and written down; or an error where only hits may be.

For whoever makes what was not found: `whorl.jit`, kernels and cached functions alike.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from whorl.errors import RequiredHit
from whorl.late import replace

from .ending import Ending
from .journal import Journal, Miss
from .required import is_hit_required
from .statistics import Statistics

__all__ = ["Making", "making"]


class Making:
    """What comes of a miss, filled in on the way."""

    __slots__ = ("how", "key")

    def __init__(self) -> None:
        self.key: object = None  # of what was made, if it is kept
        self.how: Ending | None = None  # None: it is for this process only, and not counted


@contextlib.contextmanager
def making(
    miss: Miss, why: object, statistics: Statistics, journal: Journal | None
) -> Iterator[Making]:
    """Make what was missing in the block; what comes of it is counted and written down.

    Raises `RequiredHit` with `why` before that where nothing may be made.

    >>> statistics = Statistics()
    >>> with making(Miss("m.f", "first call", ""), "", statistics, None) as outcome:
    ...     outcome.how = Ending.PRODUCED
    >>> statistics.totals.programs["m.f"].made
    1
    """
    if is_hit_required():
        if journal is not None:
            journal.note(replace(miss, ending="refused"))
        raise RequiredHit(miss.program, str(why))
    begun = time.perf_counter()
    outcome = Making()
    try:
        yield outcome
    except BaseException as error:
        miss = replace(miss, ending=f"raised {type(error).__name__}")
        raise
    else:
        if outcome.how is Ending.WAITED:
            miss = replace(miss, ending=Ending.WAITED.value)
        elif outcome.how is not None:
            statistics.made(miss.program, time.perf_counter() - begun, miss.cause)
    finally:
        if journal is not None:
            seconds = time.perf_counter() - begun
            journal.note(replace(miss, seconds=seconds, key=str(outcome.key or "")))
