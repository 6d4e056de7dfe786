"""How many values lie in each of equal bins between 0 and 1.

Each block of values is counted on its own and added to the whole with atomics: an atomic
operation for every value would make the threads wait for each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import whorl

Values = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

BINS = 256
BLOCKS = 16


@whorl.kernel
def histogram(values: Values, out: Counts) -> None:
    for bin in range(BINS):
        out[bin] = 0
    for block in whorl.prange(BLOCKS):
        counts = whorl.zeros(BINS, whorl.i64)
        for i in range(block * values.size // BLOCKS, (block + 1) * values.size // BLOCKS):
            counts[int(values[i] * BINS)] += 1
        for bin in range(BINS):
            whorl.atomic_add(out, bin, counts[bin])


def reference(values: Values, out: Counts) -> Counts:
    return np.bincount((values * BINS).astype(np.int64), minlength=BINS)


def problem(n: int) -> tuple[Any, ...]:
    return np.random.default_rng(5).random(n), np.empty(BINS, np.int64)
