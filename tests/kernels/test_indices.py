# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# Kernels take their types from the arguments.
"""Which indices may be negative: those that cannot cost nothing, those that can count from the end.

`?` behind an index, and `wrap(...)` of one of a vector, is what the program's text has for an
index that may be negative.
"""

from __future__ import annotations

import numpy as np

import whorl
from tests.kernels.test_language import same


@whorl.kernel
def in_blocks(x, blocks):
    total = 0.0
    for block in range(4):
        for i in range(block * x.size // 4, (block + 1) * x.size // 4):
            total += x[i]
    return total


def test_a_loop_that_begins_at_a_quotient_of_extents_needs_no_wrapping() -> None:
    assert in_blocks(np.arange(10.0), 4) == 45.0
    assert "?" not in in_blocks.inspect("ir")


@whorl.kernel
def by_a_chain(x, n):
    total = 0.0
    first = 0
    for _ in range(n):
        second = first + 1
        third = second * 2
        total += x[third]
        first = second
    return total


def test_a_variable_that_only_grows_needs_no_wrapping() -> None:
    assert by_a_chain(np.arange(10.0), 3) == 12.0
    assert "?" not in by_a_chain.inspect("ir")


@whorl.kernel
def downwards(x, n):
    total = 0.0
    place = n
    for _ in range(n + 2):
        total = total * 10 + x[place]
        place -= 1
    return total


def test_a_variable_that_shrinks_counts_from_the_end_below_zero() -> None:
    x = np.arange(5.0)
    assert downwards(x, 2) == downwards.interpret(x, 2) == 2104.0
    assert "?" in downwards.inspect("ir")


@whorl.kernel
def narrow(x, places, steps):
    total = 0.0
    for i in range(places.size):
        total = total * 100 + x[whorl.i8(places[i])] + x[steps[i] + steps[i]]
    return total


def test_a_narrow_number_that_wraps_around_counts_from_the_end() -> None:
    x = np.arange(128.0)
    places = np.array([3, 200, 255], np.uint8)
    steps = np.array([3, 100, 127], np.int8)
    assert narrow(x, places, steps) == narrow.interpret(x, places, steps)


@whorl.kernel
def of_a_vector(n):
    v = whorl.zeros(8)
    for k in range(8):
        v[k] = k * 2.0
    return v[n] + v[-1]


def test_indices_of_vectors_are_looked_at_alike() -> None:
    assert of_a_vector(-2) == 26.0
    assert of_a_vector(2) == 18.0
    assert of_a_vector.inspect("ir").count("wrap(") == 1


@whorl.kernel
def wrapping_indices(x, n):
    a = np.int8(0)
    s = 0.0
    for i in range(n):
        a = a + np.int8(50)
        s += x[a] + x[np.int8(i % 100) * np.int8(2)]
    return s


def test_an_index_of_a_narrow_type_may_wrap_to_a_negative_one() -> None:
    same(wrapping_indices, np.arange(200.0), 150)


@whorl.kernel
def between(starts, values, out):
    k = 0
    for i in range(out.size):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            if values[k] > 0.0:
                total += values[k] * k
        out[i] = total
    return k


def test_a_loop_that_may_count_from_below_zero_has_a_version_with_direct_indices() -> None:
    values = np.array([1.0, -2.0, 3.0, 4.0])
    for starts in ([0, 2, 4], [-3, 0, 3], [-2, -1, 4], [3, 1, 2]):
        args = np.array(starts), values
        out, expected = np.zeros(2), np.zeros(2)
        assert between(*args, out) == between.interpret(*args, expected)
        np.testing.assert_array_equal(out, expected)
    direct, other = between.inspect().split("for k")[1:]
    assert "?" not in direct
    assert "?]" in other
