"""`whorl.random` gives the same numbers everywhere: in kernels, on threads and in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from whorl.kernels.counter_random import philox


@whorl.kernel
def draw(key: Any, i: Any, j: Any, out: Any) -> None:
    out[0] = whorl.random(key)
    out[1] = whorl.random(key, i)
    out[2] = whorl.random(key, i, j)
    out[3] = whorl.random(key, i, j, i)
    out[4] = whorl.random(key, i, j, i, j, 5)
    out[5] = whorl.random_normal(key, i, j)


@whorl.kernel
def fill(key: int, out: Any) -> None:
    for i in whorl.prange(len(out)):
        out[i] = whorl.random(key, i)


@whorl.kernel
def draw_by_float(x: float) -> float:
    return whorl.random(1, x)  # type: ignore[arg-type]  # the bad call is what is tested


@pytest.mark.parametrize(
    "arguments",
    [
        (1, 2, 3),
        (-1, -(2**63), 2**63 - 1),
        (np.uint64(2**64 - 1), np.int8(-3), np.uint32(7)),
        (True, np.int16(9), np.uint64(2**63)),
    ],
)
def test_kernels_and_plain_python_have_the_same_numbers(arguments: Any) -> None:
    native, plain = np.zeros(6), np.zeros(6)
    key, i, j = arguments
    draw(key, i, j, native)
    draw.interpret(key, i, j, plain)
    assert native.tolist() == plain.tolist()


def test_the_number_of_threads_does_not_change_the_numbers() -> None:
    alone, several = np.zeros(1000), np.zeros(1000)
    before = whorl.configure(threads=1)
    try:
        fill(5, alone)
        whorl.configure(threads=2)
        fill(5, several)
    finally:
        whorl.settings.restore(before)
    assert alone.tolist() == several.tolist() == [whorl.random(5, i) for i in range(1000)]


def test_philox_gives_the_published_words() -> None:
    # The test vectors that come with the paper's own implementation, Random123.
    every = 2**64 - 1
    assert philox(every, every, every) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    first, second = 0x85A308D3243F6A88, 0x0370734413198A2E
    words = (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)
    assert philox(0x299F31D0A4093822, first, second) == words


def test_the_number_of_counters_and_each_of_them_count() -> None:
    drawn = [
        whorl.random(1), whorl.random(1, 0), whorl.random(1, 0, 0), whorl.random(1, 0, 0, 0),
        whorl.random(2, 0), whorl.random(1, 1), whorl.random(1, 0, 1), whorl.random(1, 0, 0, 1),
    ]  # fmt: skip
    assert len(set(drawn)) == len(drawn)


def test_numbers_are_spread_evenly_and_normally() -> None:
    out = np.zeros(40_000)
    fill(11, out)
    counts, _ = np.histogram(out, bins=16, range=(0, 1))
    assert out.min() >= 0
    assert out.max() < 1
    assert abs(counts - 2500).max() < 5 * 2500**0.5
    normal = np.array([whorl.random_normal(3, i) for i in range(10_000)])
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05


def test_a_counter_that_is_no_integer_is_refused() -> None:
    with pytest.raises(whorl.KernelError, match="a counter of a random number is an integer"):
        draw_by_float(0.5)
    with pytest.raises(TypeError):
        whorl.random(1, 0.5)  # type: ignore[arg-type]  # the bad call is what is tested
