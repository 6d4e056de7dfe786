"""`whorl.random` and `whorl.random_normal` in kernels: numbers that follow from counters."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.counter_random import fraction, normal_of, philox
from whorl.kernels.language import static

from .conditions import refuse
from .library_function import LibraryFunction, named_row

__all__ = ["ROWS"]

_COUNT_STEP: Final = np.uint64(0x9E3779B97F4A7C15)


def _word(x, name):
    """A whole number as 64 bits."""
    if np.ndim(x) != 0 or np.result_type(x).kind not in "iub":
        refuse("{} of a random number is an integer", name, remedy="Write int(x).")
    return np.uint64(x)


def _block(key, counters):
    """The words of a key and counters, as `counter_random.block_of` has them."""
    state = _word(key, "the key") ^ (np.uint64(len(counters)) * _COUNT_STEP)
    words = ()
    for each in counters:
        words = (*words, _word(each, "a counter"))
    words = (*words, np.uint64(0), np.uint64(0))
    count = max(1, len(counters))
    block = philox(state, words[0], words[1])
    for place in static(range(2, count, 2)):
        block = philox(block[0] | (block[1] << 32), words[place], words[place + 1])
    return block


def random(key, *counters):
    """A number from 0 to below 1."""
    a, b, _, _ = _block(key, counters)
    return fraction(a, b)


def random_normal(key, *counters):
    """A number of mean 0 and deviation 1."""
    a, b, c, d = _block(key, counters)
    return normal_of(a, b, c, d)


ROWS: Final[tuple[LibraryFunction, ...]] = (
    named_row(random, "whorl.random"),
    named_row(random_normal, "whorl.random_normal"),
)
