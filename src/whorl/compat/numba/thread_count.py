"""How many threads parallel loops use, by the names of Numba."""

from __future__ import annotations

from typing import Final

import whorl.settings
from whorl.launch.runtime import thread_count

from .missing import Missing

__all__ = [
    "get_num_threads", "get_parallel_chunksize", "get_thread_id", "set_num_threads",
    "set_parallel_chunksize", "threading_layer",
]  # fmt: skip

_NO_NUMBERS: Final = (
    "Iterations have no thread of their own. Give each part of the work a row: "
    "for k in prange(n_parts), and rows[k]."
)
get_thread_id: Final = Missing("get_thread_id", _NO_NUMBERS)
"""`numba.get_thread_id` is missing: results must not depend on threads."""


def get_num_threads() -> int:
    """How many threads a parallel loop uses."""
    return thread_count()


def set_num_threads(count: int) -> None:
    """Let parallel loops of this process use so many threads."""
    if type(count) is not int or count < 1:
        raise ValueError(f"the number of threads is an int from 1 on, not {count!r}")
    whorl.settings.configure(threads=count)


def threading_layer() -> str:
    """What runs parallel loops."""
    return "omp"


def get_parallel_chunksize() -> int:
    """0: parts of loops are as large as whorl finds right."""
    return 0


def set_parallel_chunksize(count: int) -> int:
    """Nothing: it changes no result. The size before, which is 0."""
    return 0
