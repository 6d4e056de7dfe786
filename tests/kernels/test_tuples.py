"""Tuples in kernels: by an index of the run, with names, as results."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest

import whorl
import whorl.testing


class Fit(NamedTuple):
    """What a search returns."""

    value: Any
    steps: Any = 3


Pair = namedtuple("Pair", "first second")  # programs have these too


def searched(x: Any) -> Any:
    if x > 0:
        return Fit(x, 2)
    return Fit(value=-x)


@whorl.kernel
def named(x: Any, point: Any) -> Any:
    fit = searched(x)
    pair = Pair(np.zeros(2) + fit.value, second=(fit.steps, x))
    value, steps = fit
    return fit, pair, pair.second[0] + value, fit[1] + steps, point.first * 2


def test_named_tuples_are_made_and_returned() -> None:
    for x in (2.0, -3.0, 4.5, 1.0):
        found, expected = named(x, Pair(1, 2)), named.interpret(x, Pair(1, 2))
        assert repr(found) == repr(expected)
        assert type(found[0]) is Fit
        assert type(found[1]) is Pair
    with whorl.testing.forbid_compile():
        assert named.with_options(debug=None)(2.0, Pair(1, 2))[0] == Fit(2.0, 2)


def test_a_tuple_of_arrays_or_numbers_is_indexed_by_a_value_of_the_run() -> None:
    @whorl.kernel
    def summed(arrays: Any, k: int, x: Any) -> Any:
        total = 0.0
        views = (x, x * 2, x[::-1])
        for i in range(len(arrays)):
            total += arrays[i].sum() * (i + 1)
            arrays[i][0] = i
        numbers = (1, 2.5, k)
        return total, views[k][0], numbers[k - 1], views[-k][1], numbers[-1]

    def arrays() -> Any:
        return np.ones(3), np.zeros(4), np.arange(3.0)

    for k in (1, 2):
        ours, theirs, x = arrays(), arrays(), np.arange(1.0, 4)
        assert summed(ours, k, x) == summed.interpret(theirs, k, x)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)

    @whorl.kernel(debug=True)
    def checked(t: Any, k: int) -> Any:
        return t[k]

    assert checked((1.5, 2.5), -1) == 2.5
    with pytest.raises(IndexError, match="index 2 is out of range, of size 2"):
        checked((1.5, 2.5), 2)
    with pytest.raises(whorl.KernelError, match="items of different kinds"):
        checked((1.5, np.zeros(2)), 0)


def test_what_cannot_be_a_named_tuple_is_refused() -> None:
    local = namedtuple("local", "x")  # that is what is refused

    class Checked(Fit):
        def __new__(cls, value: Any) -> Any:
            return super().__new__(cls, value + 1)

    def made_here(x: Any) -> Any:
        return local(x)

    def made_otherwise(x: Any) -> Any:
        return Checked(x)

    def incomplete(x: Any) -> Any:
        return Pair(x)  # type: ignore[call-arg]  # that is what is refused

    for function, words in (
        (made_here, "not found under its name"),
        (made_otherwise, "Checked objects are not made"),
        (incomplete, "no value for the field 'second'"),
    ):
        with pytest.raises(whorl.KernelError, match=words):
            whorl.kernel(function)(2.0)
