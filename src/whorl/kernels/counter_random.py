"""Random numbers that follow from a key and counters: the same for any number of threads.

They come from Philox with four words of 32 bits and ten rounds (Salmon, Moraes, Dror and Shaw,
"Parallel random numbers: as easy as 1, 2, 3", 2011). There is no state, so nothing is shared
between the iterations of a parallel loop. The functions here are for plain Python. Kernels have the
same numbers (`library/counter_functions`): both call `philox`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

__all__ = ["block_of", "fraction", "normal_of", "philox", "random", "random_normal"]

_WORD: Final = 0xFFFFFFFFFFFFFFFF
_HALF: Final = 0xFFFFFFFF
_FACTOR, _OTHER_FACTOR = 0xD2511F53, 0xCD9E8D57
_STEP, _OTHER_STEP = 0x9E3779B9, 0xBB67AE85
_ROUNDS: Final = 10
_COUNT_STEP: Final = 0x9E3779B97F4A7C15
_LEFT: Final = 67108864.0  # 2**26
_LAST_BIT: Final = 1.0 / 9007199254740992.0  # 2**-53
_FULL_TURN: Final = 2.0 * math.pi


def philox(key: Any, first: Any, second: Any) -> Any:
    """Four words of 32 bits from a key and two counters: of ints here, of u64 in a kernel.

    >>> [hex(word) for word in philox(0, 0, 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b = first & _HALF, first >> 32
    c, d = second & _HALF, second >> 32
    low, high = key & _HALF, key >> 32
    for _ in range(_ROUNDS):
        left, right = a * _FACTOR, c * _OTHER_FACTOR
        a, b = (right >> 32) ^ b ^ low, right & _HALF
        c, d = (left >> 32) ^ d ^ high, left & _HALF
        low, high = (low + _STEP) & _HALF, (high + _OTHER_STEP) & _HALF
    return a, b, c, d


def fraction(high: Any, low: Any) -> Any:
    """Two words as a float from 0 to below 1: its 53 bits.

    >>> fraction(2**31, 0), fraction(2**32 - 1, 2**32 - 1) < 1
    (0.5, True)
    """
    return float(((high >> 5) * _LEFT + (low >> 6)) * _LAST_BIT)


def normal_of(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Four words as a normally distributed number: the transformation of Box and Muller.

    >>> round(normal_of(2**31, 0, 0, 0), 6)
    1.17741
    """
    radius = math.sqrt(-2.0 * math.log(1.0 - fraction(a, b)))
    return radius * math.cos(_FULL_TURN * fraction(c, d))


def block_of(key: int, counters: Sequence[int]) -> Any:
    """The words of a key and any number of counters: each two give the key of the next two.

    How many there are is part of the key: `random(key, 1)` is not `random(key, 1, 0)`.

    >>> block_of(7, (1,)) != block_of(7, (1, 0))
    True
    """
    key = (operator.index(key) ^ (len(counters) * _COUNT_STEP)) & _WORD
    words = [operator.index(counter) & _WORD for counter in counters] or [0]
    words += [0] * (len(words) % 2)
    block = (0, 0, 0, 0)
    for place in range(0, len(words), 2):
        block = philox(key, words[place], words[place + 1])
        key = block[0] | (block[1] << 32)
    return block


def random(key: int, *counters: int) -> float:
    """A random number from 0 to below 1 that follows from a key and counters alone.

    The same arguments give the same number: in a kernel and in plain Python, on any number of
    threads. A parallel loop counts its own draws.

    >>> import whorl
    >>> whorl.random(42, 7)
    0.6702432602105167
    >>> @whorl.kernel
    ... def estimate_pi(seed: int, n: int) -> float:
    ...     hits = 0
    ...     for i in whorl.prange(n):
    ...         x, y = whorl.random(seed, i, 0), whorl.random(seed, i, 1)
    ...         hits += x * x + y * y < 1.0
    ...     return 4.0 * hits / n
    >>> estimate_pi(1, 10_000)
    3.1672
    """
    a, b, _, _ = block_of(key, counters)
    return float(fraction(a, b))


def random_normal(key: int, *counters: int) -> float:
    """A random number of mean 0 and deviation 1 that follows from a key and counters alone.

    >>> import whorl
    >>> whorl.random_normal(42, 7)
    0.23001082935285516
    """
    return float(normal_of(*block_of(key, counters)))
