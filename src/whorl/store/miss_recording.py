"""Records the outcome of a miss in the statistics and the journal, or refuses the miss.

Used wherever something is produced after a miss: by kernels and by cached functions.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from whorl.errors import RequiredHit
from whorl.fast_dataclasses import replace
from whorl.settings import current

from .journal import Journal, Miss
from .outcome import Ending
from .statistics import Statistics

__all__ = ["MissOutcome", "is_hit_required", "record_miss"]


def is_hit_required() -> bool:
    """Whether a miss is an error: WHORL_REQUIRE_HIT, or `whorl.configure(require_hit=True)`.

    >>> is_hit_required()
    False
    """
    return current().require_hit.value


class MissOutcome:
    """The outcome of a miss, filled in while it is produced."""

    __slots__ = ("how", "key")

    def __init__(self) -> None:
        self.key: object = None  # of what was produced, if it is kept
        self.how: Ending | None = None  # None: it is for this process only, and not counted


@contextlib.contextmanager
def record_miss(
    miss: Miss, why: object, statistics: Statistics, journal: Journal | None, cache: str = "on"
) -> Iterator[MissOutcome]:
    """Produce what was missing in the block; the outcome is counted and written to the journal.

    Raises `RequiredHit` with `why` and the state of the cache before that where a miss is an error.

    >>> statistics = Statistics()
    >>> with record_miss(Miss("m.f", "first call", ""), "", statistics, None) as outcome:
    ...     outcome.how = Ending.PRODUCED
    >>> statistics.totals.programs["m.f"].made
    1
    """
    if is_hit_required():
        if journal is not None:
            journal.note(replace(miss, ending="refused"))
        raise RequiredHit(miss.program, str(why), cache)
    start = time.perf_counter()
    outcome = MissOutcome()
    try:
        yield outcome
    except BaseException as error:
        miss = replace(miss, ending=f"raised {type(error).__name__}")
        raise
    else:
        if outcome.how is Ending.WAITED:
            miss = replace(miss, ending=Ending.WAITED.value)
        elif outcome.how is not None:
            statistics.made(miss.program, time.perf_counter() - start, miss.cause)
    finally:
        if journal is not None:
            seconds = time.perf_counter() - start
            journal.note(replace(miss, seconds=seconds, key=str(outcome.key or "")))
