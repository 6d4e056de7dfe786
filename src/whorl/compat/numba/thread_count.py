"""How many threads parallel loops use, by the names of Numba."""

from __future__ import annotations

import whorl.settings
from whorl.launch.runtime import thread_count

__all__ = ["get_num_threads", "set_num_threads"]


def get_num_threads() -> int:
    """How many threads a parallel loop uses."""
    return thread_count()


def set_num_threads(count: int) -> None:
    """Let parallel loops of this process use so many threads."""
    if type(count) is not int or count < 1:
        raise ValueError(f"the number of threads is an int from 1 on, not {count!r}")
    whorl.settings.configure(threads=count)
