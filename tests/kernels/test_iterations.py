"""Ranges, iterators and comprehensions as values are those of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import assert_same


def total(numbers: Any) -> Any:
    result = 0
    for number in numbers:
        result = result * 3 + number
    return result


@whorl.kernel
def ranges(n: int, m: int, step: int) -> Any:
    r, down, by = range(n), range(n, -3, -2), range(n, m, step)
    twice = 0
    for _ in range(2):
        for i in r:
            twice += i
    return (
        twice, len(r), len(down), len(by), total(r), total(down), total(by), r.stop, by.step,
        down.start, n - 1 in r, m in by, n not in down, 7 in range(3), sum(r), sum(by),
        max(range(n)), np.array(range(n)), np.sum(np.array(by)), r[n - 1], r[-1],
    )  # fmt: skip


def test_ranges_have_names_lengths_and_items() -> None:
    for n, m, step in ((1, 9, 2), (5, 20, 3), (6, -9, -4), (3, 3, 1)):
        assert_same(ranges(n, m, step), ranges.interpret(n, m, step))


@whorl.kernel
def comprehensions(a: Any, n: int) -> Any:
    squares = [x * x for x in a]
    a[0] = 100.0  # the list has its items already
    doubled = 0.0
    for each in squares:
        doubled += 2 * each
    known = [i * n for i in range(3) if i != 1]
    rows = [[i + j for j in range(2)] for i in range(2)]
    return (
        doubled, len(squares), squares[1], squares[-1], np.array(squares),
        np.array([i * 0.5 for i in range(n)]), np.array([[1, i] for i in range(2)]),
        sum(x * x for x in a), sum(i for i in range(n)), any(x > 50 for x in a),
        all(x > 0 for x in a), max(x - 1 for x in a), min(x for x in a), known[1], len(known),
        rows[1][1], sum(list(a)), len(list(range(n))), list(range(3))[1],
        sum(x * y for x, y in zip(a, a[::-1], strict=False)),
        sum(i * x for i, x in enumerate(a)), np.sum(np.array([x + 1 for x in a])),
    )  # fmt: skip


def test_comprehensions_are_lists_and_what_functions_take() -> None:
    for n in (1, 4):
        ours, theirs = np.arange(1.0, 6), np.arange(1.0, 6)
        assert_same(comprehensions(ours, n), comprehensions.interpret(theirs, n))


def test_a_name_in_a_comprehension_is_its_own() -> None:
    @whorl.kernel
    def shadowed(x: float, n: int) -> Any:
        found = sum(x * 2 for x in range(n))
        return found, x

    assert shadowed(1.5, 4) == (12, 1.5)


@whorl.kernel
def iterators(a: Any, n: int) -> Any:
    pairs = zip(a, range(n), strict=False)
    numbered = enumerate(a, n)
    result = 0.0
    for x, i in pairs:
        result += x * i
    for i, x in numbered:
        result += i * x
    return result


def test_iterators_have_names_and_are_used_once() -> None:
    a = np.arange(5.0)
    assert iterators(a, 3) == iterators.interpret(a, 3)

    @whorl.kernel
    def twice(a: Any) -> Any:
        pairs = zip(a, a, strict=False)
        result = 0.0
        for x, y in pairs:
            result += x * y
        for x, y in pairs:
            result += x * y
        return result

    @whorl.kernel
    def in_a_loop(a: Any) -> Any:
        pairs = zip(a, a, strict=False)
        result = 0.0
        for _ in range(2):
            for x, y in pairs:
                result += x * y
        return result

    for function in (twice, in_a_loop):
        with pytest.raises(whorl.KernelError, match="a zip can be iterated over once"):
            function(a)


def test_what_lists_of_the_runs_length_cannot_do_is_refused() -> None:
    def added(a: Any) -> Any:
        return ([2 * x for x in a] + list(a))[0]

    def filtered(a: Any) -> Any:
        return sum(x for x in a if x > 0)

    def appended(a: Any) -> Any:
        squares = [x * x for x in a]
        squares.append(1.0)
        return squares[0]

    for function, words in (
        (added, "a list whose length only the run knows is no number"),
        (filtered, "has one `for` and no `if`"),
        (appended, "a list whose length only the run knows has no attribute 'append'"),
    ):
        with pytest.raises(whorl.KernelError, match=words):
            whorl.kernel(function)(np.arange(3.0))


def test_a_range_that_branches_or_loops_choose_is_a_range() -> None:
    @whorl.kernel
    def chosen(n: int, a: Any, given: Any, is_up: bool) -> Any:
        if is_up:
            numbers = range(n)
        else:
            numbers = range(n, 0, -1)
        result = 0
        for i in numbers:
            result = result * 3 + i
        x, y = (a, 2 * a) if is_up else (-a, a + 1)
        rest = range(2)
        for k in range(3):
            result += len(rest)
            rest = range(k)
        return result, x.sum(), y[0], given, len(numbers), len(rest)

    a = np.arange(3.0)
    for is_up in (True, False):
        found, expected = (f(4, a, (a, 2), is_up) for f in (chosen, chosen.interpret))
        assert_same(found, expected)
        assert found[3][0] is a
